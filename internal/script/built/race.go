//go:build race

package built

const raceEnabled = true
