package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
)

func TestMain(m *testing.M) {
	script.Hook()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // agents end at once, with the race detector too
	leak.Main(m)
}

// prepare is newSoak, whose output it returns.
func prepare(t *testing.T) (*soak, *bytes.Buffer) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("scenes have signals, groups and sessions in them")
	}
	out := &bytes.Buffer{}
	k, done, err := newSoak(out, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return k, out
}

func TestSoak(t *testing.T) {
	k, out := prepare(t)
	t.Run("short", func(t *testing.T) { testShort(t, k, out) })
	t.Run("wrong expectation", func(t *testing.T) { testWrongExpectation(t, k) })
}

// testShort is a whole soak with few runs.
func testShort(t *testing.T, k *soak, out *bytes.Buffer) {
	k.warmUp()
	var all []figures
	for _, p := range phases(1, 0.012) {
		if strings.HasPrefix(p.name, "T5") {
			p.runs = 1
		}
		all = append(all, k.carryOut(p))
	}
	if n := k.failed(all); n > 0 {
		t.Errorf("%d failures", n)
	}
	t.Logf("%s", out)
	doc := k.document(1, all)
	for _, want := range []string{"seed 1", "| in a row |", "| completed |", "Failures: **0**"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document does not say %q:\n%s", want, doc)
		}
	}
	if strings.Contains(doc, k.root) {
		t.Errorf("the document names a path of this machine:\n%s", doc)
	}
}

// testWrongExpectation is that a run which is not as it must be is told: each plants
// something that a right result does not have.
func testWrongExpectation(t *testing.T, k *soak) {
	for name, plant := range map[string]func(*scene){
		"a lost update":       func(s *scene) { s.main.Counts.Updates++ },
		"a lost text":         func(s *scene) { s.heard("never said"); s.main.Counts.Updates--; s.main.Read = 0 },
		"another stop":        func(s *scene) { s.main.Stop = "refusal" },
		"an error":            func(s *scene) { s.main.Error = "exit at session/prompt" },
		"another exit":        func(s *scene) { s.main.Exit = "status 7" },
		"another rung":        func(s *scene) { s.main.Rung = "sigterm|sigkill" },
		"noise":               func(s *scene) { s.main.Noise++ },
		"stderr":              func(s *scene) { s.main.Stderr += "never written" },
		"a tool call":         func(s *scene) { s.main.Tools = append(s.main.Tools, "none pending, not asked") },
		"a permission":        func(s *scene) { s.main.Permissions = append(s.main.Permissions, "none denied, no") },
		"a start that failed": func(s *scene) { s.main.Started = false },
		"an unknown update":   func(s *scene) { s.main.Counts.Unknown++ },
		"a text too many":     func(s *scene) { s.do(`text "unexpected"`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := honest()
			plant(s)
			if p := s.play(k.root, k.errand); len(p.wrong) == 0 {
				t.Errorf("not seen; got %+v", p.got)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		if p := honest().play(k.root, k.errand); len(p.wrong) > 0 {
			t.Error(p.wrong)
		}
	})
	t.Run("a process that is left", func(t *testing.T) {
		s := honest()
		s.spawn("session")
		s.options.Sweep = "group" // which is what leaves it
		p := s.play(k.root, k.errand)
		if !strings.Contains(strings.Join(p.wrong, "\n"), "a process is left") {
			t.Errorf("not seen; %q", p.wrong)
		}
		endAll(t, k.mark)
	})
}

// honest is a scene in which nothing fails and whose answer comes last.
func honest() *scene {
	s := newScene("honest", rand.New(rand.NewPCG(0, 0)))
	s.say("said")
	s.main.Reason, s.main.Read = "end_turn", 0
	return s
}

// TestDraw is that a seed is one scene, and that every part is drawn.
func TestDraw(t *testing.T) {
	drawn := map[string]bool{}
	for seed := range uint64(1500) {
		s := draw(seed)
		if _, err := script.Parse("scene", []byte(s.script())); err != nil {
			t.Fatalf("seed %s: %v\n%s", seedText(seed), err, s.script())
		}
		drawn[s.ending] = true
		for _, extra := range s.extras {
			drawn[extra] = true
		}
		if seed%100 > 0 {
			continue
		}
		again := draw(seed)
		if diff := cmp.Diff(s.script(), again.script()); diff != "" {
			t.Errorf("seed %s differs (-first +again):\n%s", seedText(seed), diff)
		}
	}
	for _, parts := range [][]part{starts, turns, cancels, anywhere, beforeTurn, inTurn, reading, quick, slow, stubborn, closers} {
		for _, p := range parts {
			if !drawn[p.name] {
				t.Errorf("%q is never drawn", p.name)
			}
		}
	}
}

// endAll ends the processes that a test has left on purpose.
func endAll(t *testing.T, mark string) {
	t.Helper()
	for _, p := range processesOf(mark) {
		number, _, _ := strings.Cut(p, ":")
		pid, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		left, err := os.FindProcess(pid)
		if err == nil {
			err = left.Kill()
			left.Release()
		}
		if err != nil {
			t.Error(err)
		}
	}
}
