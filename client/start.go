package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/proc"
	"github.com/errand-acp/errand/internal/redact"
	"github.com/errand-acp/errand/internal/wire"
)

// Start starts c as a fresh process and initializes the connection to it. It returns
// when the agent has answered initialize with protocol version 1. A nil o means the
// defaults.
//
// An error is a *Error that names the step. What is wrong with the input is found
// before anything is started; after any error nothing is left behind: no process,
// no descriptor, no goroutine. A ctx that is done starts nothing; one that ends during
// the start ends the agent by the same steps as Close. Afterwards ctx has no hold on
// the agent.
//
// Every descriptor of this process above 2 is marked close-on-exec, so that the agent
// gets none of them.
//
// See https://agentclientprotocol.com/protocol/initialization.
func Start(ctx context.Context, c Command, o *Options) (*Agent, error) {
	if o == nil {
		o = &Options{}
	}
	l, err := prepare(c, o)
	if err != nil {
		return nil, err
	}
	a, err := l.spawn(ctx)
	if err != nil {
		return nil, err
	}
	startCtx, done := a.startContext(ctx)
	defer done()
	if err := a.initialize(startCtx); err != nil {
		return nil, a.abort(a.failure(startCtx, StepInitialize, err))
	}
	return a, nil
}

// Check returns an error of kind config if c and o could not be started whatever
// happens: it looks at everything that Start looks at before it starts anything, but
// for the program, which may come later, and the directory where c has none yet.
func Check(c Command, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	paths, err := newPathMap(c.Paths)
	if err != nil {
		return err
	}
	if c.Dir != "" {
		dir, err := CheckDir(c.Dir)
		if err != nil {
			return err
		}
		if _, ok := paths.theirs(dir); !ok {
			return noPlace(dir)
		}
	}
	if err := c.Validate(); err != nil {
		return err
	}
	return o.validate()
}

// prepare checks c and o and works out environment and directory.
func prepare(c Command, o *Options) (*launch, error) {
	if err := Check(c, o); err != nil {
		return nil, err
	}
	if c.Dir == "" {
		return nil, configError("Command.Dir is empty: an agent never gets this process's own directory by default")
	}
	dir, err := CheckDir(c.Dir)
	if err != nil {
		return nil, err
	}
	paths, _ := newPathMap(c.Paths) // it is checked, and so is dir
	theirs, _ := paths.theirs(dir)
	args := slices.Clone(c.Args)
	if len(paths) > 0 {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "{dir}", theirs)
		}
	}
	policy := c.Inherit
	policy.Set = slices.Concat(policy.Set, c.Env)
	ambient := os.Environ()
	environ, report := envscrub.Scrub(ambient, policy)
	l := &launch{opts: *o, dir: dir, paths: paths, withheld: report.Withheld(), redact: redact.New(envscrub.Secrets(ambient, policy))}
	for _, f := range report.Exposed {
		l.exposed = append(l.exposed, f.Name)
	}
	if !slices.ContainsFunc(environ, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(o.Hints, name)
	}) {
		l.missing = slices.Clone(o.Hints)
	}
	l.opts.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	l.opts.Graces = o.Graces.withDefaults()
	l.opts.MaxTerminalBytes = cmp.Or(o.MaxTerminalBytes, DefaultMaxTerminalBytes)
	for _, word := range slices.Concat([]string{c.Path}, args) {
		l.command = append(l.command, l.redact.String(word))
	}
	l.spec = proc.Spec{
		Path: c.Path, Args: args, Dir: dir, Env: environ, RunID: cmp.Or(o.RunID, rand.Text()),
		Stderr: o.Stderr, StderrTail: o.StderrTail, Sweep: proc.Sweep(o.Sweep),
	}
	return l, nil
}

func noPlace(dir string) error {
	return configError("directory %q: no path pair (Command.Paths, --map) says what it is where the agent lives", dir)
}

// spawn starts the process and the connection's reader.
func (l *launch) spawn(ctx context.Context) (*Agent, error) {
	if kill := l.opts.Kill; kill != nil && kill.Err() != nil {
		return nil, l.notSpawned(kill, kill.Err())
	}
	rec := l.record()
	l.spec.Filter = rec.filter(l.redact.Writer)
	p, err := proc.Start(ctx, l.spec)
	if err != nil {
		rec.end(transcript.End{})
		return nil, l.notSpawned(ctx, err)
	}
	a := &Agent{
		launch: *l, proc: p, recorder: rec,
		sessions: make(map[acp.SessionId]*Session), startLeft: l.opts.StartTimeout,
	}
	a.conn = NewConn(a.handlers(), rec.input(p.Stdin()), rec.output(p.Stdout(), l.opts.MaxMessageBytes), &ConnOptions{
		Logger: l.opts.Logger, MaxMessageBytes: l.opts.MaxMessageBytes, MaxQueueBytes: l.opts.MaxQueueBytes,
		CancelGrace: l.opts.Graces.Cancel, Observe: l.opts.Observe, Redact: l.redact.Cut,
		desk: (*desk)(a), recorder: rec,
	})
	a.log("agent started", slog.Int("pid", p.PID), slog.String("path", a.redact.String(p.Path)))
	if l.opts.Kill != nil {
		a.mu.Lock()
		a.stopKill = context.AfterFunc(l.opts.Kill, func() { a.Kill() })
		a.mu.Unlock()
	}
	return a, nil
}

// notSpawned is the error of a process that could not be started.
func (l *launch) notSpawned(ctx context.Context, err error) *Error {
	err = l.tellable(err)
	e := &Error{
		Kind: KindSpawn, Step: StepSpawn, Message: err.Error(), Err: err,
		Command: slices.Clone(l.command), WithheldEnv: slices.Clone(l.withheld),
	}
	bad, ok := errors.AsType[*proc.Error](err)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		e.Kind, e.Message, e.Err = ctxKind(ctx), "not started: "+context.Cause(ctx).Error(), wire.ContextError(ctx)
	case ok && bad.What != "command":
		e.Kind, e.Step = KindConfig, StepConfig
	}
	return e
}

// tellable returns err without the secrets that a path in it has as a part.
func (l *launch) tellable(err error) error {
	if bad, ok := err.(*proc.Error); ok {
		clean := *bad
		clean.Name, clean.Err = l.redact.String(bad.Name), l.tellable(bad.Err)
		clean.Searched = slices.Clone(bad.Searched)
		for i, dir := range clean.Searched {
			clean.Searched[i] = l.redact.String(dir)
		}
		return &clean
	}
	if text := l.redact.String(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// errStartup is the cause of a context that the startup deadline ended.
var errStartup = errors.New("the startup deadline passed")

// startContext bounds ctx by what is left of the startup deadline, which is over once
// there is a session. done ends the context and takes the time that has passed off
// what is left.
func (a *Agent) startContext(ctx context.Context) (_ context.Context, done func()) {
	a.mu.Lock()
	left, started := a.startLeft, a.started
	a.mu.Unlock()
	if started || a.opts.StartTimeout == NoTimeout {
		return context.WithCancel(ctx)
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, left, errStartup)
	return ctx, func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.startLeft -= time.Since(begin)
	}
}

// initialize agrees on the protocol version and tells what the agent may ask of us.
// See https://agentclientprotocol.com/protocol/initialization#version-negotiation.
func (a *Agent) initialize(ctx context.Context) error {
	self := Self()
	var raw json.RawMessage
	err := a.conn.Call(ctx, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: self.Name, Version: self.Version},

		ClientCapabilities: a.capabilities(),
	}, &raw)
	if err != nil {
		return err
	}
	a.info, err = readInfo(raw, a.quote)
	return err
}

// abort closes the agent after a failed start and adds to e what only its end told.
// It takes the ladder like any other end: what the agent still has to write, it may.
func (a *Agent) abort(e *Error) *Error {
	report := a.Close()
	e.Exit = &report.Exit
	a.describe(e)
	return e
}
