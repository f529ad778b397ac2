package faults

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// What forms are given, and what they check, in words.

// all does one after the other.
func all(fs ...func(*scene)) func(*scene) {
	return func(s *scene) {
		s.Helper()
		for _, f := range fs {
			f(s)
		}
	}
}

// deafTo gives an agent that does not hear these rungs little time for them. What it
// does hear costs none of the wait, and the machine may be slow.
func deafTo(rungs ...client.Rung) func(*scene) {
	return func(s *scene) {
		g := &s.opts.Graces
		waits := map[client.Rung]*time.Duration{
			client.RungCancel: &g.Cancel, client.RungClose: &g.Close, client.RungEOF: &g.EOF, client.RungTerm: &g.Term,
		}
		for _, rung := range rungs {
			*waits[rung] = 300 * time.Millisecond
		}
	}
}

// lingers is given to an agent that ends by itself while a helper in its group does not,
// which is deaf to these rungs too. The whole wait after EOF passes, for the group, and
// has to do for the agent.
func lingers(helperIsDeafTo ...client.Rung) func(*scene) {
	return all(deafTo(helperIsDeafTo...), func(s *scene) { s.opts.Graces.EOF = ample })
}

func startTimeout(d time.Duration) func(*scene) {
	return func(s *scene) { s.opts.StartTimeout = d }
}

func idleTimeout(d time.Duration) func(*scene) {
	return func(s *scene) { s.opts.IdleTimeout = d }
}

func policy(p permission.Policy) func(*scene) {
	return func(s *scene) { s.opts.Permission = p }
}

// under puts the agent under a launcher, which finds the agent's command in "$0" "$@".
func under(shell string) func(*scene) {
	return func(s *scene) {
		s.command.Args = append([]string{"-c", shell, s.command.Path}, s.command.Args...)
		s.command.Path = "/bin/sh"
	}
}

// program runs another one in place of the scripted agent.
func program(path string, args ...string) func(*scene) {
	return func(s *scene) { s.command.Path, s.command.Args = path, args }
}

// deadline is a caller's deadline, which passes when a test says so.
type deadline struct {
	context.Context
	passed chan struct{}
	pass   func()
}

func newDeadline(parent context.Context) *deadline {
	passed := make(chan struct{})
	return &deadline{parent, passed, sync.OnceFunc(func() { close(passed) })}
}

func (d *deadline) Done() <-chan struct{} { return d.passed }

func (d *deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// passes carries the run out under a deadline that passes so long after the agent has
// said this.
func passes(after time.Duration, words string) func(*scene) {
	return func(s *scene) {
		d := newDeadline(s.Context())
		s.listen(func(e subagent.Event) {
			if strings.Contains(said(e), words) {
				time.AfterFunc(after, d.pass)
			}
		})
		s.delegate(d)
	}
}

// pends has the policy write the file asked, and decide when its question is taken back
// only, which is too late.
func pends(s *scene) {
	s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
		s.write("asked")
		<-ctx.Done()
		return permission.Decision{OptionID: string(r.Options[0].OptionId)}
	})
}

// says checks what the run's error mentions.
func says(words ...string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		check.Has(s, s.message(), words...)
	}
}

// warns checks what the warnings mention; no words: that there is none.
func warns(words ...string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		all := strings.Join(s.result.Warnings, "\n")
		check.Has(s, all, words...)
		if len(words) == 0 {
			check.Equal(s, "warnings", all, "")
		}
	}
}

// wrote checks the content of a file that the agent has written.
func wrote(name, want string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		check.Equal(s, name, s.file(name), want)
	}
}

// gone checks that the processes whose ids are in these files have ended: some are
// without the mark.
func gone(files ...string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		for _, name := range files {
			if s.file(name) == "" {
				s.Errorf("%s was not written", name)
			}
			for _, pid := range s.pids(name) {
				if alive(pid) {
					s.Errorf("%s: process %d is alive", name, pid)
				}
			}
		}
	}
}

// pids are the process ids that a file of the agent holds, one a line.
func (s *scene) pids(name string) []int {
	s.Helper()
	var pids []int
	for _, line := range strings.Fields(s.file(name)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			s.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// alive reports whether a process is there, and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// end ends a process that is not ours.
func end(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
		p.Release() // it holds a descriptor
	}
}

// put makes a file in the run's directory, which can be executed, and returns its path.
func (s *scene) put(name, text string) string {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		s.Fatal(err)
	}
	return path
}
