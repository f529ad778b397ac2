package subagent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// What an agent's process is given, and what crosses to it.
func parityProcess(t *testing.T) {
	t.Run("A4 credentials", func(t *testing.T) {
		// Not in parallel: it changes this process's environment.
		const secret = "ambient-and-not-for-the-agent"
		withheld := []string{"ERRAND_TEST_API_KEY", "ERRAND_TEST_GITHUB_PAT", "ERRAND_TEST_SECRET"}
		for _, name := range withheld {
			t.Setenv(name, secret)
		}
		t.Setenv("ERRAND_TEST_COLOUR", "ambient-and-harmless")
		s := play(t, `on session/prompt; write environ "$environ"`, nil, "ERRAND_TEST_TOKEN=explicit", "ERRAND_TEST_SECRET=explicit too")
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		environ := strings.Split(s.File("environ"), "\n")
		for _, entry := range environ {
			if strings.Contains(entry, secret) || strings.HasPrefix(entry, "ERRAND_TEST_API_KEY=") {
				t.Errorf("the agent has %s", entry)
			}
		}
		for _, want := range []string{"ERRAND_TEST_COLOUR=ambient-and-harmless", "ERRAND_TEST_TOKEN=explicit", "ERRAND_TEST_SECRET=explicit too"} {
			if !slices.Contains(environ, want) {
				t.Errorf("the agent has no %s", want)
			}
		}
		// What was set explicitly took the place of what was held back.
		for _, name := range withheld[:2] {
			if !slices.Contains(res.WithheldEnv, name) {
				t.Errorf("withheldEnv %q lacks %s", res.WithheldEnv, name)
			}
		}
		if slices.Contains(res.WithheldEnv, "ERRAND_TEST_COLOUR") || slices.Contains(res.WithheldEnv, "ERRAND_TEST_TOKEN") {
			t.Errorf("withheldEnv %q", res.WithheldEnv)
		}
	})

	t.Run("A31 no optional capabilities", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		s.run("go")
		var sent map[string]any
		if err := json.Unmarshal([]byte(s.Params("initialize")), &sent); err != nil {
			t.Fatal(err)
		}
		self := client.Self()
		want := map[string]any{
			"protocolVersion":    1.0,
			"clientInfo":         map[string]any{"name": self.Name, "version": self.Version},
			"clientCapabilities": map[string]any{"auth": map[string]any{}, "fs": map[string]any{}},
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("initialize (-want +got):\n%s", diff)
		}
	})

	t.Run("A46 requests that were not advertised", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			write secret.txt "for nobody"
			request fs/read_text_file {"sessionId":"session-1","path":"$cwd/secret.txt"}
			append codes "$error.code"
			request fs/write_text_file {"sessionId":"session-1","path":"$cwd/new.txt","content":"x"}
			append codes "$error.code"
			request terminal/create {"sessionId":"session-1","command":"touch","args":["$cwd/new.txt"]}
			append codes "$error.code"
			request terminal/output {"sessionId":"session-1","terminalId":"t1"}
			append codes "$error.code"
			request _vendor/thing {}
			append codes "$error.code"
			text "none of it worked"`, nil)
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "codes", s.File("codes"), strings.Repeat("-32601\n", 5))
		check.Equal(t, "a file was written", s.Exists("new.txt"), false)
		for _, answer := range s.answers() {
			if strings.Contains(answer, "for nobody") {
				t.Errorf("the agent was told: %s", answer)
			}
		}
		check.Equal(t, "output", res.Output, "none of it worked")
	})

	t.Run("A48 end to end in a parent session's directory", func(t *testing.T) {
		t.Parallel()
		parent := canonical(t, t.TempDir())
		if err := os.WriteFile(filepath.Join(parent, "question.txt"), []byte("who was here?"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := play(t, `on session/prompt
			read question.txt
			text "$prompt: $answer "
			permission c1 "Write proof.txt" kind=edit path=proof.txt
				option yes allow_once Yes
				option no reject_once No
				when allowed
					write proof.txt "$pid in $pwd for session $session in $cwd"
			end
			text "the proof is in proof.txt"`, &subagent.ACPOptions{Permission: permission.Allow()})
		agents, err := subagent.NewRegistry(s.provider)
		if err != nil {
			t.Fatal(err)
		}
		run, err := agents.Start(t.Context(), "scripted", subagent.Request{ParentDir: parent, Prompt: subagent.Text("Answer")})
		if err != nil {
			t.Fatal(err)
		}
		for range run.Updates() {
		}
		res := closed(t, run)
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "output", res.Output, "Answer: who was here? the proof is in proof.txt")
		proof, err := os.ReadFile(filepath.Join(parent, "proof.txt"))
		if err != nil {
			t.Fatal(err)
		}
		pid, rest, _ := strings.Cut(string(proof), " ")
		check.Equal(t, "proof", rest, fmt.Sprintf("in %s for session %s in %s", parent, *res.SessionID, parent))
		if n, err := strconv.Atoi(pid); err != nil || n == os.Getpid() {
			t.Errorf("it ran as process %s, this is %d", pid, os.Getpid())
		}
		check.Equal(t, "exit", res.Exit.String(), "exit status 0")
	})

	t.Run("A49 each start is a new child", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "$pid of $n"`, nil)
		var pids []string
		for range 2 {
			os.Remove(s.Wire)
			res := s.run("go")
			ended(t, res, stopreason.Completed, "")
			check.Equal(t, "methods", s.methods(), "initialize session/new session/prompt")
			pid, rest, _ := strings.Cut(res.Output, " ")
			check.Equal(t, "count of prompts", rest, "of 1")
			pids = append(pids, pid)
		}
		if pids[0] == pids[1] {
			t.Errorf("both ran as process %s", pids[0])
		}
	})

	t.Run("A51 stderr as it happens", func(t *testing.T) {
		t.Parallel()
		const secret = "hunter2-hunter2-hunter2"
		stderr := &awaitedWriter{}
		s := play(t, `on session/prompt
			stderr "at work\n"
			wait file seen
			stderr "key: hunter2-hun"
			wait 50ms
			stderr "ter2-hunter2!\n"
			text "done"`, &subagent.ACPOptions{Stderr: stderr}, "AGENT_KEY="+secret)
		run := s.start(t.Context())
		traces.Until(t, "stderr", func() bool { return strings.Contains(stderr.String(), "at work\n") })
		select {
		case <-run.Done():
			t.Error("it came only with the end of the turn")
		default:
		}
		s.Touch("seen")
		res := closed(t, waited(t, run))
		ended(t, res, stopreason.Completed, "")
		for where, text := range map[string]string{"writer": stderr.String(), "tail": res.StderrTail} {
			check.Has(t, text, "at work\nkey: ", "!\n")
			if strings.Contains(text, secret) || strings.Contains(text, "hunter2") {
				t.Errorf("%s: %q shows the key", where, text)
			}
		}

		// The tail is kept without a writer too, and it is bounded.
		s = play(t, `on session/prompt; stderr "x" size=200KB; stderr "the end\n"`, &subagent.ACPOptions{StderrTail: 1000})
		res = s.run("go")
		check.Equal(t, "truncated", res.StderrTruncated, true)
		check.Has(t, res.StderrTail, "the end\n")
		if len(res.StderrTail) > 1000 {
			t.Errorf("%d bytes are kept", len(res.StderrTail))
		}
	})

	t.Run("C24 keys in arguments and variables", func(t *testing.T) {
		t.Parallel()
		const key = "hunter2-hunter2-hunter2"
		s := play(t, "", nil)
		cmd := command(t, s.Recording(`on session/prompt
			stderr "authenticated with hunter2-hunter2-hunter2\n"
			tool c1 "curl -H hunter2-hunter2-hunter2"
			permission c2 "curl -u hunter2-hunter2-hunter2" input={"cmd":"curl -u hunter2-hunter2-hunter2"}
				option no reject_once No
			end
			fail 401 "hunter2-hunter2-hunter2 is not valid" {"key":"hunter2-hunter2-hunter2"}`), "AGENT_KEY="+key)
		s.provider = provider(t, cmd, nil)
		res := s.run("go")
		ended(t, res, stopreason.Error, client.KindAgent)
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.Index(text, []byte(key)); i >= 0 {
			t.Errorf("the result shows the key: …%s…", text[max(0, i-100):i+50])
		}
		if strings.Contains(fmt.Sprintf("%v %+v", res.Err(), res.Err()), key) {
			t.Errorf("the error shows the key: %v", res.Err())
		}
		// It is replaced, and not just gone: the rest is there.
		check.Has(t, res.StderrTail, "authenticated with ")
		check.Has(t, *res.ToolCalls[0].Title, "curl -H ")
		check.Has(t, *res.Permissions[0].Title, "curl -u ")
		check.Has(t, res.Error.Message, " is not valid")
		check.Has(t, strings.Join(res.Agent.Command, " "), "authenticated with ")
	})
}

// awaitedWriter is written to while it is read.
type awaitedWriter struct {
	mu  sync.Mutex // guards buf
	buf strings.Builder
}

func (w *awaitedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *awaitedWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// waited returns the run once its outcome is there.
func waited(t testing.TB, run subagent.Run) subagent.Run {
	t.Helper()
	outcome(t, run)
	return run
}
