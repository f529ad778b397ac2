package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
)

// state is one in which a tree is when something happens to it: the agent's script, which
// writes the file ready when it has come to it.
type state struct {
	script string
	flags  []string // of errand run
	others int      // agents beside it that are ready as well
	deaf   bool     // it takes the whole ladder
	output string   // what is told of it, where anything is
}

// hurried are errand's flags for agents that do not do as they are asked.
var hurried = []string{"--cancel-grace", "100ms", "--eof-grace", "100ms", "--term-grace", "60s"}

func states() map[string]state {
	const whoIsDeaf = `
		ignore TERM
		on session/cancel; wait forever
		on eof; append eof $pid; wait forever
		on session/prompt
		  spawn stdin stdout; ignore TERM; append ready $pid; wait forever; end
		  wait forever`
	return map[string]state{
		"starting":            {script: `on initialize; append ready $pid; wait forever`},
		"making its session":  {script: `on session/new; append ready $pid; wait forever`},
		"at work":             {script: `on session/prompt; text "half of"; append ready $pid; wait forever`, output: "half of"},
		"two of them at work": {script: `on session/prompt; append ready $pid; wait forever`, others: 1},
		"in a tool call":      {script: `on session/prompt; tool c1 "Run" kind=execute status=in_progress; append ready $pid; wait forever`},
		"talking":             {script: `on session/prompt; background; repeat forever; text "on and on"; end; end; append ready $pid; wait forever`},
		"asking": {script: `on session/prompt
			permission c1 "Write" kind=edit
			  option yes allow_once "Yes"
			  when cancelled; text "not allowed"
			end`, flags: []string{"--permission-command", "sh -c 'echo x >> $0; exec sleep 1000' ready"}, output: "not allowed"},
		"closing":         {script: "on session/prompt; text \"done\"\non eof; append ready $pid; wait forever", flags: hurried, deaf: true},
		"deaf":            {script: whoIsDeaf, flags: hurried, deaf: true},
		"it and its kids": {script: `on session/prompt; spawn session; append ready $pid; wait forever; end; wait forever`},
	}
}

// Ctrl-C at the top ends the whole tree, whatever its leaf is at.
func cancelFromTheTop(t *testing.T, errand string) {
	for name, st := range states() {
		for parents := 1; parents <= 2; parents++ {
			t.Run(fmt.Sprintf("%s below %d", name, parents), func(t *testing.T) {
				t.Parallel()
				w := plant(t)
				cmd := w.command(errand, w.levels(parents-1, w.parentIn(st)), st.flags...)
				cmd.Dir = w.dir // of the permission command
				cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				w.await("ready", 1+st.others)
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				status, res := w.wait(cmd)
				check.Equal(t, "status", status, 130)
				check.Equal(t, "outcome", res.Stop, stopreason.Aborted)
				check.Has(t, res.Output, st.output)
				if st.deaf {
					return
				}
				// The parents have unwound by themselves.
				if res.StopReason == nil || *res.StopReason != "cancelled" || res.Exit == nil || res.Exit.Rung != client.RungEOF && res.Exit.Rung != client.RungClose {
					t.Errorf("stop reason %v, exit %v: the parent has not ended its agents as it should", res.StopReason, res.Exit)
				}
				for _, c := range res.ToolCalls {
					if c.ID == "delegate-1" {
						check.Equal(t, "the delegation", c.Status, "failed")
					}
				}
			})
		}
	}
}

// parentIn is a parent of agents that come to a state.
func (w *tree) parentIn(st state) []string {
	agents := map[string][]string{}
	for i := range 1 + st.others {
		agents[fmt.Sprintf("agent-%d", i)] = w.scripted(st.script)
	}
	return w.parent(agents)
}

// A run that waits for a place never starts.
func cancelOfWhoWaits(t *testing.T, errand string) {
	w := plant(t)
	cmd := w.command(errand, w.parent(map[string][]string{
		"a": w.scripted(`on session/prompt; append ready $pid; wait forever`),
		"b": w.scripted(`on session/prompt; append ready $pid; wait forever`),
	}, "-at-once", "1"))
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.await("ready", 1)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	status, res := w.wait(cmd)
	check.Equal(t, "status", status, 130)
	check.Has(t, res.Output, "was not delegated", "did not complete")
	check.Equal(t, "agents started", len(strings.Fields(w.file("ready"))), 1)
}

// The parent's client lets go of it in each of the ways there are. Its agents end with it.
func TestEndOfTheClient(t *testing.T) {
	for name, st := range states() {
		if name == "asking" {
			st.flags = nil // there is nobody to ask: the client does not answer
			st.script = `on session/prompt; append ready $pid; permission c1 "Write" kind=edit; option yes allow_once "Yes"; end; wait forever`
		}
		for way, let := range map[string]func(*peer){
			"EOF":                  func(p *peer) { p.in.Close() },
			"TERM":                 func(p *peer) { p.cmd.Process.Signal(syscall.SIGTERM) },
			"stdout goes, and EOF": func(p *peer) { p.out.Close(); p.in.Close() },
		} {
			if way != "TERM" && st.deaf {
				continue // takes as long as the library's ladder
			}
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				w := plant(t)
				p := w.speakTo(w.parentIn(st))
				p.prompt(1, p.newSession(w.dir), "go")
				if way != "stdout goes, and EOF" {
					p.drain()
				}
				w.await("ready", 1+st.others)
				let(p)
				p.ended()
				if name == "deaf" && w.file("eof") != "" {
					t.Error("it was asked to end where there was no time for that")
				}
			})
		}
	}
}
