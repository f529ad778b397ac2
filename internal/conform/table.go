package conform

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/visible"
)

// Table is the report for people: a line for each rule, and below them what is wrong, with
// the rule's text and the frames. What the agent wrote has control characters and the like
// made visible.
func (r *Report) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", short(visible.Line(r.title()), shownText))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		what := f.Rule.Title
		if f.Verdict != Pass {
			what = short(visible.Line(f.Why), 160)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Verdict.word(), f.Rule.Level, f.Rule.ID, what)
	}
	t.Flush()
	for _, f := range r.Findings {
		if f.Verdict == Fail || f.Verdict == Warn {
			fmt.Fprintf(&b, "\n%s\n", f.Text())
		}
	}
	b.WriteString(r.stops())
	fmt.Fprintf(&b, "\n%s\n", r.Counts)
	if r.Incomplete != "" {
		fmt.Fprintf(&b, "incomplete: %s\n", short(visible.Line(r.Incomplete), shownText))
	}
	return b.String()
}

// shownText is how much of a text a table shows, in bytes.
const shownText = 1000

// title says which agent was tried.
func (r *Report) title() string {
	text := strings.Join(r.Command, " ")
	if r.Agent != nil {
		text = strings.TrimSpace(r.Agent.Name+" "+r.Agent.Version) + ": " + text
	}
	return text
}

// stops says which scenes were not played to their ends, and why, each reason once.
func (r *Report) stops() string {
	var b strings.Builder
	scenes := map[string][]string{}
	ends := map[string][]transcript.Entry{}
	var reasons []string
	for _, s := range r.Scenes {
		if s.Stopped == "" {
			continue
		}
		if scenes[s.Stopped] == nil {
			reasons = append(reasons, s.Stopped)
		}
		scenes[s.Stopped] = append(scenes[s.Stopped], s.Name)
		if s.died && ends[s.Stopped] == nil {
			ends[s.Stopped] = s.Entries
		}
	}
	for _, reason := range reasons {
		fmt.Fprintf(&b, "\nnot played to the end: %s: %s\n%s", strings.Join(scenes[reason], ", "), short(visible.Line(reason), shownText), conversation(ends[reason]))
	}
	return b.String()
}

// word is how a verdict stands in a table.
func (v Verdict) word() string {
	switch v {
	case Fail:
		return "FAIL"
	case NotApplicable:
		return "n/a"
	}
	return string(v)
}

// String is one line: "12 passed, 1 failed, 2 warnings, 3 not applicable".
func (c Counts) String() string {
	warnings := "warnings"
	if c.Warn == 1 {
		warnings = "warning"
	}
	return fmt.Sprintf("%d passed, %d failed, %d %s, %d not applicable", c.Pass, c.Fail, c.Warn, warnings, c.NotApplicable)
}

// Text tells a finding in full: what was seen, what the rule says, and the frames that
// show it, with control characters and the like made visible.
func (f Finding) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", f.Verdict.word(), f.Rule.ID, short(visible.Line(f.Why), shownText))
	fmt.Fprintf(&b, "  %s: %s\n", f.Rule.Level, f.Rule.Quote)
	if f.Rule.Source != "" {
		fmt.Fprintf(&b, "  %s\n", f.Rule.Source)
	}
	b.WriteString(f.Conversation())
	return strings.TrimSuffix(b.String(), "\n")
}

// Conversation shows the entries of a finding to people, a line each.
func (f Finding) Conversation() string { return conversation(f.Entries) }

func conversation(entries []transcript.Entry) string {
	if len(entries) == 0 {
		return ""
	}
	text := (&transcript.Transcript{Entries: entries}).String()
	_, text, _ = strings.Cut(text, "\n") // its first line is about a run
	return text
}
