package acptest_test

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
)

func TestScriptPipe(t *testing.T) {
	t.Parallel()
	t.Run("honest", func(t *testing.T) {
		t.Parallel()
		talk(t, func() *client.Conn {
			in, out := acptest.ScriptPipe(t, `on session/prompt; text "hi"; stop max_tokens`)
			return client.NewConn(nil, in, out, nil)
		}, "go", "max_tokens")
	})
	t.Run("one that exits, and is told of", func(t *testing.T) {
		t.Parallel()
		f := try(t, func(t testing.TB) {
			in, out := acptest.ScriptPipe(t, `on session/prompt; stderr "one\nand"; exit 3`)
			conn := client.NewConn(nil, in, out, nil)
			if _, err := conn.Prompt(t.Context(), prompt(begin(t, conn), "go")); err == nil {
				t.Error("the prompt was answered")
			}
			<-conn.Done()
			if _, err := io.WriteString(in, "{}\n"); err == nil {
				t.Error("an agent that has gone takes what is written")
			}
		})
		if f.Failed() || f.text() != "agent: one\nagent: and" {
			t.Errorf("it says %q", f.text())
		}
	})
	t.Run("one that is left alone ends with the test", func(t *testing.T) {
		t.Parallel()
		var out io.Reader
		try(t, func(t testing.TB) { _, out = acptest.ScriptPipe(t, `on eof; wait forever`) })
		if _, err := out.Read(make([]byte, 1)); err == nil {
			t.Error("it still writes")
		}
	})
	t.Run("a bad script", func(t *testing.T) {
		t.Parallel()
		if f := try(t, func(t testing.TB) { acptest.ScriptPipe(t, "no such statement") }); !f.Failed() || !strings.HasPrefix(f.text(), "acptest: ScriptPipe: script:1: ") {
			t.Errorf("it says %q", f.text())
		}
	})
}

// Without Hook the test binary would run its tests as an agent.
func TestWithoutHook(t *testing.T) {
	defer acptest.Unhook()()
	for name, start := range map[string]func(testing.TB){
		"Script": func(t testing.TB) { acptest.Script(t, "") },
		"Replay": func(t testing.TB) { acptest.Replay(t, hello, nil) },
	} {
		if f := try(t, start); !f.Failed() || !strings.Contains(f.text(), "acptest: "+name) || !strings.Contains(f.text(), "acptest.Hook()") {
			t.Errorf("%s says %q", name, f.text())
		}
	}
}

// The deadline of go test bounds every wait, and leaves time for the failure to be told.
func TestDeadline(t *testing.T) {
	t.Parallel()
	// The deadline is far enough for the start, and only the message says what ended the wait:
	// how much is left then depends on the machine.
	f := &fake{TB: t, deadline: time.Now().Add(20 * time.Second)}
	f.run(func(t testing.TB) {
		_, turn := turnOf(t, `on session/prompt; wait forever`, &acptest.Options{Timeout: time.Hour})
		turn.Stop("end_turn")
	})
	if !f.Failed() || !strings.Contains(f.text(), "before the deadline of the test") {
		t.Errorf("it says: %s", f.text())
	}
	for left, margin := range map[time.Duration]time.Duration{time.Minute: 6 * time.Second, time.Hour: 15 * time.Second} {
		f := &fake{TB: t, deadline: time.Now().Add(left)}
		if got := f.deadline.Sub(acptest.LastMoment(f)); got > margin || got < margin/2 {
			t.Errorf("%v before a deadline in %v, want %v", got, left, margin)
		}
	}
	f = &fake{TB: t, deadline: time.Now().Add(2 * time.Second)}
	f.run(func(t testing.TB) {
		acptest.Start(t, acptest.Script(t, "on initialize; wait forever"), &acptest.Options{
			Client: client.Options{Graces: client.Graces{EOF: 50 * time.Millisecond, Term: 50 * time.Millisecond}},
		})
	})
	if !f.Failed() || !strings.Contains(f.text(), "the agent did not start") {
		t.Errorf("the start says: %s", f.text())
	}
}

// A failure of a subtest that shares an agent is not one of the test that started it.
func TestFailureOfWith(t *testing.T) {
	t.Parallel()
	agent := acptest.Start(t, acptest.Script(t, ""), nil)
	f := try(t, func(t testing.TB) { agent.With(t).Session("").Prompt("go").Text("something") })
	if !f.Failed() {
		t.Error("the subtest passes")
	}
	agent.Session("").Prompt("go").Stop("end_turn")
	f = try(t, func(t testing.TB) {
		a := acptest.Start(t, acptest.Script(t, `on session/prompt; permission a "A" kind=edit; option no reject_once "No"; end`), nil)
		sub := try(t.(*fake).TB.(*testing.T), func(t testing.TB) { a.With(t).Session("").Prompt("go").ToolCall("edit") })
		if !sub.Failed() || !strings.Contains(sub.text(), "the test does not expect") {
			t.Errorf("the subtest says %q", sub.text())
		}
	})
	if f.Failed() {
		t.Error(f.text())
	}
}

// TestFailsHere fails if it is told to, for TestFailsAtItsLine.
func TestFailsHere(t *testing.T) {
	if os.Getenv("ACPTEST_FAIL") == "" {
		t.Skip("it is run by TestFailsAtItsLine")
	}
	agent := acptest.Start(t, acptest.Script(t, `on session/prompt; stderr "a warning\n"; text "no"`), nil)
	turn := agent.Session("").Prompt("go")
	turn.Text("yes") // this line
}

// A failure is reported at the line of the test.
func TestFailsAtItsLine(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("script_test.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(src), "// this line")
	out, err := acptest.Apart(t, "TestFailsHere", "ACPTEST_FAIL=1")
	line := "script_test.go:" + strconv.Itoa(strings.Count(before, "\n")+1) + ": acptest: Text(\"yes\")"
	if err == nil || !strings.Contains(out, line) || !strings.Contains(out, "stderr |  a warning") || !strings.Contains(out, "(the test fails here") {
		t.Errorf("%v; no %q in\n%s", err, line, out)
	}
}

// What an agent on pipes writes to stderr is shown as it is, and not let loose.
func TestPipeStderr(t *testing.T) {
	const src = `on start; stderr "\u001b[31mred\u202e\n"; stderr size=100000; stderr "\nlast"; exit 0`
	f := try(t, func(t testing.TB) {
		_, out := acptest.ScriptPipe(t, src)
		io.Copy(io.Discard, out)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.said) != 4 || !strings.Contains(f.said[0], `red`) || f.said[3] != "agent: last" {
		t.Errorf("%d lines: %.300q", len(f.said), f.said)
	}
	for _, line := range f.said {
		if strings.ContainsAny(line, "\x1b\u202e") || len(line) > 70000 {
			t.Errorf("%d bytes: %.100q", len(line), line)
		}
	}
}
