package client_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/ptrace"
	"github.com/errand-acp/errand/internal/traces"
)

// What only Linux lets a test see.
func parityPlatform(t *testing.T) {
	t.Run("A52 of the parent only the directory crosses", func(t *testing.T) {
		// Not in parallel: it opens what any child could inherit.
		fd, err := unix.Open("/dev/zero", unix.O_RDONLY, 0) // without O_CLOEXEC
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		s := play(t, `on session/prompt
			write fds "$fds"
			write ids "$pid $pgid $sid"
			write pwd "$pwd $env.PWD"
			tty "password: "
			write tty "$error"`)
		session := s.session()
		s.completes(session, "go", "end_turn")
		checkDescriptors(t, s.File("fds"))
		check.Equal(t, "pid, group and session", s.File("ids"), fmt.Sprintf("%[1]d %[1]d %[1]d", s.agent.PID()))
		check.Equal(t, "directory and PWD", s.File("pwd"), s.Dir+" "+s.Dir)
		check.Has(t, s.File("tty"), "/dev/tty")
	})
}

// checkDescriptors checks that a child has pipes as 0 to 2 and the life-line, a pipe too.
func checkDescriptors(t *testing.T, text string) {
	t.Helper()
	fds := strings.Split(strings.TrimSpace(text), "\n")
	if len(fds) != 4 {
		t.Errorf("descriptors %q, want 0 to 2 and the life-line", fds)
	}
	for i, fd := range fds {
		if !strings.Contains(fd, "pipe:") || i < 3 && !strings.HasPrefix(fd, fmt.Sprint(i)) {
			t.Errorf("descriptor %q", fd)
		}
	}
}

// parityUnkillable closes an agent that not even SIGKILL ends.
func parityUnkillable(t *testing.T) {
	s := play(t, `on eof; wait forever`)
	s.opts.Graces = client.Graces{EOF: 50 * time.Millisecond, Term: 50 * time.Millisecond, Kill: 300 * time.Millisecond}
	a := s.start()
	release, err := ptrace.KeepFromExiting(a.PID())
	if err != nil {
		t.Skipf("no process can be traced here: %v", err)
	}
	defer release()
	begin := time.Now()
	r := s.close(a, client.RungNone, "a status that is not known")
	if took := time.Since(begin); took < 400*time.Millisecond {
		t.Errorf("the close took %v", took)
	}
	if len(r.Leftover) == 0 || !strings.Contains(r.Leftover[0], fmt.Sprint(a.PID())) {
		t.Errorf("leftover %q, want pid %d", r.Leftover, a.PID())
	}
	release()
	traces.Until(t, "the end of the process", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", a.PID()))
		return err != nil
	})
}

func faultsPlatform(t *testing.T) {
	t.Run("E7 an inherited descriptor", func(t *testing.T) {
		// Not in parallel: it opens what any child could inherit.
		fd, err := unix.Open("/dev/zero", unix.O_RDONLY, 0) // without O_CLOEXEC
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		s := play(t, `on session/prompt; write fds "$fds"`)
		s.completes(s.session(), "go", "end_turn")
		checkDescriptors(t, s.File("fds"))
	})

	t.Run("L17 stops itself", func(t *testing.T) {
		t.Parallel()
		// It is deaf to EOF too: SIGCONT lets it see that at the same time as SIGTERM, and
		// another thread of it could heed the one before the other, with exit status 0.
		s := play(t, "on session/prompt; text \"up\"; raise STOP; wait forever\non eof; wait forever")
		s.opts.Graces = client.Graces{Cancel: 200 * time.Millisecond, EOF: 200 * time.Millisecond, Term: hang}
		turn := s.ask(t.Context(), s.session(), "go")
		traces.Until(t, "it has stopped", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.agent.PID()))
			return err == nil && strings.Contains(string(stat), ") T ")
		})
		s.close(s.agent, client.RungTerm, "signal SIGTERM")
		if answer, err := s.await(turn); err == nil {
			t.Errorf("the turn ended with %s", answer.Raw)
		}
	})
}
