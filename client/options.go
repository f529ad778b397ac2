package client

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/permission"
)

// NoTimeout, as Options.StartTimeout, switches the startup deadline off.
const NoTimeout time.Duration = -1

// DefaultStartTimeout is the startup deadline where Options does not say.
const DefaultStartTimeout = 60 * time.Second

// Options are what Start may be told beside the command. The zero value, or nil, is
// the default.
type Options struct {
	// StartTimeout bounds initialize and the first session/new together; 0 means
	// DefaultStartTimeout.
	StartTimeout time.Duration
	// Graces are the waits of the shutdown ladder.
	Graces Graces
	// Sweep says how far the shutdown looks for processes that were left behind.
	Sweep SweepMode
	// Kill, if set, ends the agent by SIGKILL when it ends: at once, also in the middle
	// of Start or Close. It is for who cannot wait for the graces any longer.
	Kill context.Context

	// Permission answers the agent's permission requests; nil means
	// permission.Reject. One that can validate itself, as permission.Rules, is asked to.
	Permission permission.Policy
	// ObserveAsk, if set, is told of every permission request as it is read, in wire order
	// with what Observe sees, before anybody decides on it and also where nobody will: once
	// the turn was cancelled, say. It is the agent's own words. It must not wait, and must
	// not call the agent.
	ObserveAsk func(permission.Request)
	// ObservePermission, if set, is told of every permission request and what it was
	// answered, with secrets replaced in what the agent wrote: once, as soon as the
	// answer is certain, and before the Prompt returns whose turn ended after that. It
	// must not wait, and must not call the agent.
	ObservePermission func(permission.Record)
	// OnPermission, if set, is told the same in one order with Update, off the
	// reader: being slow slows the agent and loses nothing.
	OnPermission func(permission.Record)

	// Files says which files of a session's directory the agent may read and write
	// through us (fs/read_text_file, fs/write_text_file). Writes, and reads of sensitive
	// files, are put to Permission as well; permission.Rules see every read. The agent is
	// told exactly as much in clientCapabilities.
	// See https://agentclientprotocol.com/protocol/file-system.
	Files FileAccess
	// MaxFileBytes bounds one such file; 0 means DefaultMaxFileBytes.
	MaxFileBytes int
	// Terminals lets the agent run commands through us (terminal/*). Each is put to
	// Permission before it starts. A command gets what envscrub leaves of the agent's
	// environment and pipes, not a terminal device; it ends with the agent.
	// See https://agentclientprotocol.com/protocol/terminals.
	Terminals bool
	// MaxTerminalBytes bounds how much output of a command is kept, its end; 0 means
	// DefaultMaxTerminalBytes. An agent may ask for less.
	MaxTerminalBytes int
	// ObserveFile, if set, is told of each file that the agent read or wrote through us,
	// or wanted to. ObserveCommand is told of each command: when it was refused or has
	// been started, and in that case once more when it has ended. Secrets are replaced. Both are called
	// one at a time, with ObservePermission; they must not wait, and must not call the
	// agent.
	ObserveFile    func(FileRecord)
	ObserveCommand func(CommandRecord)

	// Observe, if set, sees every session update in wire order on the connection's
	// reader, before anything else does. It must not wait, and must not keep the
	// Update beyond the call (Update.Clone does).
	Observe func(*Update)
	// Update, if set, gets every session update in order, off the reader: being slow
	// slows the agent and loses nothing.
	Update func(ctx context.Context, u Update)

	// Stderr, if set, gets what the agent writes to stderr as it comes, with secrets
	// replaced. It should not block: the agent would. One that is slow is waited for when
	// the agent has gone, for three seconds at most; one that blocks longer may still be
	// called after Close.
	Stderr io.Writer
	// StderrTail is how much of the end of stderr is kept, in bytes; 0 means 64 KiB.
	StderrTail int

	// Transcript, if set, gets the conversation as it happens: every frame in both
	// directions, stderr and noise line by line, and the end, with secrets replaced. It is
	// written to beside the conversation. Where it is slow it holds the agent back, for
	// five seconds a write and two minutes in all at most, but never what is written to the
	// agent, and nothing from session/cancel to the end of that turn and from Close on; and it
	// holds up the end of Close or Kill for five seconds a write and ten in all. Then, and where
	// 64 MiB wait for it, nothing more is recorded. It fails for nobody else: its Err
	// says what is missing. Two agents must not have it at the same time.
	Transcript *transcript.Writer

	// MaxMessageBytes and MaxQueueBytes are those of ConnOptions.
	MaxMessageBytes int
	MaxQueueBytes   int

	// Hints names variables that the agent is known to want one of. Where it got none of
	// them and may have failed for that, the error says so.
	Hints []string

	// RunID marks the processes of this agent, so that the sweep knows them; empty
	// means a fresh one. It must not hold a colon.
	RunID string

	// Logger is told of frames (direction, method, id, size; never the contents), and
	// when the process has started and ended, at level Debug; nil means silence.
	Logger *slog.Logger
}

// validate refuses what could not be used, naming the field.
func (o *Options) validate() error {
	if o.StartTimeout != NoTimeout {
		if err := CheckDuration("StartTimeout", o.StartTimeout); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"StderrTail", o.StderrTail}, {"MaxMessageBytes", o.MaxMessageBytes}, {"MaxQueueBytes", o.MaxQueueBytes}, {"MaxFileBytes", o.MaxFileBytes}, {"MaxTerminalBytes", o.MaxTerminalBytes}} {
		if f.value < 0 {
			return configError("%s is negative: %d", f.name, f.value)
		}
	}
	switch o.Sweep {
	case "", SweepRun, SweepGroup:
	default:
		return configError("Sweep: %q is neither %q nor %q", o.Sweep, SweepRun, SweepGroup)
	}
	switch o.Files {
	case FilesNone, FilesRead, FilesWrite:
	default:
		return configError("Files: %q is neither %q nor %q", o.Files, FilesRead, FilesWrite)
	}
	if p, ok := o.Permission.(interface{ Validate() error }); ok {
		if err := p.Validate(); err != nil {
			return configError("Permission: %w", err)
		}
	}
	if strings.ContainsAny(o.RunID, ":\x00") {
		return configError("RunID: %q holds a colon or a NUL byte", o.RunID)
	}
	return o.Graces.Validate()
}
