package envscrub

import (
	"slices"
	"strings"
)

// A Finding is a variable's name and the rule that spoke about it. It never holds a
// value.
type Finding struct {
	// Name is the variable's name as the environment spells it.
	Name string
	// Rule is the [Rule.Name] of the rule.
	Rule string
}

// A Report says what [Scrub] did. It holds names and never a value. Each list is
// sorted by name and has a name at most once.
type Report struct {
	// Mode is the policy's.
	Mode Mode
	// Held lists what was held back.
	Held []Finding
	// Changed lists what was passed on changed: a proxy's URL that lost its password.
	Changed []Finding
	// Exposed lists what the rules call a credential and what was passed on all the
	// same, because Pass names it or because the mode is None. Explicit entries are not
	// in it.
	Exposed []Finding
	// Malformed counts the entries that were left out because they have no name, no "="
	// or a NUL byte.
	Malformed int
}

// Withheld returns the names of what was held back, sorted; never nil, so that it is
// a list in JSON.
func (r Report) Withheld() []string {
	names := make([]string, 0, len(r.Held))
	for _, f := range r.Held {
		names = append(names, f.Name)
	}
	return names
}

func (r *Report) sort() {
	for _, list := range [][]Finding{r.Held, r.Changed, r.Exposed} {
		slices.SortFunc(list, func(a, b Finding) int { return strings.Compare(a.Name, b.Name) })
	}
}
