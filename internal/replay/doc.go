// Package replay is an agent that answers from a recorded transcript, so that what drives
// agents can be tested offline, in milliseconds, against a recording of a real one.
//
//	t, err := transcript.ReadFile("talk.ndjson")
//	...
//	agent, err := replay.New(t, replay.Options{})
//	...
//	status, err := agent.Serve(ctx, stdin, stdout, stderr)
//
// What the agent said is said again, as soon as what the parent had sent before it in the
// recording has come. There is no clock: an agent that took a minute takes none, and one
// that waited for a cancel waits for it. It ends as the recorded one did.
//
// A strict replay compares what the parent sends with what was recorded, and ends at the
// first difference; a lenient one makes the best of it. docs/replay.md says what counts as
// a difference, and what a lenient replay does where it has nothing recorded.
package replay
