package replay

import (
	"maps"
	"regexp"
	"strings"

	"github.com/errand-acp/errand/internal/redact"
)

// names are those that the rules of transcript.Normalize have put into a recording, for
// what differs from run to run. Where one is all of a string it may be anything; within one
// only those are that nobody else would write.
type names struct {
	given  map[string]bool // by the rules Path and Field
	whole  *regexp.Regexp  // those of the other rules; nil for none
	within *regexp.Regexp  // in a longer string, and what stands for a secret
}

// ruleNames are the names that the rules which have no argument put in.
var ruleNames = map[string]string{
	"ids":      `\$(?:client|agent|session|call|message|terminal|elicitation)-[0-9]+\b`,
	"times":    `\$time\b`,
	"versions": `\$version\b`,
}

var givenName = regexp.MustCompile(`^\$[A-Za-z][A-Za-z0-9_-]*$`)

// newNames returns those of a header that says what has been normalized.
func newNames(normalized []string) names {
	n := names{given: map[string]bool{}}
	var rules []string
	for _, what := range normalized {
		switch {
		case ruleNames[what] != "":
			rules = append(rules, ruleNames[what])
		case givenName.MatchString(what):
			n.given[what] = true
		}
		if what == "ids" {
			n.given["$run"] = true
		}
	}
	if rules != nil {
		n.whole = regexp.MustCompile(`^(?:` + strings.Join(rules, "|") + `)$`)
	}
	n.within = regexp.MustCompile(strings.Join(append(rules, regexp.QuoteMeta(redact.Mark)), "|"))
	return n
}

// are reports whether there are any.
func (n names) are() bool { return n.whole != nil || len(n.given) > 0 }

// has reports whether text is one.
func (n names) has(text string) bool {
	return strings.HasPrefix(text, "$") && (n.given[text] || n.whole != nil && n.whole.MatchString(text))
}

// in returns those that are strings in a frame.
func (n names) in(frame []byte) map[string]bool {
	if !n.are() {
		return nil
	}
	found := map[string]bool{}
	rewrite(frame, func(member, said string) string {
		if n.has(said) {
			found[said] = true
		}
		return said
	})
	return found
}

// calls is what the parent calls the things that it has named.
type calls map[thing]string

// thing is what was named: in which session, empty for any, of which kind, and how it was
// recorded.
type thing struct{ session, kind, recorded string }

// note notes a name. Another session may have a thing of the same name, so that it is
// only for want of a better one that of all.
func (c calls) note(session, kind, recorded, live string) {
	if recorded != "" && live != "" {
		c[thing{session, kind, recorded}] = live
		c[thing{"", kind, recorded}] = live
	}
}

// live returns what a thing is called now.
func (c calls) live(session, kind, recorded string) string {
	for _, of := range []string{session, ""} {
		if live := c[thing{of, kind, recorded}]; live != "" {
			return live
		}
	}
	return recorded
}

// clone returns a copy that can be changed.
func (c calls) clone() calls { return maps.Clone(c) }

var idMember = regexp.MustCompile(`([A-Za-z][a-z]*)_?(?:Id|ID|id)$`)

// kindOf returns of what a member says the id: "terminal" for terminalId and terminal_id,
// "message" for messageId and userMessageId; empty if it says none.
func kindOf(member string) string {
	if len(member) > 64 || !strings.HasSuffix(member, "d") && !strings.HasSuffix(member, "D") {
		return ""
	}
	if m := idMember.FindStringSubmatch(member); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}
