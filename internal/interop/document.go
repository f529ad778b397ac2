package main

import (
	"fmt"
	"slices"
	"strings"
)

const docFile = "docs/agents.md"

// document is docs/agents.md.
func document(reports []*report) string {
	var b strings.Builder
	b.WriteString(docHead)

	b.WriteString("## The agents\n\n| agent | package | version | kit | passed | MUST broken | else broken | not applicable |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range reports {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d | %d | %d |\n", r.agent.name, r.agent.title, r.version, r.kit,
			count(r.findings, "pass"), count(r.findings, "fail"), count(r.findings, "warn"), count(r.findings, "notApplicable"))
	}
	b.WriteString("\n")
	for _, r := range reports {
		if r.agent.note != "" {
			fmt.Fprintf(&b, "- %s: %s.\n", r.agent.name, r.agent.note)
		}
	}

	b.WriteString("\n" + docRuns + "| agent |")
	for _, c := range cases {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString(" process ended by |\n|---|" + strings.Repeat("---|", len(cases)+1) + "\n")
	for _, r := range reports {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.agent.name, strings.Join(r.cells, " | "), r.ended)
	}

	b.WriteString("\n" + docRules)
	for _, rule := range brokenRules(reports) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", rule.id, rule.level, cellText(rule.title), strings.Join(rule.agents, ", "))
	}
	return b.String()
}

// brokenRule is a rule that at least one agent does not keep.
type brokenRule struct {
	id, level, title string
	agents           []string
}

// brokenRules has them in the order of errand check.
func brokenRules(reports []*report) []*brokenRule {
	var rules []*brokenRule
	for _, r := range reports {
		for _, f := range r.findings {
			i := slices.IndexFunc(rules, func(known *brokenRule) bool { return known.id == f.Rule.ID })
			if i < 0 { // kept ones too, for the order
				i = len(rules)
				rules = append(rules, &brokenRule{id: f.Rule.ID, level: f.Rule.Level, title: f.Rule.Title})
			}
			if f.broken() {
				rules[i].agents = append(rules[i].agents, r.agent.name)
			}
		}
	}
	return slices.DeleteFunc(rules, func(rule *brokenRule) bool { return len(rule.agents) == 0 })
}

// cellText is text that ends no cell of a table.
func cellText(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const docHead = `# Agents that nobody here wrote

Made by ` + "`make interop`" + `. Do not edit.

It installs each agent as a lock file pins it, and drives it offline: an empty home directory, no way out to the
network, and for a model a server of ours on loopback that answers with fixed text, calls the tool it is asked to
call, counts slowly, or fails. What Errand guarantees was checked after every run and held: one result, the exit
status that goes with it, permissions answered as told, nothing left. What follows is what the agents do.

`

const docRuns = "## What a run sees\n\n" +
	"Each cell is one `errand run`: whether the agent asks before it writes a file, whether it writes it, and its stop\n" +
	"reason. *Cancel* is Ctrl-C: pending requests are then answered `cancelled`. The examples of the SDKs have no model\n" +
	"and write no file.\n\n"

const docRules = "## What `errand check` finds\n\n" +
	"[conformance.md](conformance.md) has every rule with its source. `must` and `should` are the specification's;\n" +
	"`manners` is what clients rely on though no text says so. Rules that none of these agents breaks are left out.\n\n" +
	"| rule | level | what an agent does that keeps it | broken by |\n|---|---|---|---|\n"
