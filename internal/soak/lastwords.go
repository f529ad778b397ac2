package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// lastWords are agents that answer and are gone at once, while what they wrote is still
// in the pipe: row T5 of FAULTS.md, and its kind.
var lastWords = []struct {
	name  string // as -run has it
	title string
	runs  int
	after string // of the burst
	exit  string
}{
	{"t5-exit", "T5: 900 updates, the answer, gone", 1000, "stop end_turn\nexit 0", "status 0"},
	{"t5-kill", "T5, gone by SIGKILL", 100, "stop end_turn\nraise KILL", "SIGKILL|status 0"},
	{"t5-large-answer", "T5, an answer of 11 MB", 25, "set pad x size=11MB\nstop end_turn {\"_meta\": {\"pad\": \"$pad\"}}\nexit 0", "status 0"},
	{"t5-no-newline", "T5, the answer without a newline", 100, "newline \"\"\nstop end_turn\nexit 0", "status 0"},
}

const (
	lastUpdates    = 900
	lastUpdateSize = 2 << 10
)

// drawLast makes the one of that name, nil if there is none.
func drawLast(name string) *scene {
	for _, l := range lastWords {
		if l.name != name {
			continue
		}
		s := newScene(name, rand.New(rand.NewPCG(0, 0)))
		s.ending = fmt.Sprintf("%d updates of %d bytes, then: %s", lastUpdates, lastUpdateSize, strings.ReplaceAll(l.after, "\n", ", "))
		s.do(`burst %d "$i said; " size=%dB`, lastUpdates, lastUpdateSize)
		chunks := make([]string, lastUpdates)
		for i := range chunks {
			text := fmt.Sprintf("%d said; ", i+1)
			chunks[i] = strings.Repeat(text, lastUpdateSize/len(text)+1)[:lastUpdateSize]
		}
		s.heard(chunks...)
		for line := range strings.SplitSeq(l.after, "\n") {
			s.do("%s", line)
		}
		s.main.Stop, s.main.Reason = "completed", "end_turn"
		s.main.Exit, s.main.Rung = l.exit, "exit|eof"
		s.main.Read = 0
		return s
	}
	return nil
}
