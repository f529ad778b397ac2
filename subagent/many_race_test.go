//go:build race

package subagent_test

// raceEnabled says that memory is not what it is in a program.
const raceEnabled = true
