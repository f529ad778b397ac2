package subagent

import (
	"testing"

	"github.com/errand-acp/errand/internal/check"
)

// What a run can do beyond the methods of a Run is found through what is around it.
func TestRunAs(t *testing.T) {
	type discards = interface{ discardUpdates() }
	inner := newRun(t.Context(), "p", Request{})
	for _, r := range []Run{inner, &limitedRun{Run: inner}, &limitedRun{Run: &limitedRun{Run: inner}}} {
		as, ok := runAs[discards](r)
		check.Equal(t, "found", ok, true)
		check.Equal(t, "it", as, discards(inner))
	}
	_, ok := runAs[discards](&limitedRun{Run: struct{ Run }{inner}})
	check.Equal(t, "found within what does not say what it is around", ok, false)
}
