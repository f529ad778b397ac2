package client_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
)

// The rows of FAULTS that an agent answers for; those of the connection, of the process
// and of a run are tested in their packages.
func TestFaults(t *testing.T) {
	t.Run("E1 dumps its environment", func(t *testing.T) {
		for name, value := range map[string]string{
			"AWS_SECRET_ACCESS_KEY": "canary-aws-01234567", "GITHUB_TOKEN": "canary-gh-01234567", "NPM_CONFIG__AUTH": "canary-npm-01234567",
			"DATABASE_URL": "postgres://u:canary-db-01234567@h/d", "SSH_AUTH_SOCK": "/tmp/canary-ssh", "CLAUDECODE": "1",
			"HTTPS_PROXY": "http://u:canary-proxy@proxy:8080", "KEYBOARD_LAYOUT": "us", "MAX_TOKENS": "5",
		} {
			t.Setenv(name, value)
		}
		s := play(t, `on session/prompt; write env "$environ"`)
		s.command.Env = append(s.command.Env, "OPENAI_API_KEY=mine", "KEYBOARD_LAYOUT=de")
		s.completes(s.session(), "go", "end_turn")
		env := "\n" + s.File("env") + "\n"
		check.Lacks(t, env, "canary", "AWS_SECRET", "GITHUB_TOKEN", "\nCLAUDECODE=")
		check.Has(t, env, "\nOPENAI_API_KEY=mine\n", "\nKEYBOARD_LAYOUT=de\n", "\nMAX_TOKENS=5\n", "\nHTTPS_PROXY=http://", "proxy:8080\n", "\nPATH=", "\nPWD="+s.Dir+"\n", "\nERRAND_RUN=")
		held := s.agent.WithheldEnv()
		for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NPM_CONFIG__AUTH", "DATABASE_URL", "SSH_AUTH_SOCK", "CLAUDECODE"} {
			if !slices.Contains(held, name) {
				t.Errorf("%s is not among what was held back", name)
			}
		}
		check.Equal(t, "sorted", slices.IsSorted(held), true)
		held[0] = "changed"
		if s.agent.WithheldEnv()[0] == "changed" {
			t.Error("the caller can change what was held back")
		}
	})

	t.Run("E1 modes", func(t *testing.T) {
		t.Setenv("ERRAND_TEST_TOKEN", "canary-0123456789")
		t.Setenv("ERRAND_TEST_WORD", "harmless")
		for _, tt := range []struct {
			policy      envscrub.Policy
			token, word bool
		}{
			{envscrub.Policy{}, false, true},
			{envscrub.Policy{Mode: envscrub.Strict}, false, false},
			{envscrub.Policy{Mode: envscrub.None}, true, true},
			{envscrub.Policy{Pass: []string{"ERRAND_*_TOKEN"}}, true, true},
			{envscrub.Policy{Mode: envscrub.Strict, Pass: []string{"ERRAND_TEST_WORD"}}, false, true},
			{envscrub.Policy{Drop: []string{"ERRAND_TEST_WORD"}}, false, false},
			{envscrub.Policy{Mode: envscrub.Strict, Set: []string{"ERRAND_TEST_WORD=harmless"}}, false, true},
		} {
			s := play(t, `on session/prompt; write env "$env.ERRAND_TEST_TOKEN $env.ERRAND_TEST_WORD"`)
			s.command.Inherit = tt.policy
			s.completes(s.session(), "go", "end_turn")
			check.Equal(t, fmt.Sprintf("%+v: token", tt.policy), strings.Contains(s.File("env"), "canary"), tt.token)
			check.Equal(t, fmt.Sprintf("%+v: word", tt.policy), strings.Contains(s.File("env"), "harmless"), tt.word)
			check.Equal(t, fmt.Sprintf("%+v: exposed", tt.policy), slices.Contains(s.agent.ExposedEnv(), "ERRAND_TEST_TOKEN"), tt.token)
		}
	})

	t.Run("E2 misses a key", func(t *testing.T) {
		t.Setenv("X_API_KEY", "canary-0123456789")
		const src = `if "$env.X_API_KEY" is ""
				stderr "error: X_API_KEY is not set\n"
				exit 1
			end`
		s := play(t, src)
		e := s.fails(t.Context(), client.KindExit, client.StepInitialize)
		check.Has(t, e.Error(), "exit status 1", "X_API_KEY is not set", "held back from its environment: ", "X_API_KEY")
		check.Lacks(t, e.Error(), "canary", "known to use")

		// Where it is known what it wants, the error says that it got none of it.
		s = play(t, src)
		s.opts.Hints = []string{"X_API_KEY", "X_AUTH_TOKEN"}
		e = s.fails(t.Context(), client.KindExit, client.StepInitialize)
		check.Has(t, e.Error(), "known to use X_API_KEY or X_AUTH_TOKEN and was given none")
		s.command.Env = append(s.command.Env, "X_AUTH_TOKEN=mine")
		check.Lacks(t, s.fails(t.Context(), client.KindExit, client.StepInitialize).Error(), "known to use")

		for _, let := range []func(*client.Command){
			func(c *client.Command) { c.Env = append(c.Env, "X_API_KEY=mine") },
			func(c *client.Command) { c.Inherit.Pass = []string{"X_API_KEY"} },
		} {
			s := play(t, src)
			let(&s.command)
			s.completes(s.session(), "go", "end_turn")
		}
	})

	t.Run("E3 an interpreter that is missing", func(t *testing.T) {
		t.Parallel()
		s := play(t, "")
		s.command.Path = filepath.Join(s.Dir, "agent")
		if err := os.WriteFile(s.command.Path, []byte("#!/no/such/node\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := client.Start(t.Context(), s.command, &s.opts)
		check.Has(t, s.asError(err, client.KindSpawn, client.StepSpawn).Error(), s.command.Path, "/no/such/node", "interpreter")
	})

	t.Run("E4 what cannot be run", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(file)
		for _, tt := range []struct {
			path string
			says []string
		}{
			{"no-such-agent", []string{`"no-such-agent"`, "searched " + dir}},
			{file + "-not", []string{file + "-not", "no such file"}},
			{file, []string{file, "not executable"}},
			{dir, []string{dir, "is a directory"}},
		} {
			s := play(t, "")
			s.command.Path, s.command.Env = tt.path, []string{"PATH=" + dir}
			check.Has(t, s.fails(t.Context(), client.KindSpawn, client.StepSpawn).Error(), tt.says...)
			s.NotStarted()
			if err := client.Check(s.command, &s.opts); err != nil {
				t.Errorf("Check, which does not look for programs: %v", err)
			}
		}
	})

	t.Run("E5 directories", func(t *testing.T) {
		dir := traces.Canonical(t, t.TempDir())
		file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", link)); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		for _, tt := range []struct{ dir, want string }{
			{".", dir}, {"real", dir + "/real"}, {"link", dir + "/real"}, {link, dir + "/real"}, {"real/../link/.", dir + "/real"},
			{"", ""}, {"file", ""}, {"missing", ""}, {file, ""},
		} {
			got, err := client.AbsDir(tt.dir)
			check.Equal(t, "AbsDir "+tt.dir, got, tt.want)
			check.Equal(t, "is refused", err != nil, tt.want == "")
			if tt.dir != "" && !filepath.IsAbs(tt.dir) {
				if _, err := client.CheckDir(tt.dir); err == nil {
					t.Errorf("CheckDir takes %q", tt.dir)
				}
			}
		}
		s := play(t, `on session/prompt; write where "$pwd $env.PWD"`)
		s.command.Dir = link
		session := s.session()
		s.completes(session, "go", "end_turn")
		check.Equal(t, "process", s.agent.Dir(), dir+"/real")
		check.Equal(t, "session", session.Dir(), dir+"/real")
		check.Equal(t, "params", s.Params("session/new"), fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir+"/real"))
		check.Equal(t, "where it ran", s.File(dir+"/real/where"), dir+"/real "+dir+"/real")
	})

	t.Run("E7 a relative command and another directory", func(t *testing.T) {
		here := t.TempDir()
		s := play(t, `on session/prompt; write where "$pwd"`)
		if err := os.Symlink(s.command.Path, filepath.Join(here, "agent")); err != nil {
			t.Skip(err)
		}
		t.Chdir(here)
		s.command.Path = "./agent"
		s.command.Env = append(s.command.Env, "PWD=/elsewhere")
		s.completes(s.session(), "go", "end_turn")
		check.Equal(t, "path", s.agent.Path(), filepath.Join(here, "agent"))
		check.Equal(t, "where it ran", s.File("where"), s.Dir)
	})

	t.Run("L7 deaf to EOF, deaf to SIGTERM", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on eof; wait forever`)
		s.opts.Graces = deafToEOF
		s.close(s.start(), client.RungTerm, "signal SIGTERM")
		s = play(t, "ignore TERM\non eof; wait forever")
		s.opts.Graces = deafToTerm
		s.close(s.start(), client.RungKill, "signal SIGKILL")
	})

	t.Run("L8 silence", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on initialize
			spawn session
				write helper "$pid"
				wait forever
			end
			never reply`)
		s.opts.StartTimeout, s.opts.Graces = 4*time.Second, deafToEOF
		_, err := client.Start(t.Context(), s.command, &s.opts)
		e := s.asError(err, client.KindStartupTimeout, client.StepInitialize)
		check.Has(t, e.Error(), "initialize", "4s")
		s.Gone("helper")
	})

	t.Run("L9 exits with a usage text", func(t *testing.T) {
		s := play(t, `stderr "usage: agent [--acp]\n"; exit 2`)
		e := s.fails(t.Context(), client.KindExit, client.StepInitialize)
		check.Has(t, e.Error(), "exit status 2", "usage: agent [--acp]")
		check.Equal(t, "code", *e.Exit.Code, 2)
		check.Equal(t, "rung", e.Exit.Rung, client.RungExit)
	})

	t.Run("L10 echoes", func(t *testing.T) {
		for _, src := range []string{"cat", "script"} {
			s := play(t, `echo`)
			if src == "cat" {
				s.command.Path, s.command.Args = "cat", nil
			}
			begin := time.Now()
			e := s.fails(t.Context(), client.KindProtocol, client.StepInitialize)
			check.Has(t, e.Error(), "echoes our own frames", "no ACP agent")
			if took := time.Since(begin); took > hang {
				t.Errorf("it took %v", took)
			}
		}
	})

	t.Run("T6 exits with a prompt pending", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; stderr "fatal\n"; wait 100ms; exit 9`)
		answer, err := s.prompt(s.session(), "go")
		e := s.asError(err, client.KindExit, client.StepPrompt)
		check.Has(t, e.Error(), "exit status 9", "fatal")
		check.Equal(t, "sent", answer.Sent, true)
	})

	t.Run("T8 200 KB on stderr before initialize", func(t *testing.T) {
		t.Parallel()
		s := play(t, `stderr x size=200KB`)
		a := s.start()
		s.close(a, client.RungEOF, "exit status 0")
		tail, truncated := a.Stderr()
		check.Equal(t, "truncated", truncated, true)
		if len(tail) > 64<<10 || len(tail) == 0 {
			t.Errorf("%d bytes are kept", len(tail))
		}
	})

	t.Run("T21 closes stdout and lives on", func(t *testing.T) {
		t.Parallel()
		s := play(t, "on session/prompt; text \"so far\"; stdout close; wait forever\non eof; wait forever")
		s.opts.Graces = deafToEOF
		_, err := s.prompt(s.session(), "go")
		check.Has(t, s.asError(err, client.KindTransport, client.StepPrompt).Error(), "closed its stdout", "lives on")
		check.Equal(t, "text", s.text(), "so far")
		s.close(s.agent, client.RungTerm, "signal SIGTERM")
	})

	t.Run("T22 closes stdin and goes on answering", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; stdin close; text "answer"`)
		s.opts.Graces = deafToEOF
		s.completes(s.session(), "go", "end_turn")
		check.Equal(t, "text", s.text(), "answer")
	})

	t.Run("O3 updates between turns", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt 1; text "1"; stop end_turn; text " between"; write between
			on session/prompt 2; text " 2"`)
		session := s.session()
		s.completes(session, "go", "end_turn")
		s.Await("between")
		s.completes(session, "go", "end_turn")
		check.Equal(t, "text", s.text(), "1 between 2")
	})

	t.Run("S7 wants a login", func(t *testing.T) {
		s := play(t, `on session/new; reply error -32000 "Authentication required" {"authMethods":[{"id":"oauth","name":"Log in"},{"id":"key"}]}`)
		e := s.fails(t.Context(), client.KindAuthRequired, client.StepNewSession)
		check.Has(t, e.Error(), "key, oauth", "log in")
	})

	t.Run("S8 another version", func(t *testing.T) {
		for _, answer := range []string{`{"protocolVersion":2}`, `{"protocolVersion":0}`, `{"protocolVersion":"2025-01-01"}`, `{}`} {
			s := play(t, `on initialize; reply `+answer)
			e := s.fails(t.Context(), client.KindVersion, client.StepInitialize)
			version, _, _ := strings.Cut(strings.TrimPrefix(answer, `{"protocolVersion":`), "}")
			check.Has(t, e.Error(), strings.Replace(version, "{", "none", 1)+", this client speaks 1")
		}
	})

	t.Run("S12 what was not advertised", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
			request terminal/create {"sessionId":"$session","command":"id"}
			append answers "$error"
			request fs/write_text_file {"sessionId":"$session","path":"$cwd/x","content":"x"}
			append answers "$error"`)
		s.completes(s.session(), "go", "end_turn")
		check.Equal(t, "refusals", strings.Count(s.File("answers"), "-32601"), 2)
		check.Equal(t, "written", s.Exists("x"), false)
	})

	faultsPlatform(t)
}
