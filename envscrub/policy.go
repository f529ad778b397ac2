package envscrub

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// A Mode says what happens to a variable that the policy does not name.
type Mode int

const (
	// Default passes everything on but what the rules hold back.
	Default Mode = iota
	// Strict passes on only a short list of variables that ordinary programs need
	// (PATH, HOME, locale, time zone, temporary and XDG directories, proxy and CA
	// variables, what Windows needs), and of those only what the rules do not hold back.
	Strict
	// None passes everything on. What the rules would have held back is listed in
	// [Report.Exposed], so that the caller can say it out loud.
	None
)

// String returns the mode's name in lower case.
func (m Mode) String() string {
	switch m {
	case Default:
		return "default"
	case Strict:
		return "strict"
	case None:
		return "none"
	}
	return fmt.Sprintf("mode(%d)", int(m))
}

// A Policy says which variables pass. The zero value is the default policy.
type Policy struct {
	// Mode is for the variables that Pass and Drop do not name.
	Mode Mode
	// Pass names exceptions: variables that pass unchanged whatever the rules say. An
	// element is a name or a glob in the syntax of [path.Match], except that * and ?
	// match a slash too.
	Pass []string
	// Drop names variables that are held back, in every mode. It wins over Pass.
	Drop []string
	// Set holds explicit entries, KEY=VALUE. They come after the scrubbed environment,
	// replace what it has under the same name, and are never held back. Of several with
	// one name the last wins. [Scrub] skips a malformed one; Validate reports it.
	Set []string
}

// A PolicyError says which entry of a [Policy] is malformed. Its text never holds a
// value: an entry without a name that can be shown is given by position.
type PolicyError struct {
	// Field is "Mode", "Pass", "Drop" or "Set".
	Field string
	// Index is the entry's position in the field, from 0.
	Index int
	// Name is the entry's variable name or pattern; empty where it has none, or where
	// it cannot be told from a value.
	Name string
	// Err is the reason.
	Err error
}

// Error names the field, the position and, if it can be shown, the name.
func (e *PolicyError) Error() string {
	where := e.Field
	if e.Field != "Mode" {
		where = fmt.Sprintf("%s[%d]", e.Field, e.Index)
	}
	if e.Name != "" {
		where += fmt.Sprintf(" (%q)", e.Name)
	}
	return fmt.Sprintf("environment policy: %s: %v", where, e.Err)
}

// Unwrap returns the reason.
func (e *PolicyError) Unwrap() error { return e.Err }

var (
	errMode     = errors.New("unknown mode")
	errNoEquals = errors.New(`no "=" in it; want KEY=VALUE`)
	errNoName   = errors.New(`no name before "="`)
	errNUL      = errors.New("it holds a NUL byte")
	errEmpty    = errors.New("it is empty")
	errEquals   = errors.New(`a name or pattern cannot hold "="`)
)

// Validate reports the first entry that [Scrub] could not heed, as a *[PolicyError].
func (p Policy) Validate() error {
	if p.Mode < Default || p.Mode > None {
		return &PolicyError{Field: "Mode", Err: errMode}
	}
	for i, pattern := range p.Pass {
		if err := checkPattern(pattern); err != nil {
			return &PolicyError{"Pass", i, showable(pattern), err}
		}
	}
	for i, pattern := range p.Drop {
		if err := checkPattern(pattern); err != nil {
			return &PolicyError{"Drop", i, showable(pattern), err}
		}
	}
	for i, entry := range p.Set {
		if err := checkEntry(entry); err != nil {
			return &PolicyError{"Set", i, showable(entry), err}
		}
	}
	return nil
}

func checkEntry(entry string) error {
	name, _, ok := strings.Cut(entry, "=")
	switch {
	case !ok:
		return errNoEquals
	case name == "":
		return errNoName
	case strings.ContainsRune(entry, 0):
		return errNUL
	}
	return nil
}

func checkPattern(pattern string) error {
	switch {
	case pattern == "":
		return errEmpty
	case strings.ContainsRune(pattern, 0):
		return errNUL
	case strings.Contains(pattern, "="):
		return errEquals
	}
	_, err := path.Match(pattern, "")
	return err
}

// showable returns the name part of a malformed entry if an error may show it: a
// secret pasted in a name's place must not come out in a message.
func showable(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	const longest = 64
	if len(name) > longest || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	if findSecret(name) != "" || opaque(name) {
		return ""
	}
	return name
}

// patterns is a list of names and globs. With fold, case does not count.
type patterns struct {
	list []string
	fold bool
}

func (p patterns) match(name string) bool {
	name = globText(name, p.fold)
	for _, pattern := range p.list {
		if ok, _ := path.Match(globText(pattern, p.fold), name); ok {
			return true
		}
	}
	return false
}

// globText takes away path.Match's one opinion about names: that a slash is special.
// npm's variables have slashes in their names.
func globText(s string, fold bool) string {
	if fold {
		s = strings.ToUpper(s)
	}
	return strings.ReplaceAll(s, "/", "\x00")
}
