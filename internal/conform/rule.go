package conform

import (
	"slices"
)

// Level is how binding a rule is.
type Level string

const (
	Must    Level = "must"    // the text says MUST, MUST NOT or REQUIRED
	Should  Level = "should"  // the text says SHOULD or SHOULD NOT
	Manners Level = "manners" // no text says so, but clients rely on it
)

// Verdict is what came of a rule.
type Verdict string

const (
	Pass          Verdict = "pass"          // it was tried, and kept
	Fail          Verdict = "fail"          // a MUST was broken
	Warn          Verdict = "warn"          // anything else was broken
	NotApplicable Verdict = "notApplicable" // it could not be tried
)

// A Rule is one thing that the protocol, or good manners, demand of an agent.
type Rule struct {
	// ID is the rule's name: words with hyphens between them. It never changes.
	ID string `json:"id"`
	// Title says in a few words what an agent does that keeps it.
	Title string `json:"title"`
	Level Level  `json:"level"`
	// Quote is the text that demands it, word by word; for Manners why it matters.
	Quote string `json:"quote"`
	// Source is where the quote stands: an address with the section, or a place in the
	// protocol's schema.json; empty for Manners.
	Source string `json:"source"`

	scenes []string // whose recordings it judges; none: all
	// judge says what a recording shows. The worst of what several show counts. It is a
	// pure function and takes whatever an agent can write.
	judge func(r *recording) outcome
}

// Rules returns every rule, in the order of a report. The caller may change what it gets.
func Rules() []Rule {
	return slices.Concat(
		initializeRules,
		authRules,
		sessionRules,
		wireRules,
		processRules,
		promptRules,
		updateRules,
		toolCallRules,
		permissionRules,
		cancelRules,
		clientRules,
	)
}

// in reports whether the rule judges the scene.
func (r Rule) in(scene string) bool {
	return len(r.scenes) == 0 || slices.Contains(r.scenes, scene)
}
