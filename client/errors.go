package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrorKind says in one word what went wrong with a run. The set is a contract:
// kinds may be added, none is renamed or removed.
type ErrorKind string

// The kinds of error. This package produces those of the process and the
// connection; the rest come from package subagent and stand here so that there is
// one list.
const (
	KindConfig         ErrorKind = "config"          // bad input, found before anything was started
	KindCapability     ErrorKind = "capability"      // something was asked for that the provider or the agent does not offer
	KindLimit          ErrorKind = "limit"           // a limit of ours refused the start
	KindSpawn          ErrorKind = "spawn"           // the process could not be started
	KindStartupTimeout ErrorKind = "startup_timeout" // no session within the startup deadline
	KindIdleTimeout    ErrorKind = "idle_timeout"    // the agent was silent for longer than the idle clock allows
	KindTimeout        ErrorKind = "timeout"         // the caller's deadline passed
	KindExit           ErrorKind = "exit"            // the process ended before it had answered
	KindTransport      ErrorKind = "transport"       // a pipe broke or was closed while the process lived on
	KindProtocol       ErrorKind = "protocol"        // the agent sent what the protocol does not allow
	KindVersion        ErrorKind = "version"         // the agent speaks another protocol version
	KindAuthRequired   ErrorKind = "auth_required"   // the agent wants an authentication that was not configured
	KindAgent          ErrorKind = "agent"           // the agent answered with an error: Code and Data
	KindRemoteLimit    ErrorKind = "remote_limit"    // the agent stopped at a limit of its own (max_turn_requests)
	KindTooLarge       ErrorKind = "too_large"       // a message was over MaxMessageBytes
	KindSchema         ErrorKind = "schema"          // the output does not match the schema that was asked for
	KindSessionLost    ErrorKind = "session_lost"    // a session to continue is not there any more
	KindLeftover       ErrorKind = "leftover"        // a process of the run could not be ended

	// KindCancelled is the kind of a start that the caller cancelled. In a result a
	// cancel is no error, so it is never in one.
	KindCancelled ErrorKind = "cancelled"
)

// Step is the part of a run in which something failed. The set is a contract.
type Step string

// The steps of a run, in their order.
const (
	StepConfig       Step = "config"
	StepSpawn        Step = "spawn"
	StepInitialize   Step = "initialize"
	StepAuthenticate Step = "authenticate"
	StepNewSession   Step = "session/new"
	StepPrompt       Step = "session/prompt"
	StepShutdown     Step = "shutdown"
)

// Error is the error of one step of an agent's life. It never holds the value of a
// held-back or secret variable: what the agent wrote is redacted before it gets here.
type Error struct {
	Kind ErrorKind
	Step Step
	// Message says what happened in one line, without repeating the step.
	Message string
	// Code and Data are those of the JSON-RPC error that the agent answered with;
	// nil where it did not.
	Code *int
	Data json.RawMessage
	// Exit is how the process ended, by itself or, after a start that failed, by our
	// ending it; nil while it lives and where none was started.
	Exit *Exit
	// StderrTail is the end of what the process wrote to stderr, redacted;
	// StderrTruncated says that something before it was cut off.
	StderrTail      string
	StderrTruncated bool
	// Noise is what the process wrote to stdout that was no frame, redacted.
	Noise Noise
	// WithheldEnv names the variables that were held back from the process. Where
	// one of them may be what the agent misses, the text of the error lists them.
	WithheldEnv []string
	// MissingEnv is Options.Hints where the process got none of them.
	MissingEnv []string
	// Command is the program and its arguments, Path the file that ran, empty where none
	// was found; both are redacted.
	Command []string
	Path    string
	// Err is the cause; nil where there is none to wrap.
	Err error
}

// Error is one line: the step, and Detail.
func (e *Error) Error() string { return string(e.Step) + ": " + e.Detail() }

// Detail is what happened, with whatever is known that helps to find the reason: how
// the process ended, the end of its stderr, what else it wrote to stdout, what it may
// miss in its environment, and what can be done about it.
func (e *Error) Detail() string {
	var b strings.Builder
	b.WriteString(e.Message)
	switch e.Kind {
	case KindConfig, KindCapability, KindCancelled:
		return b.String() // the process has nothing to do with it
	}
	if e.Kind == KindAgent && len(e.Data) > 0 {
		fmt.Fprintf(&b, "; its data: %s", clip(oneLine(string(e.Data)), quoteRoom))
	}
	if e.Exit != nil && e.Exit.Rung == RungExit {
		fmt.Fprintf(&b, "; the process ended with %s", e.Exit)
	}
	b.WriteString(stderrSays(e.StderrTail, e.Message))
	if len(e.Noise.First) > 0 {
		fmt.Fprintf(&b, "; lines of its stdout that are no ACP frames: %d, the first %q", e.Noise.Lines, clip(e.Noise.First[0], quoteRoom))
	}
	switch e.Kind {
	case KindExit, KindAuthRequired, KindAgent, KindStartupTimeout:
		if len(e.WithheldEnv) > 0 {
			fmt.Fprintf(&b, "; held back from its environment: %s", list(e.WithheldEnv))
		}
		if len(e.MissingEnv) > 0 && (e.Step != StepPrompt || e.Kind == KindAuthRequired) {
			fmt.Fprintf(&b, "; it is known to use %s and was given none of them", strings.Join(e.MissingEnv, " or "))
		}
	}
	if advice := e.advice(); advice != "" {
		b.WriteString("; " + advice)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// list joins names, not more of them than a message has room for.
func list(names []string) string {
	const room = 20
	if len(names) <= room {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:room], ", "), len(names)-room)
}

// What of the agent's own words fits into the message of an error, in bytes: of its
// message, and of what is quoted beside that.
const (
	messageRoom = 2000
	quoteRoom   = 300
)

// oneLine makes one line of text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip shortens s for use within a message.
func clip(s string, room int) string {
	s = shortenRuns(s)
	if len(s) <= room {
		return s
	}
	cut := room
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not within a character
		cut--
	}
	return s[:cut] + "…"
}

// shortenRuns leaves of a long run of one character its beginning and its length.
func shortenRuns(s string) string {
	const longest, left = 32, 4
	var b strings.Builder
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		n := 1
		for strings.HasPrefix(s[n*size:], s[:size]) {
			n++
		}
		if n > longest {
			fmt.Fprintf(&b, "%s… (%d times)", strings.Repeat(s[:size], left), n)
		} else {
			b.WriteString(s[:n*size])
		}
		s = s[n*size:]
	}
	return b.String()
}

// configError is for input that is refused before anything is started.
func configError(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Kind: KindConfig, Step: StepConfig, Message: err.Error()}
	if w, ok := err.(interface{ Unwrap() error }); ok {
		e.Err = w.Unwrap()
	}
	return e
}
