//go:build unix

package script

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSignals(t *testing.T) {
	t.Parallel()
	t.Run("a section flushes and exits 0", func(t *testing.T) {
		p := ownProcess(t, "on signal TERM\n wait 20ms\n write flushed \"by $method$n\"")
		p.hello()
		p.signal(syscall.SIGTERM)
		p.converse("ended 0")
		if got := p.file("flushed"); got != "by 1" {
			t.Errorf("flushed %q", got)
		}
	})
	t.Run("ignored", func(t *testing.T) {
		p := ownProcess(t, "ignore TERM\nignore HUP")
		p.hello()
		p.signal(syscall.SIGTERM)
		p.signal(syscall.SIGHUP)
		p.converse("> prompt 2 a\n< stop 2 end_turn\neof\nended 0")
	})
	t.Run("waited for", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n text a\n wait signal USR1\n text b")
		p.converse("hello\n> prompt 2 a\n< text a")
		p.signal(syscall.SIGUSR1)
		p.converse("< text b\n< stop 2 end_turn")
	})
	t.Run("by default", func(t *testing.T) {
		p := ownProcess(t, "")
		p.hello()
		p.signal(syscall.SIGTERM)
		p.converse("ended -1")
		if got := p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGTERM {
			t.Errorf("died of %v", got)
		}
	})
	t.Run("raised, and nothing follows", func(t *testing.T) {
		for name, sig := range map[string]syscall.Signal{"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "ABRT": syscall.SIGABRT} {
			p := ownProcess(t, "on session/prompt\n text half\n raise "+name+"\n text more")
			p.converse("hello\n> prompt 2 a\n< text half")
			if line, err := p.line(); err != io.EOF {
				t.Errorf("%s: %q, %v", name, line, err)
			}
			p.wait()
			// Go's ABRT exits with 2 and a trace of the goroutines.
			if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != sig && name != "ABRT" {
				t.Errorf("%s: %v", name, p.cmd.ProcessState)
			}
		}
	})
	t.Run("raised and caught", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n raise USR1\n wait signal USR1\n text caught")
		p.converse("hello\n> prompt 2 a\n< text caught\n< stop 2 end_turn")
	})
	t.Run("stops itself", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n raise STOP\n text back")
		p.converse("hello\n> prompt 2 a")
		p.state("T")
		p.signal(syscall.SIGCONT)
		p.converse("< text back\n< stop 2 end_turn")
	})
	t.Run("does nothing once it has stopped itself", func(t *testing.T) {
		for range 30 {
			went := filepath.Join(t.TempDir(), "on")
			p := ownProcess(t, "on session/prompt\n raise STOP\n append "+went+" on")
			p.converse("hello\n> prompt 2 a")
			p.state("T")
			if _, err := os.Stat(went); err == nil {
				t.Fatal("it went on behind the signal")
			}
			p.signal(syscall.SIGCONT)
			p.converse("< stop 2 end_turn")
		}
	})
}

func (p *peer) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// state waits until the process is in this state of /proc/PID/stat.
func (p *peer) state(want string) {
	p.t.Helper()
	poll(p.t, "state "+want, func() bool {
		stat := procStat(p.cmd.Process.Pid)
		return stat == nil || stat[0] == want
	})
}

// procStat has the fields of /proc/PID/stat from the third on: state, parent, group,
// session. It is nil where there is no such process, or no /proc.
func procStat(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
}

func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: it does not come", what)
		}
	}
}

// child waits for a file with a pid in it, and ends that process after the test.
func (p *peer) child(name string) int {
	p.t.Helper()
	var pid int
	poll(p.t, name, func() bool {
		b, _ := os.ReadFile(filepath.Join(p.dir, name))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return strings.HasSuffix(string(b), "\n")
	})
	p.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH || zombie(pid) }

// zombie is what is left of an orphan where nobody reaps.
func zombie(pid int) bool { stat := procStat(pid); return stat != nil && stat[0] == "Z" }

// Who waits for a file finds in it what was appended.
func TestAppendedFileAppearsWhole(t *testing.T) {
	t.Parallel()
	p := ownProcess(t, "on session/prompt\n repeat 500\n  append \"$i\" line\n end")
	p.converse("hello\n> prompt 2 a")
	for i, begin := 1, time.Now(); i <= 500; {
		text, err := os.ReadFile(filepath.Join(p.dir, strconv.Itoa(i)))
		switch {
		case err == nil && string(text) != "line\n":
			t.Fatalf("file %d appeared with %q", i, text)
		case err == nil:
			i++
		case time.Since(begin) > time.Minute:
			t.Fatal(err)
		}
	}
	p.converse("< stop 2 end_turn")
}

func TestSpawn(t *testing.T) {
	t.Parallel()
	t.Run("a helper holds stdout beyond its parent's death", func(t *testing.T) {
		p := ownProcess(t, `
			on session/prompt
			  spawn stdout
			    append pid $pid
			    wait file go
			    raw "from the grave\n"
			  end
			  wait file pid
			  raise KILL`)
		p.converse("hello\n> prompt 2 a")
		pid := p.child("pid")
		p.wait()
		if gone(pid) {
			t.Error("the helper went with its parent")
		}
		write(t, filepath.Join(p.dir, "go"))
		p.converse("< from the grave")
		if line, err := p.line(); err != io.EOF {
			t.Errorf("%q, %v; want the end", line, err)
		}
		poll(t, "the helper's end", func() bool { return gone(pid) })
	})
	t.Run("without stdout the output ends with the parent", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n spawn\n  append pid $pid\n  wait forever\n end\n wait file pid\n exit 0")
		p.converse("hello\n> prompt 2 a\nended 0")
		if gone(p.child("pid")) {
			t.Error("the helper went with its parent")
		}
	})
	t.Run("groups, sessions, environment", func(t *testing.T) {
		p := ownProcess(t, `
			on session/prompt
			  spawn
			    append plain "$ppid $pgid $sid $env.MARK"
			  end
			  spawn group
			    append group "$pid $pgid $sid"
			  end
			  spawn session no-env
			    append session "$pid $pgid $sid [$environ]"
			  end
			  wait children
			  text "$pid $pgid $sid"`, "MARK=here")
		p.converse("hello\n> prompt 2 a")
		me := strings.Fields(p.frame()["params"].(map[string]any)["update"].(map[string]any)["content"].(map[string]any)["text"].(string))
		if got, want := p.file("plain"), strings.Join(me, " ")+" here\n"; got != want {
			t.Errorf("plain: %q, want %q", got, want)
		}
		group := strings.Fields(p.file("group"))
		if group[0] != group[1] || group[2] != me[2] {
			t.Errorf("group: %q beside %q", group, me)
		}
		session := strings.Fields(p.file("session"))
		if session[0] != session[1] || session[0] != session[2] || session[3] != "[]" {
			t.Errorf("session: %q", session)
		}
	})
	t.Run("a tree of three that ignores TERM", func(t *testing.T) {
		p := ownProcess(t, `
			on session/prompt
			  ignore TERM
			  spawn
			    ignore TERM
			    spawn
			      ignore TERM
			      append c $pid
			      wait forever
			    end
			    append b $pid
			    wait forever
			  end
			  wait forever`)
		p.converse("hello\n> prompt 2 a")
		b, c := p.child("b"), p.child("c")
		if stat := procStat(c); stat != nil && stat[1] != strconv.Itoa(b) {
			t.Errorf("c's parent is %s, want %d", stat[1], b)
		}
		for _, pid := range []int{b, c} {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
		p.signal(syscall.SIGTERM)
		p.converse("> {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"_x\"}\n<< -32601")
		if gone(b) || gone(c) {
			t.Error("TERM ended one")
		}
	})
	t.Run("one that writes on and on", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n spawn\n  append pid $pid\n  repeat forever\n   append grows $i\n   wait 1ms\n  end\n end")
		p.converse("hello\n> prompt 2 a\n< stop 2 end_turn")
		p.child("pid")
		poll(t, "a third line", func() bool { return strings.HasPrefix(p.file("grows"), "1\n2\n3\n") })
	})
	t.Run("a launcher", func(t *testing.T) {
		p := ownProcess(t, `
			spawn stdin stdout stderr
			  on session/prompt
			    text "from the inner agent"
			    stderr inner
			end
			wait children
			exit 4`)
		p.converse("hello\n> prompt 2 a\n< text from the inner agent\n< stop 2 end_turn\neof\nended 4")
		if b, _ := os.ReadFile(p.stderr); string(b) != "inner" {
			t.Errorf("stderr: %q", b)
		}
	})
	t.Run("mistakes name the line of the script", func(t *testing.T) {
		p := ownProcess(t, "spawn stderr\n\n  remove nothing\nend\nwait children\nexit 0")
		p.converse("ended 0")
		if b, _ := os.ReadFile(p.stderr); !strings.Contains(string(b), "-e:3: remove: ") {
			t.Errorf("stderr: %q", b)
		}
	})
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDescriptors has what only real descriptors show.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	t.Run("stdin closed: the client's writes fail, the agent answers on", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n stdin close\n text closed\n wait file go\n stop end_turn")
		p.converse("hello\n> prompt 2 a\n< text closed")
		poll(t, "a broken pipe", func() bool { _, err := p.stdin.WriteString("\n"); return err != nil })
		write(t, filepath.Join(p.dir, "go"))
		p.converse("< stop 2 end_turn")
	})
	t.Run("stdin stopped: the pipe fills, then is read on", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n stdin stop\n text stopped\n wait file go\n stdin resume")
		p.converse("hello\n> prompt 2 a\n< text stopped")
		line := `{"jsonrpc":"2.0","method":"_x","params":"` + strings.Repeat("x", 1<<20) + "\"}\n"
		p.stdin.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		n, err := p.stdin.WriteString(line)
		if !os.IsTimeout(err) || n > 1<<17 {
			t.Errorf("wrote %d bytes, %v; want a full pipe", n, err)
		}
		write(t, filepath.Join(p.dir, "go"))
		p.converse("< stop 2 end_turn")
		p.send(line[n : len(line)-1])
		p.converse("> {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"_x\"}\n<< -32601")
	})
	t.Run("stdout closed: the output ends, the agent lives", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n text a\n stdout close\n text b\n append alive $pid\n wait forever")
		p.converse("hello\n> prompt 2 a\n< text a")
		if line, err := p.line(); err != io.EOF {
			t.Errorf("%q, %v; want the end", line, err)
		}
		if gone(p.child("alive")) {
			t.Error("it died")
		}
	})
	t.Run("nobody reads: it dies of PIPE, or not", func(t *testing.T) {
		const loud = "on session/prompt\n wait file go\n text a\n append alive yes\n wait forever"
		for script, alive := range map[string]bool{loud: false, "ignore PIPE\n" + loud: true} {
			p := ownProcess(t, script)
			p.converse("hello\n> prompt 2 a")
			p.stdout.Close()
			write(t, filepath.Join(p.dir, "go"))
			if alive {
				p.file("alive")
				continue
			}
			p.wait()
			if got := p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGPIPE {
				t.Errorf("died of %v", got)
			}
		}
	})
	t.Run("what it sees of itself", func(t *testing.T) {
		p := ownProcess(t, "on session/prompt\n text \"$pwd $env.PWD $env.MARK\"\n write fds $fds\n write args $args\n text \"$cwd\"", "PWD=/elsewhere", "MARK=x")
		p.converse("hello\n> prompt 2 a\n< text DIR /elsewhere x\n< text DIR\n< stop 2 end_turn")
		if diff := cmp.Diff(numbers(openDescriptors()), numbers(p.file("fds"))); diff != "" {
			t.Errorf("descriptors (-want +got):\n%s", diff)
		}
	})
	t.Run("record", func(t *testing.T) {
		p := ownProcess(t, "record \"$env.LOG\"", "LOG=wire.log")
		p.converse("hello\n> prompt 2 a\n< stop 2 end_turn\neof\nended 0")
		log := p.file("wire.log")
		for _, method := range []string{`"initialize"`, `"session/new"`, `"session/prompt"`} {
			if strings.Count(log, method) != 1 {
				t.Errorf("%s: not once in %s", method, log)
			}
		}
	})
	t.Run("no terminal", func(t *testing.T) {
		p := ownProcess(t, `
			on session/prompt
			  spawn session
			    tty "password? "
			    append said "$error"
			  end
			  wait children`)
		p.converse("hello\n> prompt 2 a\n< stop 2 end_turn")
		if got := p.file("said"); !strings.Contains(got, "/dev/tty") {
			t.Errorf("said %q", got)
		}
	})
	t.Run("a port is taken once", func(t *testing.T) {
		const src = "on session/prompt\n listen 127.0.0.1:0\n listen \"$env.ADDRESS\"\n text listening"
		p := ownProcess(t, src, "ADDRESS=127.0.0.1:0")
		p.converse("hello\n> prompt 2 a\n< text listening")
		q := ownProcess(t, src, "ADDRESS=256.0.0.1:1")
		q.converse("hello\n> prompt 2 a\nended 1")
	})
}

// numbers are those of the descriptors that $fds has: this process's own, as its
// children get them.
func numbers(fds string) (numbers []string) {
	for line := range strings.Lines(fds) {
		n, _, _ := strings.Cut(line, " ")
		numbers = append(numbers, n)
	}
	return numbers
}

func TestMainArguments(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.script")
	if err := os.WriteFile(good, []byte("exit 0"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string // in the error; "" = none
	}{
		{[]string{good}, ""},
		{[]string{"-e", "text hi"}, ""},
		{[]string{"-e", "txt hi"}, "-e:1: there is no statement \"txt\""},
		{[]string{filepath.Join(dir, "none")}, "none: no such file"},
		{nil, "usage"},
		{[]string{"-x"}, "usage"},
		{[]string{"a", "b"}, "usage"},
	} {
		_, err := load(test.args)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
}

// The strays of L2 outlive their agent: the test ends them.
func TestStrays(t *testing.T) {
	p := ownProcess(t, example(t, "l02-strays"))
	p.converse("hello\n> prompt 2 hi\n< text an answer\n< stop 2 end_turn")
	p.child("helper.pid")
	p.child("late.pid")
}
