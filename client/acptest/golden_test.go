package acptest_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/client/transcript"
)

// record drives an agent the way the goldens of this package have it.
func record(t testing.TB, cmd client.Command, prompt string) *transcript.Transcript {
	t.Helper()
	agent := acptest.Start(t, cmd, nil)
	turn := agent.Session("").Prompt(prompt)
	turn.Permission("edit").Allow()
	turn.Text("Done")
	turn.Stop("end_turn")
	agent.Close().Clean()
	return agent.Transcript()
}

// constant is what is the same in every run of an agent.
func constant(talk *transcript.Transcript) []transcript.Rule {
	return []transcript.Rule{
		transcript.IDs(), transcript.Times(), transcript.Versions(), transcript.Command("agent"),
		transcript.Path(talk.Header.Dir, "$DIR"),
	}
}

const hello = "testdata/hello.ndjson"

// Not in parallel, as the other tests of Golden: they set the flag.
func TestGolden(t *testing.T) {
	talk := record(t, acptest.Script(t, writer), "write hello.txt")
	acptest.Golden(t, hello, talk, constant(talk)...)
}

func TestGoldenFails(t *testing.T) {
	talk := record(t, acptest.Script(t, writer), "write hello.txt")
	other := record(t, acptest.Script(t, strings.ReplaceAll(writer, "6 bytes", "7 bytes")), "write hello.txt")
	dir := t.TempDir()
	file := filepath.Join(dir, "new", "hello.ndjson")
	golden := func(talk *transcript.Transcript) *fake {
		return try(t, func(t testing.TB) { acptest.Golden(t, file, talk, constant(talk)...) })
	}
	says := func(f *fake, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(f.text(), part) {
				t.Errorf("it does not say %q:\n%s", part, f.text())
			}
		}
	}

	f := golden(talk)
	if !f.Failed() {
		t.Error("a golden file that is missing passes")
	}
	says(f, "there is no "+file, "go test -run '^TestGoldenFails$' -update")

	if updating := flag.Lookup("update").Value.String(); updating == "true" {
		t.Skip("with -update nothing else can fail")
	}
	flag.Set("update", "true")
	f = golden(talk)
	flag.Set("update", "false")
	if f.Failed() {
		t.Fatalf("it is not written: %s", f.text())
	}
	if f = golden(talk); f.Failed() {
		t.Errorf("what was written differs: %s", f.text())
	}
	if f = golden(other); !f.Failed() {
		t.Error("another conversation passes")
	}
	says(f, "-want +got", `"text":"6 bytes"`, `"text":"7 bytes"`, "-update", "… identical lines: 13\n")
	if n := strings.Count(f.text(), "\n"); n > 10 {
		t.Errorf("it takes %d lines to tell a difference of one:\n%s", n, f.text())
	}

	// As another JSON library would write it, the same conversation.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), `"stopReason":"end_turn"`, `"stopReason" : "end_turn"`))
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if f = golden(talk); f.Failed() {
		t.Errorf("white space makes a difference: %s", f.text())
	}

	if err := os.WriteFile(file, []byte("no transcript\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if f = golden(talk); !f.Failed() {
		t.Error("a file that is no transcript passes")
	}
	says(f, file+":1")
}

// A test that has no conversation fails, and writes none.
func TestGoldenOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nothing.ndjson")
	for _, rules := range [][]transcript.Rule{nil, {transcript.IDs(), transcript.Merge()}} {
		f := try(t, func(t testing.TB) { acptest.Golden(t, file, nil, rules...) })
		if !f.Failed() || !strings.Contains(f.text(), "no conversation") {
			t.Errorf("it says %q", f.text())
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it is written")
	}
	if got := (*transcript.Transcript)(nil).Normalize(transcript.IDs()); got != nil {
		t.Errorf("normalized it is %v", got)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	t.Run("process", func(t *testing.T) {
		t.Parallel()
		talk := record(t, acptest.Replay(t, hello, nil), "write hello.txt")
		acptest.Golden(t, hello, talk, constant(talk)...)
	})
	t.Run("process, another prompt", func(t *testing.T) {
		t.Parallel()
		agent := acptest.Start(t, acptest.Replay(t, hello, nil), nil)
		agent.Session("").Prompt("something else").Error(client.KindAgent)
		agent.Wait().Code(1)
		if tail, _ := agent.Client().Stderr(); !strings.Contains(tail, "something else") {
			t.Errorf("stderr does not tell the difference: %s", tail)
		}
	})
	t.Run("process, lenient", func(t *testing.T) {
		t.Parallel()
		record(t, acptest.Replay(t, hello, &acptest.ReplayOptions{Lenient: true}), "something else")
	})
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		talk(t, func() *client.Conn {
			in, out := acptest.ReplayPipe(t, hello, nil)
			return client.NewConn(allowing, in, out, nil)
		}, "write hello.txt", "end_turn")
	})
	t.Run("pipe, lenient", func(t *testing.T) {
		t.Parallel()
		talk(t, func() *client.Conn {
			in, out := acptest.ReplayPipe(t, hello, &acptest.ReplayOptions{Lenient: true})
			return client.NewConn(allowing, in, out, nil)
		}, "something else", "end_turn")
	})
	t.Run("pipe, another prompt", func(t *testing.T) {
		t.Parallel()
		f := try(t, func(t testing.TB) {
			in, out := acptest.ReplayPipe(t, hello, nil)
			conn := client.NewConn(allowing, in, out, nil)
			session := begin(t, conn)
			if _, err := conn.Prompt(t.Context(), prompt(session, "something else")); err == nil {
				t.Log("it was answered all the same")
			}
		})
		if !f.Failed() || !strings.Contains(f.text(), "something else") {
			t.Errorf("the test does not fail for it: %s", f.text())
		}
	})
	t.Run("of several the first", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "two.ndjson")
		text, err := os.ReadFile(hello)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, `{"transcript":1}`+"\n"...)
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		record(t, acptest.Replay(t, file, nil), "write hello.txt")
	})
	t.Run("no file", func(t *testing.T) {
		t.Parallel()
		for _, start := range []func(testing.TB){
			func(t testing.TB) { acptest.Replay(t, "testdata/none.ndjson", nil) },
			func(t testing.TB) { acptest.ReplayPipe(t, "testdata/none.ndjson", nil) },
		} {
			if f := try(t, start); !f.Failed() || !strings.Contains(f.text(), "none.ndjson") {
				t.Errorf("the test does not fail for it: %s", f.text())
			}
		}
	})
}

// allowing is a client that allows whatever is asked.
var allowing = &client.Handlers{
	OnRequestPermission: func(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		for _, o := range r.Options {
			if o.Kind == acp.PermissionOptionKindAllowOnce {
				return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
			}
		}
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	},
}

// begin initializes an agent and begins a session.
func begin(t testing.TB, conn *client.Conn) acp.SessionId {
	t.Helper()
	if _, err := conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber}); err != nil {
		t.Fatal(err)
	}
	session, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	return session.SessionId
}

func prompt(session acp.SessionId, text string) acp.PromptRequest {
	return acp.PromptRequest{SessionId: session, Prompt: []acp.ContentBlock{acp.TextBlock(text)}}
}

// talk holds the conversation that a parent under test would hold, with a conn of its own.
func talk(t testing.TB, connect func() *client.Conn, text string, reason acp.StopReason) {
	t.Helper()
	conn := connect()
	answer, err := conn.Prompt(t.Context(), prompt(begin(t, conn), text))
	if err != nil || answer.StopReason != reason {
		t.Errorf("the turn ended with %q, %v, want %q", answer.StopReason, err, reason)
	}
}

// named is a test with another name.
type named struct {
	testing.TB
	name string
}

func (n named) Name() string { return n.name }

// The command that writes a golden file writes no other.
func TestGoldenUpdateCommand(t *testing.T) {
	f := try(t, func(t testing.TB) {
		acptest.Golden(named{t, "TestAgent/says_hello/it's_(ok)"}, filepath.Join(t.TempDir(), "none.ndjson"), &transcript.Transcript{})
	})
	if want := `go test -run '^TestAgent$/^says_hello$/^it'\''s_\(ok\)$' -update`; !strings.Contains(f.text(), want) {
		t.Errorf("%s\nlacks %s", f.text(), want)
	}
}
