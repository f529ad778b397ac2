package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/errand-acp/errand/envscrub"
)

// Command says which program to start as an agent and with what, in the words of
// os/exec. It is never run through a shell, and arguments are literal.
type Command struct {
	// Path is the program. With a slash in it, it is a file, and a relative one is
	// relative to this process's directory, not to Dir. Without one it is looked up
	// in the PATH that the child will have; relative and empty elements of that are
	// skipped.
	Path string
	// Args are the arguments, the program's name not among them.
	Args []string
	// Dir is the directory of the process and, unless a session says otherwise, of
	// its sessions: absolute, and one that can be entered. Symlinks in it are
	// resolved once.
	Dir string
	// Env holds KEY=VALUE entries for the child. They reach it whatever they are,
	// and win over what is inherited.
	Env []string
	// Inherit says what of this process's environment the child gets beside Env.
	// The zero value passes everything on that does not look like a credential.
	Inherit envscrub.Policy
	// Paths translate between our paths and those of an agent that lives in another world
	// of them (a container, WSL, ssh): a session's directory on its way there; locations,
	// files and directories that the agent names on their way back, before a policy sees
	// them. "{dir}" in Args becomes the process's directory as the agent sees it. A
	// directory that has no place there is refused before anything is started. None means
	// that both sides see the same.
	Paths []PathPair
}

// Graces are how long the rungs of the shutdown ladder wait before the next one. A
// field that is zero means the default named at it. A cooperative agent costs none
// of the waits.
type Graces struct {
	// Cancel is the wait for the agent's own answer to a turn that was cancelled;
	// 3 s.
	Cancel time.Duration `json:"cancel"`
	// Close is the wait for the answer to session/close, where the agent advertises
	// that; 1 s.
	Close time.Duration `json:"close"`
	// EOF is the wait for the whole process group to go once stdin is closed; 6 s.
	EOF time.Duration `json:"eof"`
	// Term is the same after SIGTERM; 3 s.
	Term time.Duration `json:"term"`
	// Kill is the same after SIGKILL; 2 s. What is still there then is reported.
	Kill time.Duration `json:"kill"`
}

// DefaultGraces are the waits where Graces does not say.
var DefaultGraces = Graces{
	Cancel: 3 * time.Second,
	Close:  time.Second,
	EOF:    6 * time.Second,
	Term:   3 * time.Second,
	Kill:   2 * time.Second,
}

// maxDuration is the longest wait that is taken for meant. Anything beyond it is a
// slip of the unit.
const maxDuration = 24 * time.Hour

// CheckDuration returns an error of kind config that names the field if d cannot be
// used as a wait: if it is negative or longer than a day. Zero passes, it means the
// default.
func CheckDuration(field string, d time.Duration) error {
	if d < 0 || d > maxDuration {
		return configError("%s: %v is outside the usable range (more than 0, at most %v)", field, d, maxDuration)
	}
	return nil
}

// Validate returns an error that names the first field outside the usable range.
func (g Graces) Validate() error {
	for _, f := range g.fields() {
		if err := CheckDuration("Graces."+f.name, *f.value); err != nil {
			return err
		}
	}
	return nil
}

// withDefaults fills in what is not set.
func (g Graces) withDefaults() Graces {
	def := DefaultGraces.fields()
	for i, f := range g.fields() {
		if *f.value == 0 {
			*f.value = *def[i].value
		}
	}
	return g
}

type graceField struct {
	name  string
	value *time.Duration
}

func (g *Graces) fields() []graceField {
	return []graceField{{"Cancel", &g.Cancel}, {"Close", &g.Close}, {"EOF", &g.EOF}, {"Term", &g.Term}, {"Kill", &g.Kill}}
}

// Validate returns an error of kind config that names the field if c could not be
// started whatever the directory: it does not look at the file system.
func (c Command) Validate() error {
	if c.Path == "" {
		return configError("Command.Path is empty")
	}
	if strings.ContainsRune(c.Path, 0) {
		return configError("Command.Path holds a NUL byte: %q", c.Path)
	}
	for i, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			// Only its position: an argument may be a secret.
			return configError("Command.Args[%d] holds a NUL byte", i)
		}
	}
	if err := c.Inherit.Validate(); err != nil {
		return configError("Command.Inherit: %w", err)
	}
	if bad, ok := errors.AsType[*envscrub.PolicyError](envscrub.Policy{Set: c.Env}.Validate()); ok {
		field := fmt.Sprintf("Command.Env[%d]", bad.Index)
		if bad.Name != "" {
			field += fmt.Sprintf(" (%q)", bad.Name)
		}
		return configError("%s: %w", field, bad.Err)
	}
	return nil
}
