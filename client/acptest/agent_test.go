package acptest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/permission"
)

// writer is an agent that writes a file if it may.
const writer = `
on session/prompt
  thought "What a "
  thought "request."
  text "Let me write "
  text "that file. "
  tool write-1 "Write hello.txt" kind=edit status=pending path=hello.txt
  permission write-1 "Write hello.txt" kind=edit path=hello.txt
    option always allow_always "Always"
    option allow allow_once "Write it"
    option reject reject_once "Do not"
    when allowed
      tool-update write-1 status=in_progress
      write hello.txt "hello\n"
      tool-update write-1 status=completed text="6 bytes"
      text "Done: hello.txt."
    when rejected
      tool-update write-1 status=failed
      text "Then not."
    when cancelled
      stop cancelled
  end
`

func TestConversation(t *testing.T) {
	t.Parallel()
	agent := acptest.Start(t, acptest.Script(t, writer), nil)
	dir := t.TempDir()
	session := agent.Session(dir)

	turn := session.Prompt("write hello.txt")
	turn.Thought("a request")
	turn.Text("write that")
	turn.Text(" file")
	edit := turn.ToolCall("edit")
	turn.Permission("edit").Allow()
	edit.Status("in_progress").Status("completed").Path("hello.txt").Path(filepath.Join(dir, "hello.txt")).Text("6 bytes")
	turn.Text("Done")
	turn.Text("hello.txt")
	answer := turn.Stop("end_turn")
	if *answer.StopReason != "end_turn" {
		t.Errorf("the answer of the turn: %+v", answer)
	}
	if got := turn.Output(); got != "Done: hello.txt." {
		t.Errorf("the output is %q", got)
	}
	if diff := cmp.Diff([]string{"Let me write that file. ", "Done: hello.txt."}, turn.Messages()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "hello.txt")); err != nil || string(text) != "hello\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if call := edit.Call(); edit.ID() != "write-1" || *call.Status != acp.ToolCallStatusCompleted {
		t.Errorf("the call is %+v", call)
	}

	turn = session.Prompt("again") // with a call of the same id
	edit = turn.ToolCall("edit")
	turn.Permission("write-1").Reject()
	edit.Status("failed")
	turn.Text("Then not.")
	turn.Stop("end_turn")

	turn = session.Prompt("and again")
	turn.Permission("hello.txt").Cancel()
	turn.Stop("cancelled")

	turn = session.Prompt("once more")
	turn.Permission("").Select("always")
	turn.Stop("end_turn")

	agent.Close().Clean()
	if talk := agent.Transcript(); talk.Cut || talk.End() == nil {
		t.Errorf("the transcript has no end:\n%s", talk)
	}
}

func TestSessionsSideBySide(t *testing.T) {
	t.Parallel()
	agent := acptest.Start(t, acptest.Script(t, `
on session/new
  commands "help: Helps"
on session/prompt "first"
  text "one"
  wait for session/prompt 2
  text "three"
on session/prompt "second"
  text "two"
`), nil)
	one, two := agent.Session(""), agent.Session("")
	if one.ID() == two.ID() {
		t.Fatalf("both sessions are %s", one.ID())
	}
	first := one.Prompt("first")
	first.Text("one")
	second := two.Prompt("second")
	second.Text("two")
	second.Stop("end_turn")
	first.Text("three")
	first.Stop("end_turn")
	for _, s := range []*acptest.Session{one, two} {
		if u := s.Update("available_commands_update"); u.SessionID != s.ID() {
			t.Errorf("an update of session %s for %s", u.SessionID, s.ID())
		}
	}
	if got, want := first.Output()+second.Output(), "onethreetwo"; got != want {
		t.Errorf("the output is %q, want %q", got, want)
	}
}

func TestTurnCancel(t *testing.T) {
	t.Parallel()
	t.Run("while it works", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Script(t, `on session/prompt; text "half"; wait forever`), nil)
		turn := agent.Session("").Prompt("go")
		turn.Text("half")
		turn.Cancel()
		turn.Stop("cancelled")
	})
	t.Run("with a permission pending", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Script(t, writer), nil)
		turn := agent.Session("").Prompt("go")
		p := turn.Permission("edit")
		turn.Cancel()
		turn.Stop("cancelled")
		if r := p.Record(); r.Decision != permission.Cancelled {
			t.Errorf("the request was answered %s", r.Decision)
		}
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Script(t, writer), nil)
		turn := agent.Session("").Prompt("go")
		turn.Cancel()
		turn.Stop("cancelled") // whether it has asked by now or not
		turn.Cancel()          // changes nothing
		if talk := agent.Transcript().String(); strings.Count(talk, "-> session/cancel") != 1 {
			t.Errorf("session/cancel was not sent once:\n%s", talk)
		}
	})
	t.Run("long after the end", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Script(t, `on session/prompt 2; wait for session/prompt 3; on session/prompt 3; text "on"`), nil)
		session, other := agent.Session(""), agent.Session("")
		first := session.Prompt("one")
		first.Stop("end_turn")
		second := session.Prompt("two")
		first.Cancel() // not the second one
		other.Prompt("three").Stop("end_turn")
		second.Stop("end_turn")
	})
}

func TestPolicyAnswers(t *testing.T) {
	t.Parallel()
	var observed []string
	agent := acptest.Start(t, acptest.Script(t, writer), &acptest.Options{Client: client.Options{
		Permission: permission.Allow(),
		Observe:    func(u *client.Update) { observed = append(observed, u.Kind) },
	}})
	turn := agent.Session("").Prompt("go")
	turn.Text("Let me")
	if r := turn.Permission("edit").Record(); *r.OptionID != "allow" {
		t.Errorf("the policy has selected %s", *r.OptionID)
	}
	turn.Text("Done")
	turn.Stop("end_turn")
	agent.Close()
	if len(observed) != len(turn.Updates()) {
		t.Errorf("the observer saw %v, and there are %d updates", observed, len(turn.Updates()))
	}
}

// An agent may ask before it announces the call, or without, and for a session of its own.
func TestOddAsks(t *testing.T) {
	t.Parallel()
	agent := acptest.Start(t, acptest.Script(t, `
on session/prompt
  permission call-1 "Run make" kind=execute
    option yes allow_once "Yes"
  end
  tool call-1 "Run make" kind=execute status=completed
  permission call-2 "Look" session=child
    option yes allow_once "Yes"
    option no reject_once "No"
  end
  text "$option"
`), nil)
	turn := agent.Session("").Prompt("go")
	run := turn.ToolCall("execute")
	turn.Permission("execute").Allow()
	run.Status("completed")
	turn.Permission("Look").Reject()
	turn.Text("no")
	turn.Stop("end_turn")
}

// Calls at the same time are looked at in any order.
func TestCallsSideBySide(t *testing.T) {
	t.Parallel()
	agent := acptest.Start(t, acptest.Script(t, `
on session/prompt
  tool a "Read a" kind=read
  tool b "bash" kind=execute
  tool-update b title="make all"
  tool c "Read c" kind=read
  permission a "Read a" kind=read
    option yes allow_once "Yes"
  end
  permission c "Read c" kind=read
    option yes allow_once "Yes"
  end
  tool-update c status=completed
  tool-update b status=failed
  tool-update a status=completed
  text "all"
`), nil)
	turn := agent.Session("").Prompt("go")
	a, b, c := turn.ToolCall("read"), turn.ToolCall("make"), turn.ToolCall("read")
	turn.Permission("a").Allow()
	turn.Permission("c").Allow()
	a.Status("completed")
	b.Status("failed")
	c.Status("completed")
	turn.Text("all")
	turn.Stop("end_turn")
	if got, want := a.ID()+b.ID()+c.ID(), "abc"; got != want {
		t.Errorf("the calls are %s, want %s", got, want)
	}
}

func TestFilesAndCommands(t *testing.T) {
	t.Parallel()
	agent := acptest.Start(t, acptest.Script(t, `
on session/prompt
  request fs/write_text_file {"sessionId": $session, "path": "$cwd/a.txt", "content": "text"}
  request fs/read_text_file {"sessionId": $session, "path": "$cwd/../outside.txt"}
  request terminal/create {"sessionId": $session, "command": "echo", "args": ["hello"]}
  set terminal "$answer.terminalId"
  request terminal/wait_for_exit {"sessionId": $session, "terminalId": "$terminal"}
  text "ran"
`), &acptest.Options{Client: client.Options{Files: client.FilesWrite, Terminals: true}})
	dir := t.TempDir()
	turn := agent.Session(dir).Prompt("go")
	if r := turn.File(client.FileWrite, "a.txt"); r.Error != nil || r.Bytes != 4 {
		t.Errorf("written: %+v", r)
	}
	if r := turn.File(client.FileRead, "../outside.txt"); r.Error == nil {
		t.Errorf("read: %+v", r)
	}
	if r := turn.Command("echo hello"); r.Exit == nil || *r.Exit.Code != 0 || r.OutputBytes != 6 {
		t.Errorf("run: %+v", r)
	}
	turn.Text("ran")
	turn.Stop("end_turn")
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "text" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Script(t, `on session/prompt; fail 401 "no key" {"why": "none"}`), nil)
		turn := agent.Session("").Prompt("go")
		if e := turn.Error(""); *e.Code != 401 || string(e.Data) != `{"why":"none"}` {
			t.Errorf("error %d %s", *e.Code, e.Data)
		}
	})
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Script(t, `on session/prompt; text "half"; exit 3`), nil)
		turn := agent.Session("").Prompt("go")
		turn.Text("half")
		turn.Error(client.KindExit)
		agent.Wait().Code(3).Rung(client.RungExit)
	})
	t.Run("a block it does not take", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Script(t, ""), nil)
		agent.Session("").Prompt("", acp.ImageBlock("aaaa", "image/png")).Error(client.KindCapability)
		agent.Session("").Prompt("look", acp.ResourceLinkBlock("a", "file:///a")).Stop("end_turn")
	})
	t.Run("a signal", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Script(t, `on session/prompt; raise KILL`), nil)
		agent.Session("").Prompt("go").Error(client.KindExit)
		agent.Wait().Signal("SIGKILL")
	})
}

// Subtests share an agent: each has its own failures, and its turns end with it.
func TestWith(t *testing.T) {
	t.Parallel()
	agent := acptest.Start(t, acptest.Script(t, `on session/prompt "hang"; text "on"; wait forever`), nil)
	t.Run("leaves a turn open", func(t *testing.T) {
		agent.With(t).Session(t.TempDir()).Prompt("hang").Text("on")
	})
	t.Run("another", func(t *testing.T) {
		agent.With(t).Session(t.TempDir()).Prompt("go").Stop("end_turn")
	})
	agent.Close().Clean()
	if talk := agent.Transcript().String(); strings.Count(talk, "session/cancel") != 1 {
		t.Errorf("the open turn was not cancelled once:\n%s", talk)
	}
}
