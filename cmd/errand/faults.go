package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// undecided are the rules of requests that no policy had a say in: the turn was
// cancelled, or the agent did not wait for the answer.
var undecided = []string{"turn cancelled", "withdrawn by the agent", "connection ended", "the turn is over"}

// faults says, a text each, why a run is to count as failed though it may have completed.
// They are among the warnings of the result, or to be.
func (f *runFlags) faults(res *subagent.Result) []string {
	var texts []string
	if denied := failedOnDenied(res); f.failOnDenied && denied != "" {
		texts = append(texts, denied)
	}
	for _, w := range res.Warnings {
		if f.auditSet && strings.HasPrefix(w, auditIncomplete) {
			texts = append(texts, w)
		}
	}
	return texts
}

// fault shows one, with --quiet too, unless it was shown as a warning.
func (s *screen) fault(text string) {
	s.mu.Lock()
	said := s.warned[text] && !s.quiet
	s.mu.Unlock()
	if !said {
		s.note(text)
	}
}

// failedOnDenied says that a policy gave the agent less than it asked for; else it is
// empty.
func failedOnDenied(res *subagent.Result) string {
	n := 0
	for _, p := range res.Permissions {
		if p.Decision != permission.Allowed && !slices.Contains(undecided, p.Rule) {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "a permission request was denied, which --fail-on-denied makes an error"
	}
	return fmt.Sprintf("%d permission requests were denied, which --fail-on-denied makes an error", n)
}
