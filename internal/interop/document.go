package main

import (
	"fmt"
	"strings"

	"github.com/errand-acp/errand/internal/conform"
)

const docFile = "docs/agents.md"

// document is docs/agents.md. The reports are by the agents' names.
func document(reports map[string]*report) string {
	var driven []agent
	for _, a := range agents {
		if reports[a.name] != nil {
			driven = append(driven, a)
		}
	}
	var b strings.Builder
	b.WriteString(docHead)
	for _, a := range driven {
		r := reports[a.name]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d | %d | %d |\n", a.name, a.title, r.Version, r.Kit,
			r.count(conform.Pass), r.count(conform.Fail), r.count(conform.Warn), r.count(conform.NotApplicable))
	}
	b.WriteString("\n")
	for _, a := range driven {
		if a.note != "" {
			fmt.Fprintf(&b, "- %s: %s.\n", a.name, a.note)
		}
	}

	b.WriteString("\n" + docRuns + "| agent |")
	for _, c := range cases {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString(" process ended by |\n|---|" + strings.Repeat("---|", len(cases)+1) + "\n")
	for _, a := range driven {
		b.WriteString("| " + a.name + " |")
		for _, c := range cases {
			b.WriteString(" " + reports[a.name].Cases[c.title] + " |")
		}
		b.WriteString(" " + reports[a.name].Ended + " |\n")
	}

	b.WriteString("\n" + docRules)
	for _, rule := range conform.Rules() {
		if by := brokenBy(rule.ID, driven, reports); len(by) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", rule.ID, rule.Level, cellText(rule.Title), strings.Join(by, ", "))
		}
	}
	return b.String()
}

// brokenBy names the agents that do not keep a rule.
func brokenBy(id string, driven []agent, reports map[string]*report) (names []string) {
	for _, a := range driven {
		if broken(reports[a.name].Verdicts[id]) {
			names = append(names, a.name)
		}
	}
	return names
}

// cellText is text that ends no cell of a table.
func cellText(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const docHead = `# Agents that nobody here wrote

Made by ` + "`make interop`" + `. Do not edit.

It installs each agent as a lock file pins it, and drives it offline: an empty home directory, no way out to the
network, and for a model a server of ours on loopback that answers with fixed text, calls the tool it is asked to
call, counts slowly, or fails. What Errand guarantees was checked after every run and held: one result, the exit
status that goes with it, permissions answered as told, nothing left. What follows is what the agents do.

## The agents

*Kit* is a conversation through client/acptest; the rest counts the rules of ` + "`errand check`" + `.

| agent | package | version | kit | passed | MUST broken | else broken | not applicable |
|---|---|---|---|---|---|---|---|
`

const docRuns = "## What a run sees\n\n" +
	"Each cell is one `errand run`: whether the agent asks before it writes a file, whether it writes it, and its stop\n" +
	"reason. *Cancel* is Ctrl-C: pending requests are then answered `cancelled`. The examples of the SDKs have no model\n" +
	"and write no file.\n\n"

const docRules = "## What `errand check` finds\n\n" +
	"[conformance.md](conformance.md) has every rule with its source. `must` and `should` are the specification's;\n" +
	"`manners` is what clients rely on though no text says so. Rules that none of these agents breaks are left out.\n" +
	"Signals go to the process that was started, which for some is a launcher. The model names the file to write as the\n" +
	"prompt does, by a relative path: `tool-call-path` is what an agent makes of that.\n\n" +
	"| rule | level | what an agent does that keeps it | broken by |\n|---|---|---|---|\n"
