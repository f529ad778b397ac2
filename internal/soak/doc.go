// Soak carries out thousands of runs whose agents fail at points drawn from a seed,
// and holds each result against what the agent's script says must come of it.
//
//	go run ./internal/soak                  # draws a seed, prints it
//	go run ./internal/soak -seed 7          # the same runs again
//	go run ./internal/soak -run 5eed…       # one of them alone, with its script
//	go run ./internal/soak -write           # and docs/soak.md with the figures
//
// A scene is one run: the script of its agent, how the run is asked for, what the
// caller does meanwhile, and what must come of it. The last is written down beside the
// script as that is drawn, from what DESIGN.md and FAULTS.md promise, and knows nothing of
// Errand's code. The agent is this program, re-executed.
//
// It has three phases: runs in a row, runs side by side, and a thousand agents that answer
// and are gone at once. After each, processes, descriptors, goroutines and heap must be
// back where they were.
package main
