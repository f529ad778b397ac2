//go:build race

package main

// raceEnabled says that everything takes ten times longer.
const raceEnabled = true
