package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// What is sent to an agent for a prompt.
func parityPrompt(t *testing.T) {
	t.Run("A3 blocks are sent in order or refused", func(t *testing.T) {
		t.Parallel()
		const taking = `on initialize; answer {"agentCapabilities":{"promptCapabilities":{"image":true,"embeddedContext":true}}}`
		prompt := []acp.ContentBlock{
			acp.TextBlock("look at "),
			acp.ResourceLinkBlock("spec", "file:///spec.md"),
			acp.ImageBlock("aGk=", "image/png"),
			acp.TextBlock(""),
			acp.ResourceBlock(acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{Uri: "file:///a.txt", Text: "abc"}}),
			acp.TextBlock(" and fix it"),
		}
		s := play(t, taking, nil)
		ended(t, s.do(subagent.Request{Dir: s.Dir, Prompt: prompt}), stopreason.Completed, "")
		check.Equal(t, "params", compact(t, s.Params("session/prompt")), `{"prompt":[`+
			`{"text":"look at ","type":"text"},`+
			`{"name":"spec","type":"resource_link","uri":"file:///spec.md"},`+
			`{"data":"aGk=","mimeType":"image/png","type":"image"},`+
			`{"text":"","type":"text"},`+
			`{"resource":{"text":"abc","uri":"file:///a.txt"},"type":"resource"},`+
			`{"text":" and fix it","type":"text"}],"sessionId":"session-1"}`)

		// The same without the capabilities: nothing is sent, and nothing is dropped.
		s = play(t, "", nil)
		e := s.refused(t.Context(), subagent.Request{Dir: s.Dir, Prompt: prompt}, client.KindCapability)
		check.Has(t, e.Message, "block 2", "image")
		check.Equal(t, "methods", s.methods(), "initialize")
		e = s.refused(t.Context(), subagent.Request{Dir: s.Dir, Prompt: []acp.ContentBlock{acp.TextBlock("x"), acp.AudioBlock("aGk=", "audio/wav")}}, client.KindCapability)
		check.Has(t, e.Message, "block 1", "audio")

		// No prompt at all, and one that says nothing.
		s = play(t, "", nil)
		for _, prompt := range [][]acp.ContentBlock{nil, {}, subagent.Text(""), {acp.TextBlock(""), acp.TextBlock("")}, {acp.TextBlock("x"), {}}} {
			s.refused(t.Context(), subagent.Request{Dir: s.Dir, Prompt: prompt}, client.KindConfig)
		}
		s.NotStarted()
	})
}

// compact writes JSON without blanks and with its keys in order.
func compact(t testing.TB, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// How a run starts, or is refused.
func parityStart(t *testing.T) {
	t.Run("A8 a failed spawn", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		noInterpreter := filepath.Join(dir, "script")
		plain := filepath.Join(dir, "plain")
		for file, mode := range map[string]os.FileMode{noInterpreter: 0o755, plain: 0o644} {
			if err := os.WriteFile(file, []byte("#!/no/such/interpreter\n"), mode); err != nil {
				t.Fatal(err)
			}
		}
		for name, tt := range map[string]struct{ path, says string }{
			"no such file":         {filepath.Join(dir, "nothing"), "nothing"},
			"no such command":      {"errand-no-such-command", "errand-no-such-command"},
			"a directory":          {dir, dir},
			"not executable":       {plain, plain},
			"a missing interpeter": {noInterpreter, "/no/such/interpreter"},
		} {
			t.Run(name, func(t *testing.T) {
				p, err := subagent.NewACP("broken", client.Command{Path: tt.path}, nil)
				if err != nil {
					t.Fatal(err)
				}
				run, err := p.Start(t.Context(), subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
				e := asError(t, err, client.KindSpawn)
				check.Equal(t, "run", run, nil)
				check.Equal(t, "step", e.Step, client.StepSpawn)
				check.Equal(t, "retryable", e.Retryable, false)
				check.Has(t, e.Error(), "broken", tt.says)
			})
		}
	})

	t.Run("A9 the parent's directory", func(t *testing.T) {
		t.Parallel()
		s := play(t, `write where "$pwd $env.PWD"`, nil)
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(s.Dir, link); err != nil {
			t.Fatal(err)
		}
		for _, parent := range []string{s.Dir, link} {
			os.Remove(s.Wire)
			res := s.do(subagent.Request{ParentDir: parent, Prompt: subagent.Text("go")})
			ended(t, res, stopreason.Completed, "")
			check.Equal(t, "of the process", s.File("where"), s.Dir+" "+s.Dir)
			check.Equal(t, "of the session", compact(t, s.Params("session/new")), fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, s.Dir))
			check.Equal(t, "of the result", res.Dir, s.Dir)
		}
	})

	t.Run("A10 no directory", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		e := s.refused(t.Context(), subagent.Request{Prompt: subagent.Text("go")}, client.KindConfig)
		check.Equal(t, "step", e.Step, client.StepConfig)
		check.Has(t, e.Message, "no directory")
		s.NotStarted()
		// The proof that the sentinel would be there.
		s.run("go")
		check.Equal(t, "a process was started", s.Exists(s.Wire), true)
	})

	t.Run("A11 a configured directory wins", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		override := canonical(t, t.TempDir())
		s.configured(t, override, `on session/prompt; text "$pwd $cwd"`)
		res := s.do(subagent.Request{Dir: s.Dir, ParentDir: t.TempDir(), Prompt: subagent.Text("go")})
		check.Equal(t, "of process and session", res.Output, override+" "+override)
		check.Equal(t, "of the result", res.Dir, override)
		// Without one the request's own wins over the parent's.
		s = play(t, `on session/prompt; text "$pwd $cwd"`, nil)
		res = s.do(subagent.Request{Dir: s.Dir, ParentDir: t.TempDir(), Prompt: subagent.Text("go")})
		check.Equal(t, "of process and session", res.Output, s.Dir+" "+s.Dir)
	})

	t.Run("A12 a relative configured directory", func(t *testing.T) {
		// Not in parallel: it changes this process's directory.
		parent := canonical(t, t.TempDir())
		dir := filepath.Join(parent, "work")
		elsewhere := filepath.Join(parent, "elsewhere")
		for _, d := range []string{dir, elsewhere, filepath.Join(elsewhere, "work")} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(parent)
		s := play(t, "", nil)
		s.configured(t, "work", `on session/prompt; text "$pwd"`)
		t.Chdir(elsewhere) // where there is a "work" too
		req := subagent.Request{Prompt: subagent.Text("go")}
		announced := ""
		req.Events = func(e subagent.Event) {
			if e.Start != nil {
				announced = e.Start.Dir
			}
		}
		res := s.do(req)
		check.Equal(t, "where it ran", res.Output, dir)
		check.Equal(t, "announced", announced, dir)
		check.Equal(t, "in the result", res.Dir, dir)
		check.Equal(t, "on the wire", compact(t, s.Params("session/new")), fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir))
	})

	t.Run("A13 an empty configured directory", func(t *testing.T) {
		t.Parallel()
		// An empty Command.Dir is one that was not configured. Whoever reads a
		// configured value puts it through AbsDir, which refuses an empty one.
		dir, err := client.AbsDir("")
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Kind != client.KindConfig || dir != "" {
			t.Errorf("AbsDir of nothing: %q, %v", dir, err)
		}
		here, err := client.AbsDir(".")
		if wd, _ := os.Getwd(); err != nil || here != canonical(t, wd) {
			t.Errorf("AbsDir of .: %q, %v", here, err)
		}
	})

	t.Run("A14 a directory that cannot be used", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		// Not t.TempDir, which only its owner can enter.
		parent, err := os.MkdirTemp("", "errand-a14-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(parent) })
		open, shut, file := filepath.Join(parent, "open"), filepath.Join(parent, "shut"), filepath.Join(parent, "file")
		for _, err := range []error{
			os.Chmod(parent, 0o755), os.Mkdir(open, 0o700), os.Mkdir(shut, 0o600), os.WriteFile(file, nil, 0o700),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Run("mode 600", func(t *testing.T) {
			asOrdinaryUser(t, func() {
				if _, err := client.CheckDir(open); err != nil {
					t.Errorf("the open directory beside it: %v", err)
				}
				run, err := s.provider.Start(t.Context(), subagent.Request{Dir: shut, Prompt: subagent.Text("go")})
				e, ok := errors.AsType[*subagent.Error](err)
				if !ok || e.Kind != client.KindConfig {
					t.Errorf("run %v, error %v", run, err)
					return
				}
				check.Has(t, e.Message, shut, "cannot be entered")
			}, open, shut)
		})
		for name, dir := range map[string]string{"a missing one": filepath.Join(parent, "missing"), "a file": file} {
			for _, req := range []subagent.Request{{Dir: dir}, {ParentDir: dir}} {
				req.Prompt = subagent.Text("go")
				e := s.refused(t.Context(), req, client.KindConfig)
				check.Equal(t, name+": step", e.Step, client.StepConfig)
				check.Has(t, e.Message, dir)
			}
			// A configured one when it is configured.
			_, err := subagent.NewACP("a", client.Command{Path: "agent", Dir: dir}, nil)
			check.Has(t, asError(t, err, client.KindConfig).Message, dir)
		}
		s.NotStarted()
	})

	t.Run("A15 a relative or vanished parent directory", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		vanished := filepath.Join(t.TempDir(), "vanished")
		if err := os.Mkdir(vanished, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(vanished); err != nil {
			t.Fatal(err)
		}
		for _, parent := range []string{".", "testdata", "..", vanished} {
			e := s.refused(t.Context(), subagent.Request{ParentDir: parent, Prompt: subagent.Text("go")}, client.KindConfig)
			check.Has(t, e.Message, fmt.Sprintf("%q", parent))
		}
		s.NotStarted()
	})

	t.Run("A19 a context that is done", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the user went home")
		cancel(cause)
		for name, start := range map[string]func() error{
			"Start":    func() error { _, err := s.provider.Start(ctx, s.request("go")); return err },
			"Delegate": func() error { _, err := subagent.Delegate(ctx, s.provider, s.request("go")); return err },
		} {
			e := asError(t, start(), client.KindCancelled)
			check.Has(t, e.Error(), "the user went home")
			if !errors.Is(e, cause) {
				t.Errorf("%s: %v does not wrap the cause", name, e)
			}
		}
		s.NotStarted()
	})

	t.Run("A27 waits outside the usable range", func(t *testing.T) {
		t.Parallel()
		// NaN and infinity of another unit end up as these in a Duration.
		var graces client.Graces
		var o subagent.ACPOptions
		for field, at := range map[string]*time.Duration{
			"Graces.Cancel": &graces.Cancel, "Graces.Close": &graces.Close, "Graces.EOF": &graces.EOF,
			"Graces.Term": &graces.Term, "Graces.Kill": &graces.Kill,
			"StartTimeout": &o.StartTimeout, "IdleTimeout": &o.IdleTimeout, "SettleTime": &o.SettleTime,
		} {
			for _, d := range []time.Duration{-time.Second, -2, math.MinInt64, math.MaxInt64, 25 * time.Hour} {
				*at = d
				o.Graces = graces
				_, err := subagent.NewACP("a", client.Command{Path: "agent"}, &o)
				e := asError(t, err, client.KindConfig)
				check.Has(t, e.Message, field+":")
			}
			*at = 24 * time.Hour
			o.Graces = graces
			if _, err := subagent.NewACP("a", client.Command{Path: "agent"}, &o); err != nil {
				t.Errorf("a day is refused: %v", err)
			}
			*at = 0 // means the default
		}
	})

	t.Run("A38 silence at the start", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			step    client.Step
			timeout time.Duration
		}{
			// The second is long enough for the answer to the first on a busy machine.
			{client.StepInitialize, 200 * time.Millisecond},
			{client.StepNewSession, 8 * time.Second},
		} {
			t.Run(string(tt.step), func(t *testing.T) {
				t.Parallel()
				s := play(t, fmt.Sprintf(`on %s; write asked.pid "$pid"; never reply`, tt.step),
					&subagent.ACPOptions{StartTimeout: tt.timeout, Graces: shortGraces})
				e := s.refused(t.Context(), s.request("go"), client.KindStartupTimeout)
				check.Equal(t, "step", e.Step, tt.step)
				check.Has(t, e.Message, string(tt.step), tt.timeout.String())
				check.Equal(t, "retryable", e.Retryable, true)
				if tt.step == client.StepNewSession {
					s.Reaped("asked.pid")
					if strings.Contains(s.methods(), "session/prompt") {
						t.Errorf("a prompt was sent: %s", s.methods())
					}
				}
			})
		}
	})

	t.Run("A41 another protocol version", func(t *testing.T) {
		t.Parallel()
		for _, version := range []string{"99", "0", "2", `"2025-01-01"`, "null"} {
			s := play(t, fmt.Sprintf(`on initialize; write pid "$pid"; reply {"protocolVersion":%s}`, version), nil)
			e := s.refused(t.Context(), s.request("go"), client.KindVersion)
			check.Equal(t, "step", e.Step, client.StepInitialize)
			check.Has(t, e.Message, "version "+version+",", "speaks 1")
			check.Equal(t, "methods", s.methods(), "initialize")
			s.Reaped("pid")
		}
	})

	t.Run("A42 an agent that needs authentication", func(t *testing.T) {
		t.Parallel()
		const announces = `on initialize; answer {"authMethods":[{"id":"oauth","name":"Log in"},{"id":"api-key","name":"Key"}]}
			`
		s := play(t, announces+`on session/new; fail -32000 "Authentication required"`, nil)
		e := s.refused(t.Context(), s.request("go"), client.KindAuthRequired)
		check.Equal(t, "step", e.Step, client.StepNewSession)
		check.Has(t, e.Message, "oauth", "api-key")
		check.Equal(t, "methods", s.methods(), "initialize session/new")

		// The methods in the error itself, and no word of them before.
		s = play(t, `on session/new; reply error -32000 "please log in" {"authMethods":[{"id":"device"}]}`, nil)
		check.Has(t, s.refused(t.Context(), s.request("go"), client.KindAuthRequired).Message, "device")

		// Only when it is asked something.
		s = play(t, announces+`on session/prompt; fail -32000 "Authentication required"`, nil)
		res := s.run("go")
		ended(t, res, stopreason.Error, client.KindAuthRequired)
		check.Equal(t, "step", res.Error.Step, client.StepPrompt)
		check.Has(t, res.Error.Message, "oauth", "api-key")
	})

	t.Run("A43 a model is asked for", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		req := s.request("go")
		req.Model = "big-1"
		e := s.refused(t.Context(), req, client.KindCapability)
		check.Equal(t, "capability", e.Capability, subagent.CapabilityModel)
		check.Equal(t, "provider", e.Provider, "scripted")
		check.Has(t, e.Error(), "model", "scripted")
		s.NotStarted()
	})

	t.Run("B3 directory and MCP servers", func(t *testing.T) {
		t.Parallel()
		s := play(t, "", nil)
		e := s.refused(t.Context(), subagent.Request{Dir: "a/b", Prompt: subagent.Text("go")}, client.KindConfig)
		check.Has(t, e.Message, `"a/b"`, "absolute")
		s.NotStarted()

		// What an agent does not take of session/new it says itself, and so does the
		// error. We send an empty list.
		s = play(t, `on session/new; fail -32602 "mcpServers: not supported" {"field":"mcpServers"}`, nil)
		e = s.refused(t.Context(), s.request("go"), client.KindAgent)
		check.Equal(t, "step", e.Step, client.StepNewSession)
		check.Equal(t, "code", *e.Code, -32602)
		check.Equal(t, "data", string(e.Data), `{"field":"mcpServers"}`)
		check.Has(t, e.Message, "mcpServers: not supported")
		check.Equal(t, "params", compact(t, s.Params("session/new")), fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, s.Dir))
	})

	t.Run("C1 the handshake", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/new; answer {"sessionId":"s-42"}`, nil)
		res := s.run("go")
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "session", *res.SessionID, "s-42")
		check.Equal(t, "protocol", *res.ProtocolVersion, 1)
		check.Equal(t, "agent", *res.Agent.Name+" "+*res.Agent.Version, "scripted-agent 1")
		check.Equal(t, "methods", s.methods(), "initialize session/new session/prompt")
		check.Has(t, s.Params("session/prompt"), `"sessionId":"s-42"`)
	})

	t.Run("C2 the prompt's text comes back", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; text "you said: $prompt"`, nil)
		run := s.start(t.Context())
		var kinds, raw []string
		for u := range run.Updates() {
			kinds, raw = append(kinds, u.Kind), append(raw, string(u.Raw))
		}
		check.Equal(t, "kinds", strings.Join(kinds, " "), "agent_message_chunk")
		check.Has(t, strings.Join(raw, ""), `"you said: go"`)
		check.Equal(t, "output", closed(t, run).Output, "you said: go")
	})
}

// configured makes the scene's provider one whose directory is configured.
func (s *scene) configured(t testing.TB, dir, src string) {
	t.Helper()
	cmd := command(t, s.Recording(src))
	cmd.Dir = dir
	s.provider = provider(t, cmd, nil)
}
