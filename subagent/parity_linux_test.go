package subagent_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/ptrace"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// What only Linux lets a test see.
func parityPlatform(t *testing.T) {
	t.Run("A47 a process that SIGKILL does not end", func(t *testing.T) {
		t.Parallel()
		s := play(t, `on session/prompt
				write pid "$pid"
				text "up"
				wait cancel
				wait forever
			on eof; wait forever`, &subagent.ACPOptions{Graces: client.Graces{
			Cancel: 50 * time.Millisecond, EOF: 50 * time.Millisecond, Term: 50 * time.Millisecond, Kill: 300 * time.Millisecond,
		}})
		run := s.start(t.Context())
		firstText(t, run)
		release, err := ptrace.KeepFromExiting(s.PID("pid"))
		if err != nil {
			t.Skipf("no process can be traced here: %v", err)
		}
		defer release()
		begin := time.Now()
		res := closed(t, run)
		if took := time.Since(begin); took < 300*time.Millisecond || took > hang {
			t.Errorf("the close took %v", took)
		}
		check.Equal(t, "rung", res.Exit.Rung, client.RungNone)
		if res.Exit.Code != nil || res.Exit.Signal != nil {
			t.Errorf("exit %v of a process that is there", res.Exit)
		}
		ended(t, res, stopreason.Aborted, client.KindLeftover)
		check.Equal(t, "step", res.Error.Step, client.StepShutdown)
		check.Has(t, res.Error.Message, s.File("pid"))
		release()
		traces.Until(t, "the end of the process", func() bool {
			_, err := os.Stat(filepath.Join("/proc", s.File("pid")))
			return err != nil
		})
	})

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
			tty "password: "
			write tty "$error"`, nil)
		req := s.request("go")
		req.Labels = map[string]string{"conversation": "what the user said"}
		ended(t, s.do(req), stopreason.Completed, "")

		fds := strings.Split(s.File("fds"), "\n")
		if len(fds) != 4 {
			t.Errorf("descriptors %q, want 0 to 2 and the life-line", fds)
		}
		for i, prefix := range []string{"0 pipe:", "1 pipe:", "2 pipe:", ""} {
			if i < len(fds) && !strings.HasPrefix(fds[i], prefix) || strings.Contains(fds[i], "/dev/zero") {
				t.Errorf("descriptor %s", fds[i])
			}
		}
		ids := strings.Fields(s.File("ids"))
		if ids[1] != ids[0] || ids[2] != ids[0] {
			t.Errorf("pid, group and session are %v, want its own", ids)
		}
		check.Has(t, s.File("tty"), "/dev/tty")

		check.Equal(t, "methods", s.methods(), "initialize session/new session/prompt")
		check.Equal(t, "prompt", compact(t, s.Params("session/prompt")), `{"prompt":[{"text":"go","type":"text"}],"sessionId":"session-1"}`)
		if strings.Contains(s.File(s.Wire), "what the user said") {
			t.Error("a label reached the agent")
		}
	})
}

// asOrdinaryUser calls f as a user whom permissions mean something to, who owns the
// files.
func asOrdinaryUser(t *testing.T, f func(), files ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	for _, file := range files {
		if err := os.Chown(file, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() { // ends with f
		// The thread alone changes its user. It ends with this goroutine, because
		// that never unlocks it.
		runtime.LockOSThread()
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody)
		if errno != 0 {
			done <- errno
			return
		}
		defer func() { done <- nil }()
		f()
	}()
	if err := <-done; errors.Is(err, unix.EPERM) {
		t.Skip("this root cannot become another user")
	} else if err != nil {
		t.Fatal(err)
	}
}
