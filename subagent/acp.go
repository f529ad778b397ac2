package subagent

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
)

// ACPOptions are what an ACP provider may be told beside its command. The zero
// value, or nil, is the default.
type ACPOptions struct {
	// Permission answers the agent's permission requests; nil means
	// permission.Reject.
	Permission permission.Policy
	// Files, MaxFileBytes, Terminals and MaxTerminalBytes are what the agent may do through
	// us, as in client.Options; the zero values are nothing. What the agent has asked for
	// and was allowed it is not asked again when it then does exactly that through us.
	Files            client.FileAccess
	MaxFileBytes     int
	Terminals        bool
	MaxTerminalBytes int
	// StartTimeout bounds the start of a run, up to the session; 0 means 60 s,
	// client.NoTimeout none. The making of a Home has as long beside it.
	StartTimeout time.Duration
	// Timeout ends a run after so long, as a deadline of its context would; 0 means never.
	// The clock begins when the run may start: it does not run while that waits for others,
	// see LimitOptions, and stops at the end of the turn. Each try of a Fallback has its own.
	Timeout time.Duration
	// IdleTimeout ends a turn in which the agent sends nothing for so long; 0 means
	// never. The clock stands still while the agent waits for an answer of ours, or for
	// a slow reader of updates or events, and runs ten times as long while a tool call
	// is open. It looks ten times within the limit, so it is late by a tenth at most.
	IdleTimeout time.Duration
	// SettleTime is how long text that comes after the end of a turn is still taken
	// into its output; 0 means not at all. Some agents answer the prompt before they
	// have sent all of it.
	SettleTime time.Duration
	// Graces are the waits of the shutdown ladder.
	Graces client.Graces
	// Sweep says how far the shutdown looks for processes that were left behind.
	Sweep client.SweepMode
	// Home, if set, gives each run a home directory of its own. nil means that the agent
	// finds the user's.
	Home *Home
	// Kill, if set, ends the agents of this provider by SIGKILL when it ends, and what
	// they started with them: at once, also one that is being started or closed. It is
	// for who cannot wait for the graces any longer, after the second Ctrl-C say.
	Kill context.Context
	// Stderr, if set, gets what the agent writes to stderr as it comes, redacted.
	// Runs at the same time share it.
	Stderr io.Writer
	// StderrTail is how much of the end of stderr a result keeps, in bytes; 0 means
	// 64 KiB.
	StderrTail int
	// MaxOutput is how much of the agent's text a result keeps, in bytes; 0 means
	// 16 MiB.
	MaxOutput int
	// MaxMessageBytes bounds one message of the agent; 0 means 64 MiB.
	MaxMessageBytes int
	// MaxDepth is how deep delegations may go, counted from the first in the chain; 0
	// means DefaultMaxDepth. A process that is itself so deep is refused. What its
	// environment says (MaxDepthVariable), or a request (Request.MaxDepth), can narrow it.
	MaxDepth int
	// Hints names variables that the agent is known to want one of. Where it got none of
	// them and may have failed for that, the error says so.
	Hints []string
	// Audit, if set, is told of every run: of what was asked and answered, and of what was
	// done. The permissions in results have their facts then, whatever the policy goes by.
	Audit *Audit
	// Logger is told of frames, never of their contents; nil means silence.
	Logger *slog.Logger
}

// NewACP returns a provider that starts cmd as an ACP agent, afresh for each run:
// each has its own process, connection and session.
//
// cmd.Dir, if set, is the directory of every run, whatever the request says. It is
// made absolute against this process's directory and checked now. So is everything
// else that can be checked before a start; an error is a *Error of kind config.
func NewACP(name string, cmd client.Command, o *ACPOptions) (Provider, error) {
	if o == nil {
		o = &ACPOptions{}
	}
	if name == "" {
		return nil, configError("a provider needs a name")
	}
	p := &acpProvider{name: name, cmd: cmd, opts: *o}
	if err := p.check(); err != nil {
		return nil, named(p, err)
	}
	return p, nil
}

type acpProvider struct {
	name string
	cmd  client.Command
	opts ACPOptions
}

func (p *acpProvider) check() (err error) {
	for field, d := range map[string]time.Duration{"Timeout": p.opts.Timeout, "IdleTimeout": p.opts.IdleTimeout, "SettleTime": p.opts.SettleTime} {
		if err := client.CheckDuration(field, d); err != nil {
			return err
		}
	}
	if p.opts.MaxOutput < 0 {
		return configError("MaxOutput is negative: %d", p.opts.MaxOutput)
	}
	if p.opts.MaxDepth < 0 {
		return configError("MaxDepth is negative: %d", p.opts.MaxDepth)
	}
	if p.opts.Audit != nil && p.opts.Audit.W == nil {
		return configError("Audit.W is nil")
	}
	if p.cmd.Dir != "" {
		if p.cmd.Dir, err = client.AbsDir(p.cmd.Dir); err != nil {
			return err
		}
	}
	// The caller may go on with its own.
	for _, list := range []*[]string{&p.cmd.Args, &p.cmd.Env, &p.cmd.Inherit.Pass, &p.cmd.Inherit.Drop, &p.cmd.Inherit.Set, &p.opts.Hints} {
		*list = slices.Clone(*list)
	}
	p.cmd.Paths = slices.Clone(p.cmd.Paths)
	if err := client.Check(p.cmd, p.clientOptions(nil, nil)); err != nil {
		return err
	}
	if p.opts.Home != nil {
		p.opts.Home, err = p.opts.Home.checked(p.cmd)
	}
	return err
}

// clientOptions are the options of a run's agent; r and h are nil where they are only
// checked.
func (p *acpProvider) clientOptions(r *run, h *hosted) *client.Options {
	o := &client.Options{
		StartTimeout: p.opts.StartTimeout, Graces: p.opts.Graces, Sweep: p.opts.Sweep, Kill: p.opts.Kill,
		Permission: p.opts.Permission, Stderr: p.opts.Stderr, StderrTail: p.opts.StderrTail,
		MaxMessageBytes: p.opts.MaxMessageBytes, Hints: p.opts.Hints, Logger: p.opts.Logger,
		Files: p.opts.Files, MaxFileBytes: p.opts.MaxFileBytes, Terminals: p.opts.Terminals, MaxTerminalBytes: p.opts.MaxTerminalBytes,
	}
	if r != nil {
		o.RunID = r.id
		o.Transcript = r.req.Transcript
		o.Permission = turnPolicy{p.opts.Permission, r.collect, r.audit != nil}
		if p.opts.Files == client.FilesWrite || p.opts.Terminals {
			o.Permission = new(permission.Grants).Policy(o.Permission)
		}
		o.ObserveFile = func(rec client.FileRecord) { h.file(rec); r.audit.file(rec) }
		o.ObserveCommand = func(rec client.CommandRecord) { h.command(rec); r.audit.command(rec) }
		o.ObservePermission = func(rec permission.Record) { r.collect.permission(rec); r.audit.permission(rec) }
		o.OnPermission = r.permission
		o.Observe = r.collect.update
		o.Update = func(_ context.Context, u client.Update) { r.update(u) }
	}
	return o
}

// turnPolicy puts requests to a policy as long as the turn lasts. A run has one: what is
// asked after it is nobody's wish any more, and nobody would see it allowed.
type turnPolicy struct {
	policy permission.Policy // nil rejects
	turn   *collector
	facts  bool // they are to be in the records
}

func (p turnPolicy) Decide(ctx context.Context, req permission.Request) permission.Decision {
	if p.facts {
		req.Facts()
	}
	switch {
	case p.turn.turnOver():
		return permission.Decision{Rule: "the turn is over"}
	case p.policy == nil:
		return permission.Reject().Decide(ctx, req)
	}
	return p.policy.Decide(ctx, req)
}

// GuardsReads implements permission.ReadGuard.
func (p turnPolicy) GuardsReads() bool { return permission.GuardsReads(p.policy) }

// Digest tells grants of one policy from those of another.
func (p turnPolicy) Digest() string {
	if d, ok := p.policy.(interface{ Digest() string }); ok {
		return d.Digest()
	}
	return ""
}

func (p *acpProvider) Name() string { return p.name }

func (p *acpProvider) Capabilities() []Capability {
	return []Capability{CapabilityMaxDepth, CapabilityTranscript}
}

func (p *acpProvider) Start(ctx context.Context, req Request) (Run, error) {
	dir, depth, err := p.prepare(ctx, &req)
	if err != nil {
		return nil, err
	}
	return p.start(ctx, req, dir, depth)
}

// prepare refuses what can be refused before anything is started, and returns the directory
// to work in and where the agent will stand.
func (p *acpProvider) prepare(ctx context.Context, req *Request) (dir string, d depth, err error) {
	if dir, err = prepare(ctx, p, req, p.cmd.Dir); err != nil {
		return "", depth{}, err
	}
	if d, err = childDepth(p.opts.MaxDepth, req.MaxDepth); err != nil {
		return "", depth{}, named(p, err)
	}
	return dir, d, nil
}

// start starts an agent for the request.
func (p *acpProvider) start(ctx context.Context, req Request, dir string, d depth) (Run, error) {
	release, err := gateStart(ctx, p.cmd.Path)
	if err != nil {
		return nil, named(p, err)
	}
	defer release()
	r := newWaiting(p.name)
	p.accept(ctx, r, req)
	a, err := p.ready(r.ctx, r, dir, d)
	if err != nil {
		return nil, p.notStarted(r, a.known, err)
	}
	return a.begin(), nil
}

// accept gives a run its request, and has its clock begin.
func (p *acpProvider) accept(ctx context.Context, r *run, req Request) {
	stop := context.CancelFunc(func() {})
	if p.opts.Timeout > 0 {
		ctx, stop = context.WithTimeout(ctx, p.opts.Timeout)
	}
	r.accept(ctx, req)
	context.AfterFunc(r.ctx, stop)
}

// ready starts the agent of r and makes the session, and comes back when r could begin. ctx
// bounds that. What is known of the run is in its known, also where it failed; then nothing
// is left behind.
func (p *acpProvider) ready(ctx context.Context, r *run, dir string, d depth) (a *acpRun, err error) {
	a = &acpRun{
		run: r, provider: p, known: r.newResult(dir),
		hosted: newHosted(p.opts.Files != client.FilesNone, p.opts.Terminals),
	}
	if p.opts.MaxOutput > 0 {
		r.collect.limit = p.opts.MaxOutput
	}
	r.audit = newAuditRun(p, r)
	if r.audit != nil {
		r.collect.seen = r.audit.toolCall
	}
	cmd := p.cmd
	cmd.Dir = dir
	cmd.Env = slices.Concat(cmd.Env, d.env())
	cmd.Inherit.Drop = slices.Concat(cmd.Inherit.Drop, dropped(ctx))
	if p.opts.Home != nil {
		if a.home, err = p.opts.Home.make(ctx, &cmd, p.opts.StartTimeout); err != nil {
			return a, err
		}
	}
	if a.agent, err = client.Start(ctx, cmd, p.clientOptions(r, a.hosted)); err != nil {
		a.known.fillFailed(err)
		a.removeHome(&a.known)
		a.noteTranscript(&a.known)
		return a, err
	}
	r.setSecrets(a.agent.Redact)
	if err := a.open(ctx); err != nil {
		a.close(&a.known)
		a.amend(err, a.known.Exit)
		return a, err
	}
	return a, nil
}

// notStarted makes the error of a start that failed. What is known of the run goes
// with it.
func (p *acpProvider) notStarted(r *run, partial Result, err error) error {
	r.cancel(errClosed)
	e := named(p, err)
	e.Retryable = retryable(e.Kind) && !misstarted(e, &partial)
	partial.Stop = stopreason.Error
	if e.Kind == client.KindCancelled || e.Kind == client.KindTimeout {
		partial.Stop = stopreason.Aborted
	}
	if e.Kind != client.KindCancelled {
		in := *e
		partial.Error = &in
	}
	partial.Empty = true
	partial.Timing.StartMs = ms(time.Since(r.started))
	partial.Timing.TotalMs = partial.Timing.StartMs
	r.audit.begin(&partial)
	r.audit.end(&partial)
	e.Partial = &partial
	return e
}
