package client_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

// How an agent is started.
func parityStart(t *testing.T) {
	t.Run("A38 silence at the start", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			step    client.Step
			timeout time.Duration
		}{
			// The second is long enough for the answer to the first on a busy machine.
			{client.StepInitialize, 200 * time.Millisecond},
			{client.StepNewSession, 4 * time.Second},
		} {
			t.Run(string(tt.step), func(t *testing.T) {
				t.Parallel()
				s := play(t, fmt.Sprintf(`on %s; write pid "$pid"; stderr "waiting for a login\n"; never reply`, tt.step))
				s.opts.StartTimeout, s.opts.Graces = tt.timeout, deafToEOF
				a, err := client.Start(t.Context(), s.command, &s.opts)
				if err == nil {
					_, err = a.NewSession(t.Context(), nil)
					a.Close()
				}
				e := s.asError(err, client.KindStartupTimeout, tt.step)
				check.Has(t, e.Error(), "no answer to "+string(tt.step), tt.timeout.String())
				if tt.step == client.StepNewSession {
					check.Has(t, e.Error(), "waiting for a login")
					s.Reaped("pid")
				}
			})
		}
	})

	t.Run("A41 another protocol version", func(t *testing.T) {
		t.Parallel()
		for _, version := range []string{"99", "2", "0", "-1", "1.5", `"2025-01-01"`, `"1"`, "null", "true", "[1]", "{}", ""} {
			answer := `{"protocolVersion":` + version + `,"agentInfo":{"name":"a","version":"9"}}`
			says := "version " + version + ", "
			if version == "" {
				answer, says = `{"version":1}`, "version none, "
			}
			s := play(t, `on initialize; write pid "$pid"; reply `+answer)
			_, err := client.Start(t.Context(), s.command, &s.opts)
			e := s.asError(err, client.KindVersion, client.StepInitialize)
			check.Has(t, e.Error(), says, "speaks 1")
			check.Equal(t, "wire", s.wire(), "initialize")
			s.Reaped("pid")
		}
	})

	t.Run("A42 an agent that needs authentication", func(t *testing.T) {
		t.Parallel()
		const announces = `on initialize; answer {"authMethods":[{"id":"oauth","name":"Log in"},{"id":"api-key","name":"Key"}]}
			`
		for _, tt := range []struct {
			name string
			src  string
			step client.Step
			kind client.ErrorKind
			says []string
		}{
			{"methods announced", announces + `on session/new; fail -32000 "Authentication required"`, client.StepNewSession, client.KindAuthRequired, []string{"oauth", "api-key", "Authentication required"}},
			{"methods announced, another word", announces + `on session/new; fail -32000 "no"`, client.StepNewSession, client.KindAuthRequired, []string{"oauth", "api-key"}},
			{"methods in the data", `on session/new; reply error -32000 "no" {"authMethods":[{"id":"device","name":"D"}]}`, client.StepNewSession, client.KindAuthRequired, []string{"device"}},
			{"methods in the data, another code", `on session/new; reply error -32603 "no" {"authMethods":[{"id":"device"}]}`, client.StepNewSession, client.KindAuthRequired, []string{"device"}},
			{"methods are the data", `on session/new; reply error -32000 "no" [{"id":"device"}]`, client.StepNewSession, client.KindAuthRequired, []string{"device"}},
			{"methods in both", announces + `on session/new; reply error -32000 "no" {"authMethods":[{"id":"oauth"},{"id":"device"}]}`, client.StepNewSession, client.KindAuthRequired, []string{"api-key, device, oauth"}},
			{"no methods", `on session/new; fail -32000 "Authentication required"`, client.StepNewSession, client.KindAuthRequired, []string{"Authentication required"}},
			{"no methods, other words", `on session/new; fail -32000 "Please log in first"`, client.StepNewSession, client.KindAuthRequired, []string{"Please log in first"}},
			{"at initialize", `on initialize; fail -32000 "Authentication required"`, client.StepInitialize, client.KindAuthRequired, []string{"Authentication required"}},
			{"at the prompt", announces + `on session/prompt; fail -32000 "Authentication required"`, client.StepPrompt, client.KindAuthRequired, []string{"oauth"}},

			{"the code for something else", `on session/new; fail -32000 "overloaded"`, client.StepNewSession, client.KindAgent, []string{"-32000", "overloaded"}},
			{"for something else at the prompt", announces + `on session/prompt; fail -32000 "overloaded"`, client.StepPrompt, client.KindAgent, []string{"overloaded"}},
			{"another code", `on session/new; fail -32603 "Internal error"`, client.StepNewSession, client.KindAgent, []string{"-32603"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := play(t, tt.src)
				a, err := client.Start(t.Context(), s.command, &s.opts)
				if err == nil {
					var session *client.Session
					if session, err = a.NewSession(t.Context(), nil); err == nil {
						_, err = s.prompt(session, "go")
					}
					a.Close()
				}
				e := s.asError(err, tt.kind, tt.step)
				check.Has(t, e.Error(), tt.says...)
				if tt.kind == client.KindAuthRequired {
					check.Has(t, e.Error(), "log in with the agent's own program")
				}
				if e.Code == nil {
					t.Error("the code is missing")
				}
			})
		}
	})

	t.Run("A45 the error of a failed start", func(t *testing.T) {
		t.Setenv("ERRAND_TEST_TOKEN", "canary-0123456789")
		s := play(t, `on session/new; noise "loading…"; stderr "one\nfatal: no key\n"; exit 3`)
		_, err := s.start().NewSession(t.Context(), nil)
		e := s.asError(err, client.KindExit, client.StepNewSession)
		check.Has(t, e.Error(), "session/new", "exit status 3", `"fatal: no key"`, `"loading…"`, "ERRAND_TEST_TOKEN")
		check.Lacks(t, e.Error(), "canary", "one")
		check.Equal(t, "exit", e.Exit.String(), "exit status 3")
		check.Equal(t, "stderr", e.StderrTail, "one\nfatal: no key\n")
		check.Equal(t, "noise", fmt.Sprint(e.Noise), "{1 [loading…]}")
		if !slices.Contains(e.WithheldEnv, "ERRAND_TEST_TOKEN") {
			t.Errorf("withheld %q", e.WithheldEnv)
		}
	})

	t.Run("B3 directory and MCP servers", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/new; fail -32602 "mcpServers are not supported"`)
		s.command.Dir = "a/b"
		_, err := client.Start(t.Context(), s.command, &s.opts)
		check.Has(t, s.asError(err, client.KindConfig, client.StepConfig).Message, `"a/b"`, "not absolute")
		s.NotStarted()

		s.command.Dir = s.Dir
		a := s.start()
		_, err = a.NewSession(t.Context(), &client.SessionOptions{Dir: "a/b"})
		check.Has(t, s.asError(err, client.KindConfig, client.StepConfig).Message, `"a/b"`, "not absolute")
		check.Equal(t, "wire", s.wire(), "initialize")

		_, err = a.NewSession(t.Context(), nil)
		check.Has(t, s.asError(err, client.KindAgent, client.StepNewSession).Error(), "mcpServers are not supported")
		check.Equal(t, "params", s.Params("session/new"), fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, s.Dir))
	})

	t.Run("B9 an explicit command", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt; write args "$args"`)
		literal := []string{"$HOME", "*", "a b", "", "--", "`id`", `"`}
		// The hook leaves what stands behind the script to whoever reads $args.
		s.command.Args = append(s.command.Args[:len(s.command.Args):len(s.command.Args)], literal...)
		s.command.Path = "sh"
		s.command.Args = append([]string{"-c", `exec "$0" "$1" "$2" "$3"`, play(t, "").command.Path}, s.command.Args...)
		a := s.start()
		check.Equal(t, "command", strings.Join(a.Command(), "|"), strings.Join(append([]string{"sh"}, s.command.Args...), "|"))
		if !filepath.IsAbs(a.Path()) || filepath.Base(a.Path()) != "sh" {
			t.Errorf("path %q, want where sh is", a.Path())
		}
		s.completes(s.newSession(a, ""), "go", "end_turn")
	})

	t.Run("C1 a handshake", func(t *testing.T) {
		t.Parallel()
		s := play(t, "")
		a := s.start()
		session := s.newSession(a, "")
		check.Equal(t, "agent", a.Info().Name+" "+a.Info().Version, "scripted-agent 1")
		check.Equal(t, "session", string(session.ID()), "session-1")
		check.Equal(t, "raw", string(session.Raw()), `{"sessionId":"session-1"}`)
		check.Equal(t, "wire", s.wire(), "initialize session/new")
	})
}
