package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/proc"
)

const (
	// maxList bounds what is read of a command that lists something, in bytes.
	maxList = 64 << 20
	// maxStderr is how much of a command's complaints is kept, in bytes.
	maxStderr = 4 << 10
	// pipeGrace is how long the pipes of a command are waited for that has ended.
	pipeGrace = 5 * time.Second
)

// git is the program, and where it works if nothing else is said.
type git struct {
	path string
	env  []string
	dir  string
}

// own is what is set for every command: nothing is asked, fetched, replaced or locked
// that need not be, and messages are those that are looked for here.
var own = []string{
	"LC_ALL=C", "LANGUAGE=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
	"GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_ATTR_NOSYSTEM=1", "GIT_DEFAULT_REF_FORMAT=files",
}

// noConfig hides the user's configuration and the system's.
var noConfig = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}

// newGit finds git in this process's PATH.
func newGit(ctx context.Context, dir string) (*git, error) {
	env, _ := envscrub.Scrub(os.Environ(), envscrub.Policy{})
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(strings.ToUpper(v), "GIT_") })
	path, err := proc.LookPath("git", env)
	if err != nil {
		return nil, refuse("a work tree needs git: %w", err)
	}
	g := &git{path: path, env: append(env, own...), dir: dir}
	out, err := g.run(ctx, call{args: []string{"version"}})
	if err != nil {
		return nil, err
	}
	version := strings.TrimSpace(string(out))
	if !recent(version) {
		return nil, refuse("a work tree needs git 2.32 or later (%s is %q)", path, version)
	}
	return g, nil
}

// recent reports whether that version of git can be kept from reading the user's
// configuration (GIT_CONFIG_GLOBAL).
func recent(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "git version %d.%d", &major, &minor)
	return err == nil && (major > 2 || major == 2 && minor >= 32)
}

// call is one command.
type call struct {
	args  []string
	dir   string // where it works; empty: as git has it
	stdin io.Reader
	limit int // of its output, in bytes; 0: maxList
	// config lets it see the user's configuration and the system's, for the commands
	// that read a setting and do nothing else.
	config bool
	// complaints, if set, gets what a command that succeeded has written to stderr.
	complaints *string
}

// run runs a command and returns its output. The error is a *commandError if the command
// fails, ErrTooLarge if its output is over the limit, or wraps ctx's.
func (g *git) run(ctx context.Context, c call) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.path, c.args...)
	cmd.Env = g.env
	if !c.config {
		cmd.Env = append(slices.Clip(g.env), noConfig...)
	}
	if cmd.Dir = c.dir; c.dir == "" {
		cmd.Dir = g.dir
	}
	limit := c.limit
	if limit == 0 {
		limit = maxList
	}
	out, stderr := &bounded{limit: limit}, &bounded{limit: maxStderr, drop: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, out, stderr
	cmd.WaitDelay = pipeGrace
	ownGroup(cmd)
	err := cmd.Run()
	switch {
	case out.over:
		return out.text, ErrTooLarge
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", c.name(), context.Cause(ctx))
	case err != nil:
		return nil, &commandError{name: c.name(), stderr: strings.TrimSpace(string(stderr.text)), err: err}
	}
	if c.complaints != nil {
		*c.complaints = strings.TrimSpace(string(stderr.text))
	}
	return out.text, nil
}

// name is the command's, without the options before it.
func (c call) name() string {
	for _, arg := range c.args {
		if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") {
			return arg
		}
	}
	return ""
}

// commandError is a command that failed.
type commandError struct {
	name   string
	stderr string
	err    error
}

func (e *commandError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", e.name, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.name, e.stderr)
}

func (e *commandError) Unwrap() error { return e.err }

// failed returns err as that of a command that ended with this status, nil if it is
// another one.
func failed(err error, code int) *commandError {
	e, ok := errors.AsType[*commandError](err)
	if !ok {
		return nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](e.err); !ok || exit.ExitCode() != code {
		return nil
	}
	return e
}

// bounded keeps what is written up to a limit. What is over it is dropped, or an error,
// which ends the command.
type bounded struct {
	limit int
	drop  bool
	text  []byte
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - len(b.text)
	if len(p) <= room {
		b.text = append(b.text, p...)
		return len(p), nil
	}
	b.text = append(b.text, p[:room]...)
	if b.drop {
		return len(p), nil
	}
	b.over = true
	return room, ErrTooLarge
}

// lines splits what a command has written into its lines; list into what ended with NUL.
func lines(out []byte) []string { return split(out, "\n") }
func list(out []byte) []string  { return split(out, "\x00") }

func split(out []byte, end string) []string {
	text := strings.TrimSuffix(string(out), end)
	if text == "" {
		return nil
	}
	return strings.Split(text, end)
}
