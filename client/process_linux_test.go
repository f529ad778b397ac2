package client_test

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/ptrace"
	"github.com/errand-acp/errand/internal/traces"
)

// How processes are found and ended is internal/proc's affair and proved there. These
// tests prove that an Agent makes use of it: that its options get there and its report
// comes back, and that all who wait for it are told.

// daemon is what an agent does to start one: two processes, of which the first makes a
// session and is gone when the second is there, which is deaf and writes its id into the
// file.
func daemon(file string) string {
	return `spawn session
			spawn
				ignore TERM
				ignore HUP
				write ` + file + ` "$pid"
				wait forever
			end
		end
		wait children
		wait file ` + file + `
		`
}

// patient are graces for agents that do what they are asked to, however busy the machine.
var patient = client.Graces{Cancel: hang, Close: hang, EOF: hang, Term: hang, Kill: hang}

// held is a hold on a process, which none that gets its number later can be taken for.
type held struct {
	t       testing.TB
	name    string
	pid, fd int
}

// hold waits for the file in which a process has written its id.
func (s *scene) hold(name string) held {
	s.Helper()
	s.Await(name)
	return hold(s, name, s.PID(name))
}

func hold(t testing.TB, name string, pid int) held {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("%s, process %d: %v", name, pid, err)
	}
	t.Cleanup(func() {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		unix.Close(fd)
	})
	return held{t, name, pid, fd}
}

// ends reports whether the process has ended, or does so within the time.
func (h held) ends(within time.Duration) bool {
	for deadline := time.Now().Add(within); ; {
		left := max(0, time.Until(deadline))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n == 1
		}
	}
}

func (h held) gone() {
	h.t.Helper()
	if !h.ends(0) {
		h.t.Errorf("%s, process %d, is still there", h.name, h.pid)
	}
}

func (h held) there() {
	h.t.Helper()
	if h.ends(0) {
		h.t.Errorf("%s, process %d, is gone", h.name, h.pid)
	}
}

// escaped checks that a process is no part of the agent's session or group, and no child
// of anybody of it: nothing but its environment tells whose it is.
func (h held) escaped(a *client.Agent) {
	h.t.Helper()
	group, _ := unix.Getpgid(h.pid)
	session, _ := unix.Getsid(h.pid)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.pid))
	if err != nil {
		h.t.Fatal(err)
	}
	parent := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[1]
	if group == a.PID() || session == a.PID() || parent == fmt.Sprint(a.PID()) {
		h.t.Fatalf("%s is no daemon: group %d, session %d, parent %s of agent %d", h.name, group, session, parent, a.PID())
	}
}

// Whenever it was started and however the agent ends, its daemon is gone when Close
// returns.
func TestDaemonIsGone(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		end       func(s *scene)
		graces    client.Graces
		rung      client.Rung
		exit      string
	}{
		{name: "started in a turn", src: "on session/prompt\n" + daemon("daemon"), rung: client.RungEOF, exit: "exit status 0"},
		{name: "started before initialize", src: daemon("daemon"), rung: client.RungEOF, exit: "exit status 0"},
		{
			name: "of an agent that has ended long ago", src: "on session/prompt\n" + daemon("daemon") + "stop end_turn\nwait file go\nexit 3",
			end:  func(s *scene) { s.Touch("go"); receive(s, s.agent.Exited()) },
			rung: client.RungExit, exit: "exit status 3",
		},
		{
			name: "of an agent that somebody kills", src: "on session/prompt\n" + daemon("daemon"),
			end:  func(s *scene) { unix.Kill(s.agent.PID(), unix.SIGKILL); receive(s, s.agent.Exited()) },
			rung: client.RungExit, exit: "signal SIGKILL",
		},
		{
			name: "of an agent that SIGTERM ends", src: "on session/prompt\n" + daemon("daemon") + "stop end_turn\non eof; wait forever",
			graces: deafToEOF, rung: client.RungTerm, exit: "signal SIGTERM",
		},
		{
			name: "of a deaf agent", src: "ignore TERM\non session/prompt\n" + daemon("daemon") + "stop end_turn\non eof; wait forever",
			graces: deafToTerm, rung: client.RungKill, exit: "signal SIGKILL",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := play(t, tt.src)
			s.opts.Graces = cmp.Or(tt.graces, patient)
			s.completes(s.session(), "go", "end_turn")
			d := s.hold("daemon")
			d.escaped(s.agent)
			if tt.end != nil {
				tt.end(s)
			}
			d.there()
			r := s.close(s.agent, tt.rung, tt.exit)
			d.gone()
			check.Equal(t, "leftover", strings.Join(r.Leftover, "\n"), "")
		})
	}

	t.Run("of a start that fails", func(t *testing.T) {
		t.Parallel()
		s := play(t, "on session/new\n"+daemon("daemon")+`fail -32603 "no"`)
		s.opts.Graces = patient
		a := s.start()
		_, err := a.NewSession(t.Context(), nil)
		s.asError(err, client.KindAgent, client.StepNewSession)
		d := s.hold("daemon")
		s.close(a, client.RungEOF, "exit status 0")
		d.gone()

		s = play(t, "on initialize\n"+daemon("daemon")+`append ready "$pid"
			reply {"protocolVersion":2}`)
		s.opts.Graces = patient
		_, err = client.Start(t.Context(), s.command, &s.opts)
		s.asError(err, client.KindVersion, client.StepInitialize)
		s.Gone("daemon")
	})
}

// The id that Options gives the run is the one that tells whose a process is, and nobody
// is touched who only looks alike.
func TestRunIDTellsWhoseItIs(t *testing.T) {
	t.Parallel()
	id := rand.Text()
	s := play(t, "on session/prompt\nwrite runs $env.ERRAND_RUN\n"+daemon("daemon"))
	s.opts.RunID, s.opts.Graces = id, patient
	s.completes(s.session(), "go", "end_turn")
	runs := strings.Split(s.File("runs"), ":")
	check.Equal(t, "last of ERRAND_RUN", runs[len(runs)-1], id)
	d := s.hold("daemon")

	stranger := func(arg string, env ...string) held {
		cmd := exec.Command("sh", "-c", "sleep 600; :", arg)
		cmd.Dir, cmd.Env = s.Dir, append(env, "PATH="+os.Getenv("PATH"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // its sleep too
			unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
			cmd.Wait()
		})
		return hold(t, fmt.Sprint(arg, env), cmd.Process.Pid)
	}
	ours := []held{d, stranger("", "ERRAND_RUN="+id), stranger("", "ERRAND_RUN=outer:"+id+":inner")}
	others := []held{
		stranger(id), stranger("ERRAND_RUN=" + id),
		stranger("", "ERRAND_RUN="+id+"x"), stranger("", "ERRAND_RUN=x"+id), stranger("", "ERRAND_RUN=outer:"+id[1:]+":inner"),
		stranger("", "ERRAND_RUNS="+id), stranger("", "X=ERRAND_RUN="+id), stranger("", "ERRAND_RUN="),
	}
	r := s.close(s.agent, client.RungEOF, "exit status 0")
	check.Equal(t, "leftover", strings.Join(r.Leftover, "\n"), "")
	for _, h := range ours {
		h.gone()
	}
	for _, h := range others {
		h.there()
	}
}

// Limited to its group, the end of an agent leaves its daemon alone.
func TestSweepOption(t *testing.T) {
	for _, mode := range []client.SweepMode{"", client.SweepRun, client.SweepGroup} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := play(t, "on session/prompt\n"+daemon("daemon")+"spawn; write helper \"$pid\"; wait forever; end\nwait file helper")
			s.opts.Sweep = mode
			s.opts.Graces = deafToEOF // as the helper is: it has no stdin
			s.completes(s.session(), "go", "end_turn")
			helper, d := s.hold("helper"), s.hold("daemon")
			s.agent.Close()
			helper.gone()
			if mode == client.SweepGroup {
				d.there()
			} else {
				d.gone()
			}
		})
	}
}

// Agents side by side do not touch each other's processes, whichever ends first.
func TestAgentsSideBySide(t *testing.T) {
	t.Parallel()
	const src = "on session/prompt 1\n%s\non session/prompt\ntext \"still here\""
	a, b := play(t, fmt.Sprintf(src, daemon("daemon"))), play(t, fmt.Sprintf(src, daemon("daemon")))
	a.opts.Graces, b.opts.Graces = patient, patient
	sessionA, sessionB := a.session(), b.session()
	a.completes(sessionA, "first", "end_turn")
	b.completes(sessionB, "first", "end_turn")
	daemonA, daemonB, leaderB := a.hold("daemon"), b.hold("daemon"), hold(b, "agent", b.agent.PID())
	a.close(a.agent, client.RungEOF, "exit status 0")
	daemonA.gone()
	daemonB.there()
	leaderB.there()
	b.completes(sessionB, "second", "end_turn")
	check.Equal(t, "text", b.text(), "still here")
	b.close(b.agent, client.RungEOF, "exit status 0")
	daemonB.gone()
}

// What could not be ended is named, and neither holds up the end nor changes what is
// said of the agent itself.
func TestReportNamesWhatIsLeft(t *testing.T) {
	s := play(t, "on session/prompt\n"+daemon("daemon"))
	s.opts.Graces = client.Graces{EOF: hang, Kill: 300 * time.Millisecond}
	s.completes(s.session(), "go", "end_turn")
	d := s.hold("daemon")
	release, err := ptrace.KeepFromExiting(d.pid)
	if err != nil {
		t.Skipf("no process can be traced here: %v", err)
	}
	defer release()
	r := s.close(s.agent, client.RungEOF, "exit status 0")
	check.Equal(t, "leftovers", len(r.Leftover), 1)
	check.Has(t, strings.Join(r.Leftover, "\n"), fmt.Sprintf("(pid %d)", d.pid))
	check.Equal(t, "again", s.agent.Close() == r, true)
	release()
	if !d.ends(hang) {
		t.Error("it was not even sent a signal")
	}
}

// Close and Kill from everywhere at once, at any time: one report, nothing left.
func TestCloseAndKillTogether(t *testing.T) {
	for i := range 6 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := play(t, "ignore TERM\non session/prompt\n"+daemon("daemon")+"text up; wait cancel; wait forever\non eof; wait forever")
			s.opts.Graces = client.Graces{Cancel: time.Hour, EOF: time.Hour, Term: time.Hour, Kill: hang} // only Kill ends it
			turn := s.ask(t.Context(), s.session(), "go")
			s.says("up")
			d := s.hold("daemon")
			reports := make(chan *client.Report, 12)
			for j := range cap(reports) {
				go func() { // ends with the agent
					if j%6 == i {
						reports <- s.agent.Kill()
					} else {
						reports <- s.agent.Close()
					}
				}()
			}
			first := receive(t, reports)
			d.gone()
			for range cap(reports) - 1 {
				check.Equal(t, "the same report", receive(t, reports) == first, true)
			}
			check.Equal(t, "exit", first.Exit.String(), "signal SIGKILL")
			_, err := s.await(turn)
			s.asError(err, client.KindCancelled, client.StepPrompt)
		})
	}
}

// Everything that waits for an agent is told when its process dies, though a daemon
// holds its pipes.
func TestAllWhoWaitAreTold(t *testing.T) {
	t.Parallel()
	s := play(t, `on session/prompt
			text up
			wait forever
		on session/new 2; append asked x; never reply
		on _vendor/ask; append asked x; never reply
		on _vendor/fork
			spawn session stdin stdout stderr
				write daemon "$pid"
				wait forever
			end
			wait file daemon`)
	session := s.session()
	turn := s.ask(t.Context(), session, "go")
	s.says("up")
	conn := s.agent.Conn()
	if err := conn.Call(t.Context(), "_vendor/fork", nil, nil); err != nil {
		t.Fatal(err)
	}
	d := s.hold("daemon")
	pending := make(chan error, 2)
	go func() { _, err := s.agent.NewSession(t.Context(), nil); pending <- err }() // ends with the agent
	go func() { pending <- conn.Call(t.Context(), "_vendor/ask", nil, nil) }()     // the same
	traces.Until(t, "both are asked", func() bool { return s.Exists("asked") && strings.Count(s.File("asked"), "x") == 2 })

	unix.Kill(s.agent.PID(), unix.SIGKILL)
	receive(t, s.agent.Exited())
	receive(t, conn.Done())
	for range cap(pending) {
		if err := receive(t, pending); err == nil {
			t.Error("a call was answered by nobody")
		}
	}
	_, err := s.await(turn)
	check.Equal(t, "exit", s.asError(err, client.KindExit, client.StepPrompt).Exit.String(), "signal SIGKILL")
	d.there()
	s.close(s.agent, client.RungExit, "signal SIGKILL")
	d.gone()
}
