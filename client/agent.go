package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/proc"
	"github.com/errand-acp/errand/internal/redact"
	"github.com/errand-acp/errand/permission"
)

// Agent is one agent process with the ACP connection to it, initialized. Its methods
// may be called from any goroutine. Whoever started it closes it.
type Agent struct {
	conn   *Conn
	proc   *proc.Process
	stdout io.Closer
	opts   Options
	graces Graces
	info   Info
	dir    string
	redact *redact.Redactor

	command  []string // path and arguments, redacted
	withheld []string

	// startLeft is what Start left of the startup deadline for the first session.
	startLeft time.Duration

	mu       sync.Mutex // guards sessions and started
	sessions map[acp.SessionId]*Session
	started  bool // a session was made: the startup deadline is over

	closeOnce sync.Once
	report    *Report
}

// Implementation names a program and its version, as clientInfo and agentInfo do.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Self is what this module tells agents of itself in clientInfo.
func Self() Implementation {
	return Implementation{Name: "errand", Version: selfVersion()}
}

// selfVersion is the version of this module as the build knows it.
var selfVersion = sync.OnceValue(func() string {
	const path = "github.com/errand-acp/errand"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if m.Path == path && m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
})

// Start starts c as a fresh process and initializes the connection to it. It returns
// when the agent has answered initialize with protocol version 1.
//
// An error is a *Error that names the step. What is wrong with the input is found
// before anything is started; after any error nothing is left behind: no process,
// no descriptor, no goroutine. A ctx that is done starts nothing; later ctx has no
// hold on the agent, Close ends it.
func Start(ctx context.Context, c Command, o *Options) (*Agent, error) {
	if o == nil {
		o = &Options{}
	}
	l, err := prepare(c, o)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &Error{Kind: ctxKind(ctx), Step: StepSpawn, Message: "not started: " + context.Cause(ctx).Error(), Err: context.Cause(ctx)}
	}
	begin := time.Now()
	a, err := l.spawn(ctx)
	if err != nil {
		return nil, err
	}
	startCtx, cancel := a.startContext(ctx, a.startTimeout())
	defer cancel()
	if err := a.initialize(startCtx); err != nil {
		return nil, a.abort(a.failure(startCtx, StepInitialize, err))
	}
	a.startLeft = a.startTimeout() - time.Since(begin)
	return a, nil
}

// launch is everything that is known before a process is started.
type launch struct {
	command  Command
	opts     Options
	dir      string
	spec     proc.Spec
	redact   *redact.Redactor
	withheld []string
}

// prepare checks c and o and works out environment, directory and program.
func prepare(c Command, o *Options) (*launch, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	if c.Dir == "" {
		return nil, configError("Command.Dir is empty: an agent never gets this process's own directory by default")
	}
	dir, err := CheckDir(c.Dir)
	if err != nil {
		return nil, err
	}
	environ, withheld, secrets, err := scrub(os.Environ(), c)
	if err != nil {
		return nil, err
	}
	l := &launch{command: c, opts: *o, dir: dir, withheld: withheld, redact: redact.New(secrets)}
	l.spec = proc.Spec{
		Path: c.Path, Args: c.Args, Dir: dir, Env: environ, RunID: o.RunID,
		Stderr: o.Stderr, StderrTail: o.StderrTail, Filter: l.redact.Writer, Sweep: proc.Sweep(o.Sweep),
	}
	return l, nil
}

// scrub returns the child's environment, the names that were held back, and the
// values that must not be shown anywhere: those held back, and those set explicitly
// that are secrets by their name or value.
func scrub(ambient []string, c Command) (environ, withheld, secrets []string, err error) {
	policy := c.Inherit
	policy.Set = append(slices.Clone(policy.Set), c.Env...)
	if err := policy.Validate(); err != nil {
		return nil, nil, nil, configError("the command's environment: %w", err)
	}
	environ, report := envscrub.Scrub(ambient, policy)
	return environ, report.Withheld(), envscrub.Secrets(ambient, policy), nil
}

// spawn starts the process and the connection's reader.
func (l *launch) spawn(ctx context.Context) (*Agent, error) {
	p, err := proc.Start(ctx, l.spec)
	if err != nil {
		return nil, &Error{Kind: KindSpawn, Step: StepSpawn, Message: l.redact.String(err.Error()), Err: err}
	}
	a := &Agent{
		proc: p, opts: l.opts, graces: l.opts.Graces.withDefaults(), dir: l.dir, redact: l.redact,
		withheld: l.withheld, sessions: make(map[acp.SessionId]*Session),
	}
	for _, arg := range append([]string{l.command.Path}, l.command.Args...) {
		a.command = append(a.command, l.redact.String(arg))
	}
	a.stdout = p.Stdout()
	a.conn = NewConn(&Handlers{
		OnUpdate:            l.opts.Update,
		OnRequestPermission: a.requestPermission,
	}, p.Stdin(), p.Stdout(), &ConnOptions{
		Logger: l.opts.Logger, MaxMessageBytes: l.opts.MaxMessageBytes, MaxQueueBytes: l.opts.MaxQueueBytes,
		CancelGrace: a.graces.Cancel, Observe: l.opts.Observe, Redact: l.redact.String,
	})
	return a, nil
}

func (a *Agent) startTimeout() time.Duration {
	if a.opts.StartTimeout == 0 {
		return DefaultStartTimeout
	}
	return a.opts.StartTimeout
}

// errStartup is the cause of a context that the startup deadline ended.
var errStartup = errors.New("startup deadline passed")

// startContext bounds ctx by what is left of the startup deadline.
func (a *Agent) startContext(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	if a.startTimeout() == NoTimeout {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, left, errStartup)
}

// initialize agrees on the protocol version.
// See https://agentclientprotocol.com/protocol/initialization#version-negotiation.
func (a *Agent) initialize(ctx context.Context) error {
	self := Self()
	var raw json.RawMessage
	err := a.conn.Call(ctx, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: self.Name, Version: self.Version},
	}, &raw)
	if err != nil {
		return err
	}
	a.info, err = readInfo(raw)
	return err
}

// Info is what the agent said of itself.
func (a *Agent) Info() Info { return a.info }

// Conn is the connection to the agent. It is for what Agent and Session do not
// offer; a prompt through it is unknown to the session.
func (a *Agent) Conn() *Conn { return a.conn }

// Command is the program and its arguments as they were configured, with secrets
// replaced. Path is the file that runs.
func (a *Agent) Command() []string { return slices.Clone(a.command) }

// Path is the file that runs.
func (a *Agent) Path() string { return a.proc.Path }

// PID is the id of the process.
func (a *Agent) PID() int { return a.proc.PID }

// Dir is the directory of the process, absolute and canonical.
func (a *Agent) Dir() string { return a.dir }

// WithheldEnv names the variables of this process that were held back from the
// agent, sorted.
func (a *Agent) WithheldEnv() []string { return slices.Clone(a.withheld) }

// Exited is closed when the process has ended, by itself or otherwise.
func (a *Agent) Exited() <-chan struct{} { return a.proc.Exited() }

// Noise is what the process wrote to stdout so far that was no frame, redacted.
func (a *Agent) Noise() Noise { return a.conn.Stats().Noise }

// Stderr is the end of what the process wrote to stderr so far, with secrets
// replaced, and whether something before it was cut off.
func (a *Agent) Stderr() (tail string, truncated bool) { return a.proc.StderrTail() }

// Redact replaces the secrets of the agent's environment in text.
func (a *Agent) Redact(text string) string { return a.redact.String(text) }

// requestPermission puts the agent's question to the policy.
func (a *Agent) requestPermission(ctx context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	req := permission.Request{SessionID: string(p.SessionId), ToolCall: p.ToolCall, Options: p.Options}
	a.mu.Lock()
	if s := a.sessions[p.SessionId]; s != nil {
		req.Dir = s.dir
	}
	a.mu.Unlock()
	asked := time.Now()
	d, rec := permission.Decide(ctx, a.opts.Permission, req)
	if ctx.Err() != nil {
		// Whatever the policy says now comes too late: the connection has answered.
		d, rec = permission.Decision{}, permission.Withdrawn(req, "turn cancelled", asked)
	}
	a.tellPermission(rec)
	if d.OptionID == "" {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(d.OptionID))}, nil
}

// tellPermission hands rec to the caller, with secrets replaced in what the agent
// wrote.
func (a *Agent) tellPermission(rec permission.Record) {
	if a.opts.OnPermission == nil {
		return
	}
	if rec.Title != nil {
		title := a.redact.String(*rec.Title)
		rec.Title = &title
	}
	if rec.RawInput != nil {
		text, err := json.Marshal(rec.RawInput)
		rec.RawInput = nil
		if err == nil {
			// The replacement keeps it JSON; were it not, nothing is better than a secret.
			json.Unmarshal(a.redact.Bytes(text), &rec.RawInput)
		}
	}
	a.opts.OnPermission(rec)
}

func ctxKind(ctx context.Context) ErrorKind {
	switch {
	case errors.Is(context.Cause(ctx), errStartup):
		return KindStartupTimeout
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return KindTimeout
	}
	return KindCancelled
}
