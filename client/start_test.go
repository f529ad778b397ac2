package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
)

// Whatever is wrong with the input is said, with its name, before anything is started.
// Check says the same of all that does not depend on the program.
func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(*client.Command, *client.Options)
		says   []string
	}{
		{"no path", func(c *client.Command, _ *client.Options) { c.Path = "" }, []string{"Command.Path", "empty"}},
		{"NUL in the path", func(c *client.Command, _ *client.Options) { c.Path = "a\x00b" }, []string{"Command.Path", "NUL"}},
		{"NUL in an argument", func(c *client.Command, _ *client.Options) { c.Args = []string{"a", "s3cret-s3cret\x00"} }, []string{"Command.Args[1]", "NUL"}},

		{"no directory", func(c *client.Command, _ *client.Options) { c.Dir = "" }, []string{"Command.Dir", "empty"}},
		{"relative directory", func(c *client.Command, _ *client.Options) { c.Dir = "a/b" }, []string{`"a/b"`, "not absolute"}},
		{"missing directory", func(c *client.Command, _ *client.Options) { c.Dir = file + "-not" }, []string{file + "-not", "no such file"}},
		{"directory is a file", func(c *client.Command, _ *client.Options) { c.Dir = file }, []string{file, "not a directory"}},

		{"variable without =", func(c *client.Command, _ *client.Options) { c.Env = append(c.Env, "LOG_LEVEL") }, []string{"Command.Env[1]", `"LOG_LEVEL"`, "="}},
		{"variable without a name", func(c *client.Command, _ *client.Options) { c.Env = append(c.Env, "=x") }, []string{"Command.Env[1]", "name"}},
		{"NUL in a variable", func(c *client.Command, _ *client.Options) { c.Env = append(c.Env, "A=s3cret-s3cret\x00") }, []string{"Command.Env[1]", `"A"`, "NUL"}},
		{"a secret in place of an entry", func(c *client.Command, _ *client.Options) {
			c.Env = []string{"sk-ant-api03-s3cret-s3cretAbCdEfGhIjKlMnOp"}
		}, []string{"Command.Env[0]"}},
		{"bad pattern", func(c *client.Command, _ *client.Options) { c.Inherit.Pass = []string{"A_*", "B_["} }, []string{"Command.Inherit", "Pass[1]", `"B_["`}},
		{"bad mode", func(c *client.Command, _ *client.Options) { c.Inherit.Mode = envscrub.Mode(9) }, []string{"Command.Inherit", "mode"}},

		{"negative start timeout", func(_ *client.Command, o *client.Options) { o.StartTimeout = -time.Second }, []string{"StartTimeout", "-1s"}},
		{"endless start timeout", func(_ *client.Command, o *client.Options) { o.StartTimeout = 1 << 62 }, []string{"StartTimeout"}},
		{"negative cancel grace", func(_ *client.Command, o *client.Options) { o.Graces.Cancel = -1 }, []string{"Graces.Cancel"}},
		{"negative close grace", func(_ *client.Command, o *client.Options) { o.Graces.Close = -1 }, []string{"Graces.Close"}},
		{"endless EOF grace", func(_ *client.Command, o *client.Options) { o.Graces.EOF = 25 * time.Hour }, []string{"Graces.EOF", "25h"}},
		{"negative term grace", func(_ *client.Command, o *client.Options) { o.Graces.Term = -time.Hour }, []string{"Graces.Term"}},
		{"overflown kill grace", func(_ *client.Command, o *client.Options) { o.Graces.Kill = -1 << 63 }, []string{"Graces.Kill"}},
		{"negative tail", func(_ *client.Command, o *client.Options) { o.StderrTail = -1 }, []string{"StderrTail", "-1"}},
		{"negative message limit", func(_ *client.Command, o *client.Options) { o.MaxMessageBytes = -1 }, []string{"MaxMessageBytes"}},
		{"negative queue limit", func(_ *client.Command, o *client.Options) { o.MaxQueueBytes = -1 }, []string{"MaxQueueBytes"}},
		{"unknown sweep", func(_ *client.Command, o *client.Options) { o.Sweep = "all" }, []string{"Sweep", `"all"`}},
		{"a policy that is none", func(_ *client.Command, o *client.Options) {
			o.Permission = &permission.Rules{Default: permission.EffectAllow, Rules: []permission.Rule{{Effect: permission.EffectDeny, Kinds: []acp.ToolKind{"write"}}}}
		}, []string{"Permission", `"write"`}},
		{"one place for two of ours", func(c *client.Command, _ *client.Options) {
			c.Paths = []client.PathPair{{Ours: c.Dir, Theirs: "/a"}, {Ours: "/", Theirs: "/a/"}}
		}, []string{"Paths", "/a"}},
		{"colon in the run id", func(_ *client.Command, o *client.Options) { o.RunID = "a:b" }, []string{"RunID", `"a:b"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := play(t, "")
			tt.change(&s.command, &s.opts)
			e := s.fails(t.Context(), client.KindConfig, client.StepConfig)
			s.NotStarted()
			check.Has(t, e.Error(), append(tt.says, "config: ")...)
			check.Lacks(t, e.Error(), "s3cret")
			if e.Exit != nil {
				t.Errorf("exit %v of what was not started", e.Exit)
			}
			if err := client.Check(s.command, &s.opts); s.command.Dir == "" {
				check.Equal(t, "Check without a directory", err, nil)
			} else {
				check.Equal(t, "Check", s.asError(err, client.KindConfig, client.StepConfig).Error(), e.Error())
			}
		})
	}
}

// Why a command was not found is still to be asked for.
func TestSpawnErrorIs(t *testing.T) {
	s := play(t, "")
	s.command.Path, s.command.Env = "no-such-agent", []string{"PATH=" + s.Dir}
	t.Setenv("ERRAND_TEST_TOKEN", "canary-0123456789")
	e := s.fails(t.Context(), client.KindSpawn, client.StepSpawn)
	if !errors.Is(e, exec.ErrNotFound) {
		t.Errorf("%v is no exec.ErrNotFound", e)
	}
	check.Equal(t, "command", e.Command[0], "no-such-agent")
	check.Has(t, strings.Join(e.WithheldEnv, " "), "ERRAND_TEST_TOKEN")
}

// A run id that is already that of a run around us would sweep ourselves away.
func TestRunIDOfARunAround(t *testing.T) {
	t.Setenv("ERRAND_RUN", "outer:inner")
	s := play(t, "")
	s.opts.RunID = "outer"
	check.Has(t, s.fails(t.Context(), client.KindConfig, client.StepConfig).Message, `"outer"`)
	s.NotStarted()
}

// Each way for a start to fail says at which step, why, and what the agent said; and
// nothing is left: no process, no descriptor, no goroutine.
func TestStartFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		src  string
		kind client.ErrorKind
		step client.Step
		says []string
		exit string // by itself; empty if it did not
	}{
		{"exits at initialize", `on initialize; stderr "no license\n"; exit 0`, client.KindExit, client.StepInitialize, []string{"exit status 0", "no license"}, "exit status 0"},
		{"dies by a signal", `on initialize; raise KILL`, client.KindExit, client.StepInitialize, []string{"SIGKILL"}, "signal SIGKILL"},
		{"exits at session/new", `on session/new; stderr "no disk\n"; exit 7`, client.KindExit, client.StepNewSession, []string{"exit status 7", "no disk"}, "exit status 7"},
		{"usage on stdout", `noise "Usage: agent"; noise "  --acp"; exit 64`, client.KindExit, client.StepInitialize, []string{"exit status 64", "no ACP frames: 2", `"Usage: agent"`}, "exit status 64"},
		{"closes stdout", `on initialize; stdout close; wait forever`, client.KindTransport, client.StepInitialize, []string{"closed its stdout", "lives on"}, ""},
		{"closes stdout at session/new", `on session/new; stdout close; wait forever`, client.KindTransport, client.StepNewSession, []string{"closed its stdout"}, ""},
		{"answer is no object", `on initialize; reply [1,2]`, client.KindProtocol, client.StepInitialize, []string{"no object", "[1,2]"}, ""},
		{"answer is a string", `on initialize; reply "yes"`, client.KindProtocol, client.StepInitialize, []string{"no object", "yes"}, ""},
		{"refuses initialize", `on initialize; fail -32602 "what client is this" {"want":"v9"}`, client.KindAgent, client.StepInitialize, []string{"-32602", "what client is this"}, ""},
		{"refuses session/new", `on session/new; fail 500 "no room"`, client.KindAgent, client.StepNewSession, []string{"500", "no room"}, ""},
		{"no session id", `on session/new; reply {"modes":null}`, client.KindProtocol, client.StepNewSession, []string{"no session id", `{"modes":null}`}, ""},
		{"empty session id", `on session/new; reply {"sessionId":""}`, client.KindProtocol, client.StepNewSession, []string{"no session id"}, ""},
		{"session id of a wrong type", `on session/new; reply {"sessionId":{"id":1}}`, client.KindProtocol, client.StepNewSession, []string{"no session id"}, ""},
		{"null for a session", `on session/new; reply null`, client.KindProtocol, client.StepNewSession, []string{"no session id", "null"}, ""},
		{"too large", `on session/new; answer {"x":"$big"}`, client.KindTooLarge, client.StepNewSession, []string{"session/new", "65536"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := play(t, "set big x size=100KB\n"+tt.src)
			s.opts.Graces, s.opts.MaxMessageBytes = deafToEOF, 1<<16
			e := s.fails(t.Context(), tt.kind, tt.step)
			check.Has(t, e.Error(), append(tt.says, string(tt.step)+": ")...)
			if strings.Contains(e.Error(), "\n") {
				t.Errorf("more than one line: %q", e)
			}
			if tt.exit != "" && (e.Exit == nil || e.Exit.String() != tt.exit || e.Exit.Rung != client.RungExit) {
				t.Errorf("exit %+v, want %s by itself", e.Exit, tt.exit)
			}
			if tt.exit == "" {
				check.Lacks(t, e.Error(), "the process ended")
			}
		})
	}
}

// After a failed start the process has ended, and how is known although it is not the
// reason.
func TestStartFailsAndEnds(t *testing.T) {
	s := play(t, `on initialize; answer {"protocolVersion":2}
		on eof; stderr "flushed\n"; exit 5`)
	e := s.fails(t.Context(), client.KindVersion, client.StepInitialize)
	if e.Exit == nil || e.Exit.String() != "exit status 5" || e.Exit.Rung != client.RungEOF {
		t.Errorf("exit %+v, want status 5 at the end of stdin", e.Exit)
	}
	check.Equal(t, "stderr", e.StderrTail, "flushed\n")
}

// The agent's own words make no error longer than a screen, nor more than a line.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("häagen ✓ ", 1000)
	s := play(t, fmt.Sprintf(`stderr "first\n%[1]s\n\n"; noise "%[1]s"
		on session/new 1; fail -1 "one\ntwo\r\n %[1]s"
		on session/new 2; reply {"a":"%[1]s"}`, long))
	a := s.start()
	for _, step := range []struct {
		kind client.ErrorKind
		says string
	}{{client.KindAgent, "one two häagen ✓"}, {client.KindProtocol, "no session id"}} {
		_, err := a.NewSession(t.Context(), nil)
		e := s.asError(err, step.kind, client.StepNewSession)
		check.Has(t, e.Error(), step.says, "…")
		check.Lacks(t, e.Error(), "\n", "\r", "\uFFFD")
		if n := len(e.Error()); n > 4000 {
			t.Errorf("%d bytes: %s", n, e)
		}
	}
}

// The code and the data of an error that the agent answers with are kept, whatever
// their shape.
func TestAgentErrorData(t *testing.T) {
	for _, tt := range []struct{ code, data, want string }{
		{"-32603", `{"details":["a",1]}`, `{"details":["a",1]}`},
		{"401", `[1,"two"]`, `[1,"two"]`},
		{"-32002", `"text"`, `"text"`},
		{"7", `null`, ``},
		{"7", ``, ``},
	} {
		s := play(t, `on session/new; reply error `+tt.code+` "no" `+tt.data)
		e := s.fails(t.Context(), client.KindAgent, client.StepNewSession)
		if e.Code == nil {
			t.Fatalf("%s: no code", tt.code)
		}
		code, _ := json.Marshal(*e.Code)
		check.Equal(t, "code", string(code), tt.code)
		check.Equal(t, "data", string(e.Data), tt.want)
	}
}

// Beside the version everything in the answer to initialize may be missing, null or
// of another type.
func TestOddInitialize(t *testing.T) {
	for _, tt := range []struct {
		name, answer, agent, version string
		image                        bool
		methods                      int
	}{
		{"whole", `{"protocolVersion":1,"agentInfo":{"name":"a","version":"2","title":"A"},"agentCapabilities":{"promptCapabilities":{"image":true}},"authMethods":[{"id":"x","name":"X"}]}`, "a", "2", true, 1},
		{"the version alone", `{"protocolVersion":1}`, "", "", false, 0},
		{"1.0", `{"protocolVersion":1.0}`, "", "", false, 0},
		{"1e0", `{"protocolVersion":1e0}`, "", "", false, 0},
		{"null", `{"protocolVersion":1,"agentInfo":null,"agentCapabilities":null,"authMethods":null}`, "", "", false, 0},
		{"wrong types", `{"protocolVersion":1,"agentInfo":"a","agentCapabilities":[],"authMethods":{"id":"x"}}`, "", "", false, 0},
		{"wrong types within", `{"protocolVersion":1,"agentInfo":{"name":7,"version":"2"},"agentCapabilities":{"promptCapabilities":{"image":"yes","audio":3}},"authMethods":[null,"x",{"id":7},{"id":"y"}]}`, "", "2", false, 1},
		{"more than we know", `{"protocolVersion":1,"later":{"a":1},"agentInfo":{"name":"a"},"_meta":{}}`, "a", "", false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := play(t, `on initialize; reply `+tt.answer)
			a := s.start()
			info := a.Info()
			check.Equal(t, "version", info.ProtocolVersion, 1)
			check.Equal(t, "agent's name", info.Name, tt.agent)
			check.Equal(t, "agent's version", info.Version, tt.version)
			check.Equal(t, "image", info.Prompt.Image, tt.image)
			check.Equal(t, "methods", len(info.AuthMethods), tt.methods)
			check.Equal(t, "raw", string(info.Raw), tt.answer)
			s.completes(s.newSession(a, ""), "go", "end_turn")
			s.close(a, client.RungEOF, "exit status 0")
		})
	}
}

// Without a startup deadline a start takes as long as it takes, and a session too. How
// a deadline is shared is tested in budget_test.go.
func TestNoTimeout(t *testing.T) {
	s := play(t, `on initialize; write asked; wait file go`)
	s.opts.StartTimeout = client.NoTimeout
	go func() { // ends with the agent's first question
		s.Await("asked")
		s.Touch("go")
	}()
	s.newSession(s.start(), "")
}

// lateContext is a context whose deadline passes when it is told to.
type lateContext struct{ done chan struct{} }

func (c *lateContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *lateContext) Done() <-chan struct{}       { return c.done }
func (c *lateContext) Value(any) any               { return nil }
func (c *lateContext) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// The caller's context ends a start at every step, and its kind tells it from ours.
func TestStartContext(t *testing.T) {
	cause := errors.New("the user has gone")
	for _, step := range []client.Step{client.StepSpawn, client.StepInitialize, client.StepNewSession} {
		for _, tt := range []struct {
			name string
			kind client.ErrorKind
			is   error
			says string
			ctx  func(t *testing.T, asked func()) context.Context
		}{
			{"cancelled", client.KindCancelled, context.Canceled, "cancelled", func(t *testing.T, asked func()) context.Context {
				ctx, cancel := context.WithCancel(t.Context())
				go func() { asked(); cancel() }() // ends with the agent's question
				return ctx
			}},
			{"cancelled for a cause", client.KindCancelled, cause, cause.Error(), func(t *testing.T, asked func()) context.Context {
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() { asked(); cancel(cause) }() // likewise
				return ctx
			}},
			{"deadline", client.KindTimeout, context.DeadlineExceeded, "the caller's deadline", func(_ *testing.T, asked func()) context.Context {
				ctx := &lateContext{make(chan struct{})}
				go func() { asked(); close(ctx.done) }() // likewise
				return ctx
			}},
		} {
			t.Run(string(step)+" "+tt.name, func(t *testing.T) {
				s := play(t, `on `+strings.Replace(string(step), "spawn", "_none", 1)+`; write asked; never reply`)
				ctx := tt.ctx(t, func() {
					if step != client.StepSpawn {
						s.Await("asked")
					}
				})
				if step == client.StepSpawn {
					<-ctx.Done()
				}
				e := s.fails(ctx, tt.kind, step)
				if !errors.Is(e, tt.is) {
					t.Errorf("%v is no %v", e, tt.is)
				}
				if step == client.StepSpawn {
					s.NotStarted()
					check.Has(t, e.Error(), "not started")
				} else {
					check.Has(t, e.Error(), tt.says, "no answer to "+string(step))
				}
			})
		}
	}
}

// One start's end is not another's: nothing of an agent that is up goes with one that
// fails beside it.
func TestStartsAreIndependent(t *testing.T) {
	s := play(t, "")
	session := s.session()
	play(t, `exit 1`).failsBeside()
	s.completes(session, "still there", "end_turn")
}

// failsBeside is fails for a scene that is not alone.
func (s *scene) failsBeside() {
	s.Helper()
	_, err := client.Start(s.Context(), s.command, &s.opts)
	s.asError(err, client.KindExit, client.StepInitialize)
}

// Options.Kill ends a start that hangs in its own clean-up.
func TestKillDuringStart(t *testing.T) {
	s := play(t, `ignore TERM
		on initialize; write asked; never reply
		on eof; write eof; wait forever`)
	s.opts.Graces = client.Graces{EOF: time.Hour}
	kill, hurry := context.WithCancel(t.Context())
	s.opts.Kill = kill
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the start
		s.Await("asked")
		cancel()
		s.Await("eof")
		hurry()
	}()
	e := s.fails(ctx, client.KindCancelled, client.StepInitialize)
	if e.Exit == nil || e.Exit.Rung != client.RungKill {
		t.Errorf("exit %+v, want SIGKILL's", e.Exit)
	}
}

// Start works in a process that holds nothing but what it began with, many times.
func TestManyStarts(t *testing.T) {
	before := leak.Snapshot()
	for range 5 {
		s := play(t, "")
		a, err := client.Start(t.Context(), s.command, nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Close()
	}
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}

func TestHookIsTheAgent(t *testing.T) {
	// The scenes depend on it: without the hook they would run this binary's tests.
	path, args := script.Command(t, "exit 42")
	err := exec.Command(path, args...).Run()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 42 {
		t.Fatalf("got %v, want status 42", err)
	}
}
