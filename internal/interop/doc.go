// Interop drives agents that nobody here wrote through the real `errand run`, and
// writes docs/interop.md from what came of it.
//
//	go run ./internal/interop
//
// Each agent gets the same task with its permission request allowed, with it rejected,
// and with a deadline that passes in mid turn. The results are checked, and that no
// process of the run is left. An agent that cannot be had here (no node, no registry)
// is skipped, and said to be; the document is then left as it was.
package main
