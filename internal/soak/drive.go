package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// hang is how long a run may take, whatever the machine does beside it: longer than all
// clocks and graces that a scene can have together.
const hang = 2 * time.Minute

// played is what came of a scene.
type played struct {
	*scene
	result *subagent.Result
	err    error // why it did not start
	got    outcome
	wrong  []string // what is not as it must be, each with a heading
	took   time.Duration
}

// play carries a scene out in a fresh directory below root and checks everything that
// can be said of it alone. errand is the file of the command line.
func (s *scene) play(root, errand string) *played {
	p := &played{scene: s}
	dir, err := os.MkdirTemp(root, "run-")
	if err != nil {
		p.miss("no directory for the run", err.Error())
		return p
	}
	defer os.RemoveAll(dir)
	watchdog := time.AfterFunc(hang, func() {
		p.miss("it hangs", "the goroutines are on stderr")
		p.print(os.Stderr)
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(3)
	})
	defer watchdog.Stop()

	begin := time.Now()
	if s.errand {
		p.throughErrand(errand, dir)
	} else {
		p.throughLibrary(dir)
	}
	p.took = time.Since(begin)
	p.check()
	return p
}

// agent is the command of the scene.
func (s *scene) agent() client.Command {
	cmd := s.command
	if cmd.Path == "" {
		cmd.Path, cmd.Args = script.Command(fatal{}, s.script())
	}
	return cmd
}

// fatal is for a script that the generator got wrong.
type fatal struct{}

func (fatal) Helper()           {}
func (fatal) Fatal(args ...any) { panic(args[0]) }

// throughLibrary carries the scene out by package subagent.
func (p *played) throughLibrary(dir string) {
	ctx, cancel := p.context()
	defer cancel()
	opts := p.options
	opts.Permission = p.policy(cancel)
	if n := p.caller.onFrame; n > 0 {
		opts.Logger = slog.New(&frameCounter{left: int64(n), reached: cancel})
	}
	cmd := p.agent()
	cmd.Env = append(cmd.Env, canary.givenName+"="+canary.given)
	provider, err := subagent.NewACP("soaked", cmd, &opts)
	if err != nil {
		p.miss("the provider was refused", err.Error())
		return
	}
	req := p.request
	if req.Dir == "" {
		req.Dir = dir
	}
	var events eventLog
	req.Events = events.take
	run, err := provider.Start(ctx, req)
	if err != nil {
		p.notStarted(err)
		events.checkNone(p)
		return
	}
	var read int
	var reader sync.WaitGroup
	if p.caller.reads {
		reader.Go(func() { // ends with the turn
			for range run.Updates() {
				read++
				time.Sleep(p.caller.pause)
			}
		})
	}
	if p.caller.onStart || p.caller.onFile && within(run.Done(), func() bool {
		return exists(filepath.Join(dir, goFile)) && events.updates() >= p.caller.after
	}) {
		p.endRun(run, cancel)
	}
	<-run.Done()
	settled, err := run.Wait(context.Background())
	if err != nil {
		p.miss("Wait after Done", err.Error())
	}
	before := p.jsonOf(settled)
	var finals [2]*subagent.Result
	var closing sync.WaitGroup
	for i := range finals {
		closing.Go(func() { finals[i] = run.Close() })
	}
	closing.Wait()
	reader.Wait()
	p.result = finals[0]
	p.checkOnce(run, settled, before, finals)
	events.check(p, settled)
	p.got = observe(p.result, true, read)
}

// context is that of the run.
func (p *played) context() (context.Context, context.CancelFunc) {
	switch {
	case p.caller.done:
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx, cancel
	case p.caller.deadline > 0:
		return context.WithTimeout(context.Background(), p.caller.deadline)
	}
	return context.WithCancel(context.Background())
}

// policy answers as the scene wants it.
func (p *played) policy(cancel context.CancelFunc) permission.Policy {
	policy := permission.Reject()
	if p.allow {
		policy = permission.Allow()
	}
	if !p.caller.whenAsked {
		return policy
	}
	return permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
		if req.ToolCall.ToolCallId != pendingCall {
			return policy.Decide(ctx, req)
		}
		cancel()
		<-ctx.Done()
		return permission.Decision{}
	})
}

// endRun ends the run as the caller does it.
func (p *played) endRun(run subagent.Run, cancel context.CancelFunc) {
	switch p.caller.by {
	case "context":
		cancel()
	case "cancel":
		run.Cancel()
	case "close":
		run.Close()
	}
}

// notStarted takes what the error of a start tells.
func (p *played) notStarted(err error) {
	p.err = err
	e, ok := errors.AsType[*subagent.Error](err)
	if !ok {
		p.miss("the error is no *subagent.Error", err.Error())
		return
	}
	res := e.Partial
	if res == nil {
		res = &subagent.Result{Stop: "error"}
		if e.Kind == client.KindCancelled {
			res.Stop = "aborted"
		}
	} else {
		p.result = res
	}
	p.got = observe(res, false, 0)
	p.got.Error = errorText(e)
}

// within waits until it is so, and reports false if it is not before done.
func within(done <-chan struct{}, so func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-done:
			return false
		}
	}
	return true
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// frameCounter is a log handler that calls reached at the nth line.
type frameCounter struct {
	left    int64
	reached func()
}

func (c *frameCounter) Enabled(context.Context, slog.Level) bool { return true }
func (c *frameCounter) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *frameCounter) WithGroup(string) slog.Handler            { return c }
func (c *frameCounter) Handle(context.Context, slog.Record) error {
	if atomic.AddInt64(&c.left, -1) == 0 {
		c.reached()
	}
	return nil
}
