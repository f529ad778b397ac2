// Interop drives agents that nobody here wrote, and writes docs/agents.md from what came
// of it.
//
//	go run ./internal/interop                      all of them: make interop
//	go run ./internal/interop gemini example-go    only these, and their lines of it
//	go run ./internal/interop -live opencode       the user's own, with key and model: make live AGENT=opencode
//
// The agents are installed into a cache folder, from npm as the lock files in npm/ pin
// them, and run offline: with an empty HOME, a proxy that nobody serves, and for a model
// the one of internal/modelserver. Each is driven through errand run, through the test
// kit and through errand check.
//
// What an agent gets wrong is recorded in the document and fails nothing. What Errand
// guarantees whatever the agent does (one result, which says what was seen, an exit
// status that says the same, permissions answered as told, and that nothing is left) is
// checked after each run, and a breach fails the program. So does what an agent is known
// to do right.
//
// What an agent did is kept in reports/, and the document is made of those; where it is not
// what was there before, the program says so at its end. An agent that cannot be had here
// (no npm, no network, another system) is skipped, and said to be; its last report stays.
// One that cannot be installed for another reason, such as a digest that is not the pinned
// one, fails the program.
package main
