package conform

import (
	"fmt"

	"github.com/errand-acp/errand/client/transcript"
)

// outcome is what one recording shows of a rule: that it was kept or broken, or that it
// was not tried.
type outcome struct {
	verdict Verdict // Pass, Fail or NotApplicable; a rule's level makes a Warn of a Fail
	why     string
	entries []transcript.Entry
}

// kept says that the rule was kept, and shows it. Without entries there is no evidence,
// and nothing passes.
func kept(why string, entries ...transcript.Entry) outcome {
	if len(entries) == 0 {
		return untried("nothing shows it: " + why)
	}
	return outcome{Pass, why, entries}
}

// broken says that the rule was broken, how, and shows it.
func broken(why string, entries ...transcript.Entry) outcome {
	return outcome{Fail, why, entries}
}

// brokenf is broken with a formatted text.
func brokenf(entries []transcript.Entry, format string, args ...any) outcome {
	return outcome{Fail, fmt.Sprintf(format, args...), entries}
}

// untried says why nothing can be said of the rule.
func untried(why string) outcome { return outcome{verdict: NotApplicable, why: why} }

// weight orders outcomes: the heaviest of several counts.
func (o outcome) weight() int {
	switch o.verdict {
	case Fail:
		return 3
	case Pass:
		return 1
	}
	return 0
}

// elsewhere is the weight of what another rule tells: it is not kept.
const elsewhere = 2
