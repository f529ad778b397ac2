package main

import (
	"fmt"
	"slices"

	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// undecided are the rules of requests that no policy had a say in: the turn was
// cancelled, or the agent did not wait for the answer.
var undecided = []string{"turn cancelled", "withdrawn by the agent", "connection ended", "the turn is over"}

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
