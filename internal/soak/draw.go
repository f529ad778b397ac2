package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// part is something that a scene can be drawn with.
type part struct {
	name   string
	weight int
	draw   func(*scene)
}

// choose draws one of parts by their weights.
func choose(r *rand.Rand, parts []part) part {
	sum := 0
	for _, p := range parts {
		sum += p.weight
	}
	n := r.IntN(sum)
	i := slices.IndexFunc(parts, func(p part) bool { n -= p.weight; return n < 0 })
	return parts[i]
}

// seedText is how the seed of a run is shown and given.
func seedText(seed uint64) string { return fmt.Sprintf("%016x", seed) }

func parseSeed(text string) (uint64, error) { return strconv.ParseUint(text, 16, 64) }

// draw makes the scene of a seed, always the same.
func draw(seed uint64) *scene {
	s := newScene(seedText(seed), rand.New(rand.NewPCG(seed, 0)))
	switch s.IntN(4) {
	case 0:
		s.drawStart()
	case 1:
		s.drawTurn(choose(s.Rand, cancels))
	default:
		s.drawTurn(choose(s.Rand, turns))
	}
	s.drawEnd()
	if s.errand = !s.library && s.IntN(4) == 0; s.errand {
		// These two have graces without a flag.
		s.main.Rung = strings.Replace(s.main.Rung, "close", "close|eof", 1)
		s.main.Rung = strings.Replace(s.main.Rung, "sigkill", "sigkill|none", 1)
	}
	return s
}

func (s *scene) drawStart() {
	ending := choose(s.Rand, starts)
	if s.IntN(2) == 0 {
		s.in(&s.start, func() { s.beside(choose(s.Rand, anywhere)) })
	}
	s.ending = ending.name
	ending.draw(s)
	if s.main.Exit == "none" { // nobody was there to do any of it
		s.start, s.extras = nil, nil
		s.main.Noise, s.main.Stderr, s.anyStderr, s.groupHelper = 0, "", false, false
	}
}

func (s *scene) drawTurn(ending part) {
	s.ending = ending.name
	if s.IntN(3) == 0 {
		s.in(&s.start, func() { s.beside(choose(s.Rand, anywhere)) })
	}
	if s.IntN(8) == 0 {
		s.beside(choose(s.Rand, beforeTurn))
	}
	for range s.IntN(4) {
		s.beside(choose(s.Rand, slices.Concat(anywhere, inTurn)))
	}
	if s.IntN(6) == 0 {
		s.beside(choose(s.Rand, reading))
	}
	ending.draw(s)
}

func (s *scene) beside(p part) {
	s.extras = append(s.extras, p.name)
	p.draw(s)
}

// drawEnd draws how the agent goes when it is told to, and settles what depends on
// all the rest.
func (s *scene) drawEnd() {
	if s.alive {
		kinds := quick
		if !s.groupHelper && !s.main.cut {
			kinds = slices.Concat(kinds, slow)
		}
		if s.listening && !s.main.cut {
			kinds = slices.Concat(kinds, stubborn)
		}
		if s.session && !s.main.cut {
			kinds = slices.Concat(kinds, closers)
		}
		s.beside(choose(s.Rand, kinds))
	}
	if s.groupHelper {
		s.waitForHelper()
	}
	if s.anyStderr {
		s.main.Stderr = whatever
	}
	if !s.caller.reads {
		s.main.Read = 0
	}
	s.main.missed = s.ended
	for _, t := range s.tools {
		if t.status == "pending" || t.status == "in_progress" {
			t.status = "unknown"
			if s.ended {
				t.status = "cancelled"
			}
		}
		s.main.Tools = append(s.main.Tools, fmt.Sprintf("%s %s, %s", t.id, t.status, t.asked))
	}
}
