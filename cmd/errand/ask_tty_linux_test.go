package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// askOn returns an asker on the terminal, as a run of its own has it.
func askOn(t *testing.T, tm *terminal) *asker {
	t.Helper()
	con := &console{in: tm.slave, out: tm.slave, err: tm.slave, inTTY: true, outTTY: true, errTTY: true, dumb: true}
	a, err := con.asker()
	if err != nil {
		t.Fatal(err)
	}
	out := newOutput(tm.slave, tm.slave, true, func(error) {})
	t.Cleanup(func() { out.done() })
	a.on(newScreen(out, con, "demo", true, false, strings.ToUpper)) // a redaction that is seen
	return a
}

func askTerminal(t *testing.T) *terminal {
	tm := newTerminal(t)
	tm.master.SetReadDeadline(time.Now().Add(tooLong))
	return tm
}

func (tm *terminal) types(text string) {
	tm.t.Helper()
	if _, err := tm.master.WriteString(text); err != nil {
		tm.t.Fatal(err)
	}
}

// decide asks about a call with this title, and returns a channel with what comes of it.
func (a *asker) decide(ctx context.Context, title string, timeout time.Duration) <-chan permission.Decision {
	done := make(chan permission.Decision, 1)
	// Ends with the decision, which the tests wait for.
	go func() {
		req := permission.Request{Dir: "/d", ToolCall: acp.ToolCallUpdate{Title: &title}, Options: yesNo}
		done <- permission.Ask{Func: a.ask, Always: true, Timeout: timeout}.Decide(ctx, req)
	}()
	return done
}

const prompts = `Answer y or n within \S+; Ctrl-C cancels the run: `

func TestAskAnswers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		typed []string // each when it is asked for
		want  string
	}{
		{"yes", []string{"y\n"}, "ok"},
		{"no", []string{"n\n"}, "no"},
		{"upper case, with blanks", []string{" Y \n"}, "ok"},
		{"an empty line", []string{"\n", "\n", "y\n"}, "ok"},
		{"not a key", []string{"yes\n", "1\n", "ok\n", "a\n", "yy\n", "y n\n", "\x1b[Ay\n", "n\n"}, "no"},
		{"one line of several", []string{"x\ny\n", "n\n"}, "no"},
		{"the end of the input", []string{"\x04"}, "no"},
		{"the end of the input in a line", []string{"y\x04\x04"}, "no"},
		{"a long line", []string{strings.Repeat("y", 4000) + "\n", "n\n"}, "no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tm := askTerminal(t)
			got := askOn(t, tm).decide(t.Context(), "a title", 0)
			for i, typed := range tt.typed {
				tm.await(`(?s)` + strings.Repeat(`.*`+prompts, i+1))
				tm.types(typed)
			}
			if d := <-got; d.OptionID != tt.want {
				t.Errorf("option %q (%s), want %q\n%s", d.OptionID, d.Rule, tt.want, &tm.shown)
			}
			has(t, "the terminal", tm.shown.String(), "title            | A TITLE") // redacted
		})
	}
}

// What was typed before the question, and what is left of an answer, answers nothing.
func TestAskForgetsWhatWasTypedBefore(t *testing.T) {
	tm := askTerminal(t)
	a := askOn(t, tm)
	tm.types("y\ny") // a line, and the beginning of one
	tm.await("y\r\ny")
	got := a.decide(t.Context(), "first", 0)
	tm.await("FIRST(?s).*" + prompts)
	tm.types("\n")
	tm.await("(?s)" + prompts + ".*" + prompts)
	tm.types("n\ny\n")
	if d := <-got; d.OptionID != "no" {
		t.Errorf("option %q", d.OptionID)
	}
	tm.await("n\r\ny\r\n")
	got = a.decide(t.Context(), "second", 0)
	tm.await("SECOND(?s).*" + prompts)
	tm.types("n\n")
	if d := <-got; d.OptionID != "no" {
		t.Errorf("option %q", d.OptionID)
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		cancel  bool
		says    string
	}{
		{"the deadline", time.Second, false, "errand: no answer in time: rejected\r\n"},
		{"a cancel, or a withdrawal", 0, true, "errand: the question is off: cancelled, or taken back by the agent\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tm := askTerminal(t)
			a := askOn(t, tm)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := a.decide(ctx, "it", tt.timeout)
			if tt.cancel {
				tm.await(prompts)
				tm.types("y") // and no Enter
				tm.await(prompts + "y")
				cancel()
			}
			if d := <-got; d.OptionID != "no" || d.Rule != "ask: no answer in time" {
				t.Errorf("decision %+v", d)
			}
			if tt.cancel {
				tm.await(tt.says)
			}
			// The next one can be asked, and has nothing of this one.
			got = a.decide(t.Context(), "next", 0)
			tm.await("NEXT(?s).*" + prompts)
			tm.types("\n")
			tm.await("NEXT(?s).*" + prompts + ".*" + prompts)
			tm.types("y\n")
			if d := <-got; d.OptionID != "ok" {
				t.Errorf("the next one: %+v", d)
			}
		})
	}
}

// The time for an answer begins when the question is shown, not while it waits for its
// turn; a question that is off by then is not shown.
func TestAskTimeBeginsWhenItIsShown(t *testing.T) {
	tm := askTerminal(t)
	a := askOn(t, tm)
	a.patience = time.Second
	a.turn <- struct{}{} // somebody else's question
	got := make(chan permission.Decision, 1)
	go func() { // ends with the decision, which is waited for
		title := "late"
		got <- (&authority{asker: a}).policy(nil).Decide(t.Context(), permission.Request{Dir: "/d", ToolCall: acp.ToolCallUpdate{Title: &title}, Options: yesNo})
	}()
	ctx, cancel := context.WithCancel(t.Context())
	off := a.decide(ctx, "off", 0)
	<-time.After(2 * a.patience)
	cancel()
	<-off
	<-a.turn
	tm.await(`LATE(?s).*Answer y or n within 1s; Ctrl-C cancels the run: `)
	tm.await("errand: no answer in time: rejected\r\n")
	if d := <-got; d.OptionID != "no" || d.Rule != "ask: no answer in time" {
		t.Errorf("decision %+v", d)
	}
	for range 20 { // as a select may go either way
		if _, err := a.ask(ctx, permission.Question{}); err == nil {
			t.Fatal("there is an answer")
		}
	}
	if shown := tm.shown.String(); strings.Count(shown, "asks for permission") != 1 {
		t.Errorf("what nobody waits for is asked:\n%s", shown)
	}
}

// Of one run and of several: one question after the other.
func TestAskOneAfterTheOther(t *testing.T) {
	tm := askTerminal(t)
	a, b := askOn(t, tm), askOn(t, tm)
	first := a.decide(t.Context(), "first", 0)
	tm.await(prompts)
	ctx, cancel := context.WithCancel(t.Context())
	second, third, given := a.decide(t.Context(), "second", 0), b.decide(t.Context(), "third", 0), a.decide(ctx, "given up", 0)
	cancel() // waits for its turn, or has not come to it
	if d := <-given; d.OptionID != "no" {
		t.Errorf("the one given up: %+v", d)
	}
	tm.types("?\n") // asks again, and not about anything else
	tm.await("(?s)" + prompts + ".*" + prompts)
	if shown := tm.shown.String(); strings.Contains(shown, "SECOND") || strings.Contains(shown, "THIRD") || strings.Contains(shown, "GIVEN") {
		t.Fatalf("two questions at once:\n%s", shown)
	}
	tm.types("y\n")
	if d := <-first; d.OptionID != "ok" {
		t.Errorf("the first: %+v", d)
	}
	tm.await(`(SECOND|THIRD)(?s).*` + prompts)
	if shown := tm.shown.String(); strings.Contains(shown, "SECOND") == strings.Contains(shown, "THIRD") {
		t.Fatalf("two questions at once:\n%s", shown)
	}
	tm.types("n\n")
	tm.await(`(?s)(SECOND.*THIRD|THIRD.*SECOND).*` + prompts)
	tm.types("n\n")
	if one, two := <-second, <-third; one.OptionID != "no" || two.OptionID != "no" {
		t.Errorf("the others: %+v, %+v", one, two)
	}
}

// The answer goes on where the question is over, and not in it.
func TestAskHoldsBackTheAnswer(t *testing.T) {
	tm := askTerminal(t)
	a := askOn(t, tm)
	say := func(text string) {
		a.screen.event(subagent.Event{Type: subagent.EventUpdate, Update: []byte(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`)})
	}
	say("before")
	got := a.decide(t.Context(), "it", 0)
	tm.await(prompts)
	say("meanwhile")
	a.screen.note("a warning")
	tm.types("?\n")
	tm.await("(?s)" + prompts + ".*" + prompts)
	if strings.Contains(tm.shown.String(), "meanwhile") {
		t.Errorf("the answer is in the question:\n%s", &tm.shown)
	}
	tm.types("y\n")
	<-got
	tm.await("^before\r\n\r\nerrand: demo asks(?s).*: y\r\nmeanwhile\r\nerrand: a warning")
}

// Where the terminal has gone there is nobody to ask.
func TestAskOnATerminalThatHasGone(t *testing.T) {
	tm := askTerminal(t)
	a := askOn(t, tm)
	got := a.decide(t.Context(), "it", 0)
	tm.await(prompts)
	tm.master.Close()
	if d := <-got; d.OptionID != "no" || d.Rule != "ask: failed" {
		t.Errorf("decision %+v", d)
	}
}

func TestAskWithoutATerminal(t *testing.T) {
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		t.Skip("the tests themselves have a terminal")
	}
	tm := askTerminal(t)
	for _, con := range []*console{
		{in: tm.slave, out: tm.slave, err: os.Stderr, inTTY: true, outTTY: true},
		{in: os.Stdin, out: tm.slave, err: tm.slave, outTTY: true, errTTY: true},
	} {
		if _, err := con.asker(); err == nil || !strings.HasPrefix(err.Error(), "--permission ask needs a terminal to ask on: stdin and stderr are none") {
			t.Errorf("error %v", err)
		}
	}
}
