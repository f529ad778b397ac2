package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/check"
)

// canary is a secret of this process; no name or rule but its variable's makes it one.
const canary = "canary-\"0123\\456789"

// buffer is a writer for several goroutines.
type buffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A secret shows nowhere in what is kept or told of an agent, wherever it wrote it; nor
// does a piece of it where something is cut.
func TestRedaction(t *testing.T) {
	t.Setenv("ERRAND_TEST_TOKEN", canary)
	quoted := strings.Trim(fmt.Sprintf("%q", canary), `"`)
	shows := func(t *testing.T, what, text string) {
		t.Helper()
		check.Lacks(t, what+": "+text, canary, quoted, "canary", "456789")
	}

	t.Run("stderr, in pieces", func(t *testing.T) {
		s := play(t, `stderr "one canary-\"01"
			on initialize
				stderr "23\\456789 two\n"
				stderr "canary-\"0123\\45"
			on session/prompt
				stderr "6789"
			on eof
				stderr " three "
				stderr "cana"
				stderr "\n"`)
		var writer buffer
		s.opts.Stderr = &writer
		s.completes(s.session(), "go", "end_turn")
		s.close(s.agent, client.RungEOF, "exit status 0")
		tail, _ := s.agent.Stderr()
		shows(t, "tail", strings.Replace(tail, "cana\n", "", 1)) // the beginning of none
		shows(t, "writer", strings.Replace(writer.String(), "cana\n", "", 1))
		check.Has(t, tail, "one ", " two\n", " three cana\n")
		check.Equal(t, "writer", writer.String(), tail)
	})

	t.Run("a tail that is cut", func(t *testing.T) {
		s := play(t, `repeat 40
				stderr "x`+strings.ReplaceAll(quoted, `$`, `$$`)+`y"
			end
			stderr "\n"`)
		s.opts.StderrTail = 64
		a := s.start()
		s.close(a, client.RungEOF, "exit status 0")
		tail, truncated := a.Stderr()
		shows(t, "tail", tail)
		check.Equal(t, "truncated", truncated, true)
	})

	t.Run("noise", func(t *testing.T) {
		// Wherever a line is cut, of the few that are kept.
		var src strings.Builder
		lengths := []int{0, 240, 480, 495, 500, 505, 511, 512}
		for _, before := range lengths {
			fmt.Fprintf(&src, "noise \"%s%s and more\"\n", strings.Repeat("x", before), quoted)
		}
		s := play(t, src.String())
		noise := s.start().Noise()
		check.Equal(t, "kept", len(noise.First), len(lengths))
		for _, line := range noise.First {
			shows(t, "noise", line)
		}
	})

	t.Run("error", func(t *testing.T) {
		// Wherever a message is cut.
		lengths := []int{1, 270, 285, 290, 299, 400}
		var src strings.Builder
		for i, before := range lengths {
			fmt.Fprintf(&src, `on session/new %d; stderr "%[2]s%[3]s\n"; fail -32603 "%[2]s%[3]s" {"%[2]s":["%[2]s%[3]s"]}`+"\n",
				i+1, strings.Repeat("x", before), quoted)
		}
		s := play(t, src.String())
		a := s.start()
		for range lengths {
			_, err := a.NewSession(t.Context(), nil)
			e := s.asError(err, client.KindAgent, client.StepNewSession)
			for what, text := range map[string]string{
				"error": e.Error(), "message": e.Message, "data": string(e.Data), "stderr": e.StderrTail,
				"cause": fmt.Sprint(errors.Unwrap(e)), "all": fmt.Sprintf("%+v", *e),
			} {
				shows(t, what, text)
			}
		}
	})

	t.Run("answers that are none", func(t *testing.T) {
		for _, before := range []int{1, 290} {
			pad := strings.Repeat("x", before)
			for step, src := range map[client.Step]string{
				client.StepNewSession: fmt.Sprintf(`on session/new; reply {"a":"%s%s"}`, pad, quoted),
				client.StepInitialize: fmt.Sprintf(`on initialize; reply ["%s%s"]`, pad, quoted),
			} {
				s := play(t, src)
				a, err := client.Start(t.Context(), s.command, &s.opts)
				if err == nil {
					_, err = a.NewSession(t.Context(), nil)
					a.Close()
				}
				e := s.asError(err, client.KindProtocol, step)
				shows(t, "error", e.Error())
				shows(t, "all", fmt.Sprintf("%+v", *e))
			}
			s := play(t, fmt.Sprintf(`on initialize; reply {"protocolVersion":"%s%s"}`, pad, quoted))
			_, err := client.Start(t.Context(), s.command, &s.opts)
			shows(t, "version", s.asError(err, client.KindVersion, client.StepInitialize).Error())
		}
	})

	t.Run("methods of authentication", func(t *testing.T) {
		s := play(t, fmt.Sprintf(`on session/new; reply error -32000 "auth %s" {"authMethods":[{"id":"%s"}]}`, quoted, quoted))
		_, err := s.start().NewSession(t.Context(), nil)
		shows(t, "error", s.asError(err, client.KindAuthRequired, client.StepNewSession).Error())
	})

	t.Run("the command", func(t *testing.T) {
		s := play(t, "exit 1")
		s.command.Args = append(s.command.Args[:len(s.command.Args):len(s.command.Args)], "--token="+canary)
		_, err := client.Start(t.Context(), s.command, &s.opts)
		e := s.asError(err, client.KindExit, client.StepInitialize)
		shows(t, "command", strings.Join(e.Command, " "))
		check.Has(t, strings.Join(e.Command, " "), "--token=")

		s.command.Path = "/no/" + canary
		_, err = client.Start(t.Context(), s.command, &s.opts)
		shows(t, "error", s.asError(err, client.KindSpawn, client.StepSpawn).Error())
	})

	t.Run("by hand", func(t *testing.T) {
		a := play(t, "").start()
		shows(t, "text", a.Redact("a "+canary+" b "+quoted+" c "+`canary-%220123\%3456789 d canary-%2522012%33%5c456789`))
	})
}

// Explicit values that are secrets are hidden like those that were held back, and reach
// the agent all the same. Others are not touched, nor are the agent's own words.
func TestRedactionOfExplicitValues(t *testing.T) {
	s := play(t, `on session/prompt
		write env "$env.X_API_KEY"
		text "$env.X_API_KEY $env.REGION"
		stderr "$env.X_API_KEY $env.REGION $env.DB_URL $env.X_PASSWORD\n"`)
	s.command.Env = append(s.command.Env, "X_API_KEY=key-0123456789", "REGION=eu-central-1", "DB_URL=postgres://me:hunter2hunter2@db/x", "X_PASSWORD=short")
	s.completes(s.session(), "go", "end_turn")
	s.close(s.agent, client.RungEOF, "exit status 0")
	check.Equal(t, "the agent's", s.File("env"), "key-0123456789")
	check.Equal(t, "text", s.text(), "key-0123456789 eu-central-1")
	tail, _ := s.agent.Stderr()
	check.Lacks(t, tail, "key-0123456789", "hunter2hunter2")
	check.Has(t, tail, "eu-central-1", "short") // below 8 bytes more would be hidden than the secret
}

// What the caller lets through by name is a secret still.
func TestRedactionOfWhatPasses(t *testing.T) {
	t.Setenv("ERRAND_TEST_TOKEN", canary)
	for _, inherit := range []envscrub.Policy{{Pass: []string{"ERRAND_TEST_TOKEN"}}, {Mode: envscrub.None}} {
		s := play(t, `on session/prompt; write env "$env.ERRAND_TEST_TOKEN"; stderr "$env.ERRAND_TEST_TOKEN\n"`)
		s.command.Inherit = inherit
		s.completes(s.session(), "go", "end_turn")
		s.close(s.agent, client.RungEOF, "exit status 0")
		check.Equal(t, "the agent's", s.File("env"), canary)
		tail, _ := s.agent.Stderr()
		check.Lacks(t, tail, canary)
	}
}
