package client

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/proc"
	"github.com/errand-acp/errand/internal/redact"
)

// Agent is one agent process with the ACP connection to it, initialized. Its methods
// may be called from any goroutine. Whoever started it closes it.
type Agent struct {
	launch
	conn     *Conn
	proc     *proc.Process
	recorder *recorder // nil without Options.Transcript
	info     Info

	mu        sync.Mutex // guards what is below it
	sessions  map[acp.SessionId]*Session
	startLeft time.Duration // of the startup deadline, until started
	started   bool          // there was a session: the startup deadline is over
	stopKill  func() bool   // takes Options.Kill's hand off the process; nil without one
	// The terminals by their ids, nil for one that is being made.
	terminals     map[string]*terminal
	terminalsOver bool            // none can be made any more
	leftover      []proc.Leftover // of terminals: what could not be ended

	acts     atomic.Int64   // numbers what we are asked to do
	hosting  sync.WaitGroup // what of that is under way; mu is held to add to it
	actsOver bool           // nothing is begun any more; guarded by mu

	closing   atomic.Bool // we are ending it
	closeOnce sync.Once   // guards report
	report    *Report
}

// launch is what is known of an agent before a process is started.
type launch struct {
	opts     Options // with the defaults filled in where they are this package's
	dir      string
	paths    pathMap
	spec     proc.Spec
	redact   *redact.Redactor
	command  []string // path and arguments, redacted
	withheld []string
	exposed  []string // names of secrets that were passed on with the rest
	missing  []string // Options.Hints, if the child got none of them
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

// PID is the id of the process. On Unix it is also that of its process group.
func (a *Agent) PID() int { return a.proc.PID }

// Dir is the directory of the process, absolute and canonical.
func (a *Agent) Dir() string { return a.dir }

// WithheldEnv names the variables of this process that were held back from the
// agent, sorted.
func (a *Agent) WithheldEnv() []string { return slices.Clone(a.withheld) }

// ExposedEnv names the variables of this process that look like credentials and were
// passed on to the agent all the same, because Command.Inherit says so. It is sorted.
func (a *Agent) ExposedEnv() []string { return slices.Clone(a.exposed) }

// Exited is closed when the process has ended, by itself or otherwise.
func (a *Agent) Exited() <-chan struct{} { return a.proc.Exited() }

// Running reports whether the process runs and the connection to it stands. On Linux it
// knows before Exited does of a process that is on its way out.
func (a *Agent) Running() bool {
	select {
	case <-a.conn.Done():
		return false
	default:
		return a.proc.Running()
	}
}

// Noise is what the process wrote to stdout so far that was no frame, with secrets
// replaced.
func (a *Agent) Noise() Noise { return a.conn.Stats().Noise }

// Stderr is the end of what the process wrote to stderr so far, with secrets
// replaced, and whether something before it was cut off.
func (a *Agent) Stderr() (tail string, truncated bool) { return a.proc.StderrTail() }

// Redact replaces the secrets of the agent's environment in text.
func (a *Agent) Redact(text string) string { return a.redact.String(text) }

func (a *Agent) log(msg string, attrs ...slog.Attr) {
	if a.opts.Logger != nil {
		// A handler that panics must not leave the process running.
		defer func() { _ = recover() }()
		a.opts.Logger.LogAttrs(context.Background(), slog.LevelDebug, msg, attrs...)
	}
}

// gone reports whether the process has ended.
func (a *Agent) gone() bool {
	select {
	case <-a.proc.Exited():
		return true
	default:
		return false
	}
}
