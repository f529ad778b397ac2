package script

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

// Processes and signals.

var processStatements = []*statement{
	spawnStatement,
	{
		usage: "raise SIGNAL",
		doc:   "Sends itself the signal: KILL dies, STOP stops.",
		run:   runRaise,
	},
	{
		usage: "ignore SIGNAL",
		doc:   "The signal has no effect from now on.",
		run:   runIgnore,
	},
}

var spawnStatement = &statement{
	usage: "spawn [stdin] [stdout] [stderr] [group] [session] [no-env] ... end",
	doc:   "Starts a process that follows the block, a script of its own, in the session's directory. It gets those of stdin, stdout and stderr that are named; `group` puts it in a process group of its own, `session` in a session of its own; `no-env` empties its environment. With sections it is an agent; without, it ends with its last statement.",
	run:   runSpawn,
}

func runSpawn(t *task, c *call) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, hookArg, "-child", t.r.script.name, c.child.text)
	cmd.Dir = t.directory()
	if c.has("stdin") {
		cmd.Stdin = os.Stdin
	}
	if c.has("stdout") {
		cmd.Stdout = os.Stdout
	}
	if c.has("stderr") {
		cmd.Stderr = os.Stderr
	}
	if c.has("no-env") {
		cmd.Env = []string{}
	}
	setProcess(cmd, c.has("group"), c.has("session"))
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	t.r.children[cmd] = struct{}{}
	t.r.vars["child"] = marshal(cmd.Process.Pid)
	go func() { // ends with the child
		_ = cmd.Wait()
		t.r.mu.Lock()
		defer t.r.mu.Unlock()
		delete(t.r.children, cmd)
		t.r.signal()
	}()
	return nil
}

// runRaise returns only if the signal is one that the agent survives.
func runRaise(t *task, c *call) error {
	name := t.text(c, "SIGNAL")
	sig, err := signalByName(name)
	if err != nil {
		return err
	}
	if err := raise(sig); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if t.survives(name) {
		return nil
	}
	<-t.r.ctx.Done() // the signal takes a moment
	return errEnded
}

// survives reports whether the agent goes on after the signal.
func (t *task) survives(name string) bool {
	switch name {
	case "STOP", "TSTP", "TTIN", "TTOU", "CONT", "CHLD", "WINCH", "URG":
		return true
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.r.caught[name]
}

func runIgnore(t *task, c *call) error {
	return t.r.catch(t.text(c, "SIGNAL"), func() {})
}

// catchSignals catches what the script has sections or waits for, and returns what
// undoes that.
func (r *runner) catchSignals() (stop func()) {
	for _, name := range r.script.signals {
		_ = r.catch(name, func() { // the parser knows the name
			t := r.arrive(message{Method: "signal " + name})
			if t != nil && r.perform(t) == nil {
				r.exit(0)
			}
		})
	}
	return r.releaseSignals
}

// catch calls each for every signal of this name. Unlike [signal.Ignore] it is not
// inherited by children.
func (r *runner) catch(name string, each func()) error {
	sig, err := signalByName(name)
	if err != nil {
		return err
	}
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, sig)
	r.mu.Lock()
	r.caught[name] = true
	r.catching = append(r.catching, ch)
	r.mu.Unlock()
	go func() { // ends with the agent
		for {
			select {
			case <-ch:
				go each() // so that a second signal is seen while the first is worked on
			case <-r.ctx.Done():
				return
			}
		}
	}()
	return nil
}

func (r *runner) releaseSignals() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ch := range r.catching {
		signal.Stop(ch)
	}
}
