package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/proc"
	"github.com/errand-acp/errand/internal/redact"
	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/permission"
)

// commandTimeout is how long a permission command may take to answer.
const commandTimeout = time.Minute

const (
	commandKill   = 2 * time.Second // for its processes to be gone once they are killed
	commandStderr = 4 << 10         // of its stderr is shown, in bytes
)

// permissionCommand is a permission.Policy that puts each request to a program, which
// is started afresh for it: the permission.Question is its stdin, and parseReply reads
// what it makes of that. Whatever goes wrong is a reject. The program has a process
// group of its own, the scrubbed environment, and the directory of whoever started us;
// when its answer is there, or comes too late, it is killed with all that it started.
//
// It is internal/proc that starts it and not os/exec, for three reasons. Of a leader
// that os/exec has waited for the group's number may be another's already when it is
// killed; the program must not outlive us where we are killed; and Windows has no groups.
type permissionCommand struct {
	spec    proc.Spec
	own     ownFiles // that make it up: whoever is ruled by it does not change them
	timeout time.Duration
	// always lets a standing option be its answer, where nothing else speaks against it.
	always bool
	redact *redact.Redactor // takes secrets out of what it says
	tell   func(string)     // is told lines for people; nil for nobody

	life context.Context // ends with the policy
	end  context.CancelFunc

	mu     sync.Mutex // guards what is below it
	closed bool
	asking sync.WaitGroup
}

// newPermissionCommand returns the policy for a command as splitWords has it. The
// program is looked up now, so that what cannot be started is known before the agent is.
func newPermissionCommand(text string) (*permissionCommand, error) {
	words, err := splitWords(text)
	if err != nil {
		return nil, err
	}
	env, _ := envscrub.Scrub(os.Environ(), envscrub.Policy{})
	path, err := proc.LookPath(words[0], env)
	if err != nil {
		return nil, err
	}
	if err := runnable(path); err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	c := &permissionCommand{
		spec:    proc.Spec{Path: path, Args: words[1:], Dir: dir, Env: env, StderrTail: commandStderr},
		timeout: commandTimeout,
		own:     newOwnFiles(filesOf(dir, words)),
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

// runnable says that a script has no line that names its interpreter: a shell runs it all
// the same, and nobody else does.
func runnable(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // it may be run and not read
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	if head = head[:n]; n > 0 && !bytes.HasPrefix(head, []byte("#!")) && !bytes.ContainsRune(head, 0) {
		return fmt.Errorf("%s is a text that does not begin with #! and an interpreter", path)
	}
	return nil
}

// redacts sets what is taken out of all that the program says.
func (c *permissionCommand) redacts(r *redact.Redactor) {
	c.redact, c.spec.Filter = r, r.Writer
}

// GuardsReads implements permission.ReadGuard: the program gets each request.
func (c *permissionCommand) GuardsReads() bool { return true }

// close ends what is being asked and waits for the end of it. Nobody is asked after it.
func (c *permissionCommand) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.asking.Wait()
}

// begin counts a question in, unless the policy is closed.
func (c *permissionCommand) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.asking.Add(1)
	}
	return !c.closed
}

// Decide implements permission.Policy.
func (c *permissionCommand) Decide(ctx context.Context, req permission.Request) permission.Decision {
	if !c.begin() {
		return permission.Reject().Decide(ctx, req)
	}
	defer c.asking.Done()
	if c.own.touched(req) {
		return c.own.deny(ctx, req)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()

	var v verdict
	asked := make(chan struct{})
	d := permission.Ask{Timeout: c.timeout, Always: c.always, Func: func(ctx context.Context, q permission.Question) (permission.Answer, error) {
		defer close(asked)
		r, err := c.consult(ctx, q)
		if err == nil {
			v, err = r.verdict(q)
		}
		v.reason = r.Reason
		if err != nil {
			v.failed = err.Error()
		}
		return v.answer, err
	}}.Decide(ctx, req)
	<-asked // the program is gone then

	d.Ambiguous = d.Ambiguous || v.ambiguous
	d.Rule = c.rule(d.Rule, v)
	return d
}

// rule names what decided: the flag, what was the matter, and the program's own reason.
// asked is what permission.Ask says of it.
func (c *permissionCommand) rule(asked string, v verdict) string {
	what := strings.TrimPrefix(strings.TrimPrefix(asked, "ask"), ": ")
	if v.failed != "" && strings.HasPrefix(what, "failed") {
		what = v.failed + strings.TrimPrefix(what, "failed")
	}
	rule := "permission-command"
	for _, part := range []string{what, v.reason} {
		if part = c.line(part); part != "" {
			rule += ": " + part
		}
	}
	return rule
}

// line is text of the program's that is to stand within a line.
func (c *permissionCommand) line(text string) string {
	if c.redact != nil {
		text = c.redact.String(text)
	}
	return clip(visible.Line(strings.TrimSpace(text)), 200)
}

// consult runs the program and reads its reply. It returns when nothing of it is alive.
func (c *permissionCommand) consult(ctx context.Context, q permission.Question) (commandReply, error) {
	question, err := json.Marshal(q)
	if err != nil {
		return commandReply{}, fmt.Errorf("the question cannot be told: %w", err)
	}
	p, err := proc.Start(ctx, c.spec)
	if err != nil {
		return commandReply{}, err
	}
	defer context.AfterFunc(ctx, func() { p.Kill(commandKill) })()
	var told sync.WaitGroup
	// Ends when all is written, or when the program is killed at the latest. One that
	// does not read may decide all the same: an error says nothing.
	told.Go(func() {
		p.Stdin().Write(append(question, '\n'))
		p.Stdin().Close()
	})
	out, err := io.ReadAll(io.LimitReader(p.Stdout(), maxReply+1))
	if err == nil && len(out) <= maxReply {
		select {
		case <-p.Exited():
		case <-ctx.Done():
		}
	}
	report := p.Kill(commandKill)
	p.Stdout().Close()
	told.Wait()
	c.show(p, report)
	switch {
	case ctx.Err() != nil:
		return commandReply{}, errors.New("no answer in time")
	case err != nil:
		return commandReply{}, err
	case len(out) > maxReply:
		return commandReply{}, fmt.Errorf("its answer is larger than %d KiB", maxReply>>10)
	}
	r, err := parseReply(out)
	switch {
	case report.Exit.Signal != "":
		err = fmt.Errorf("signal %s", report.Exit.Signal)
	case report.Exit.Code != 0:
		err = fmt.Errorf("exit status %d", report.Exit.Code)
	}
	return r, err
}

// show tells what the program wrote to stderr, and what is left of it.
func (c *permissionCommand) show(p *proc.Process, report proc.Report) {
	if c.tell == nil {
		return
	}
	tail, truncated := p.StderrTail()
	lines := strings.Split(strings.TrimSpace(visible.Text(tail)), "\n")
	if truncated || len(lines) > stderrLines {
		lines = append([]string{"…"}, lines[max(0, len(lines)-stderrLines):]...)
	}
	for _, left := range report.Leftover {
		lines = append(lines, fmt.Sprintf("process %d (%s) could not be ended: %s", left.PID, visible.Line(left.Command), left.Reason))
	}
	for _, line := range lines {
		if line != "" {
			c.tell("permission-command: " + clip(line, 400))
		}
	}
}
