package conform

import (
	"cmp"
	"fmt"
)

// incomplete says why a report is no success whatever its findings; empty: it is complete.
func incomplete(report *Report, all []*played) string {
	untried, why := 0, ""
	for _, f := range report.Findings {
		if reason := f.shutOut(all); reason != "" {
			untried++
			why = cmp.Or(why, reason)
		}
	}
	switch {
	case len(report.Findings) > 0 && report.Tried == 0:
		return "none of the rules that were chosen could be tried: " + cmp.Or(why, report.Findings[0].Why)
	case untried > 0:
		return fmt.Sprintf("%d of %d rules could not be tried: %s", untried, len(report.Findings), why)
	}
	return ""
}

// shutOut says, of a rule that could not be tried, why the agent let nobody in where it
// would have been; empty: it did.
func (f Finding) shutOut(all []*played) string {
	if f.Verdict != NotApplicable {
		return ""
	}
	for _, p := range all {
		// Of a rule that judges whatever comes, the scene that the finding is from counts.
		if f.Rule.in(p.report.Name) && (len(f.Rule.scenes) > 0 || f.Scene == p.report.Name) && p.shut != "" {
			return p.shut
		}
	}
	return ""
}

// shut says why nobody was let in in this scene: there was no session, or none that can be
// prompted without a login. Empty: somebody was.
func (r *recording) shut() string {
	if r.barred {
		return r.stopped
	}
	for _, t := range r.turns() {
		if t.answered && isLogin(t.answer) {
			return "the agent answered session/prompt with an error: " + errorText(t.answer.Error) + r.loginHint(t.answer)
		}
	}
	return ""
}
