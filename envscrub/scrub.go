package envscrub

import (
	"runtime"
	"slices"
	"strings"
)

// Scrub returns what of environ a child may see under the policy, followed by the
// policy's explicit entries, and a report of what was held back.
//
// The order of environ is kept. Of several entries with one name the last counts, at
// its place. Names are compared without case on Windows. Malformed entries are left
// out and counted. Scrub changes neither argument, and scrubbing its result again
// changes nothing.
func Scrub(environ []string, p Policy) ([]string, Report) {
	return scrub(environ, p, runtime.GOOS == "windows")
}

// Secret says whether a variable holds a credential, by its name or by its value, and
// if so the rule that says it. It is the question for one explicit variable, which is
// always passed on but must not be shown. Variables that are held back for another
// reason (a host session's marker, a loader variable) are no secrets.
func Secret(name, value string) (rule string, secret bool) {
	if rule = nameRule(name, value); rule == "" {
		rule = findSecret(value)
	}
	return rule, rule != ""
}

// Secrets returns the values that must not be shown in what a run reports: of every
// entry of environ and of the policy's Set that [Secret] calls one, held back or not,
// and of what Drop names. Where a value only carries secrets, as a URL carries its
// password, they come after it. Each is there once, in the order of the entries; short
// ones too.
func Secrets(environ []string, p Policy) []string {
	return secrets(environ, p, runtime.GOOS == "windows")
}

func secrets(environ []string, p Policy, windows bool) []string {
	drop := patterns{p.Drop, windows}
	var list []string
	seen := map[string]bool{"": true}
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	for _, entries := range [][]string{environ, p.Set} {
		for _, entry := range entries {
			v, ok := parse(entry, windows)
			if !ok {
				continue
			}
			byValue := findSecret(v.value) != ""
			if byValue || nameRule(v.name, v.value) != "" || drop.match(v.name) {
				add(v.value)
			}
			if byValue {
				for _, part := range credentials(v.value) {
					add(part)
				}
			}
		}
	}
	return list
}

func scrub(environ []string, p Policy, windows bool) ([]string, Report) {
	vars, malformed := effective(environ, windows)
	explicit, _ := effective(p.Set, windows)
	replaced := make(map[string]bool, len(explicit))
	for _, v := range explicit {
		replaced[nameKey(v.name, windows)] = true
	}
	vars = slices.DeleteFunc(vars, func(v variable) bool { return replaced[nameKey(v.name, windows)] })

	j := judge{p.Mode, patterns{p.Pass, windows}, patterns{p.Drop, windows}}
	verdicts := make([]verdict, len(vars))
	gitConfig := "" // why a value of git's configuration is held back, if one is
	for i, v := range vars {
		verdicts[i] = j.judge(v)
		if verdicts[i].act == hold && strings.HasPrefix(v.name, "GIT_CONFIG_VALUE_") {
			gitConfig = verdicts[i].rule
		}
	}

	report := Report{Mode: p.Mode, Malformed: malformed}
	out := make([]string, 0, len(vars)+len(explicit))
	for i, v := range vars {
		d := verdicts[i]
		if v.name == "GIT_CONFIG_COUNT" && gitConfig != "" {
			// Git refuses to run at all where the count promises a value that is missing.
			d = verdict{act: hold, rule: gitConfig}
		}
		switch d.act {
		case hold:
			report.Held = append(report.Held, Finding{v.name, d.rule})
			continue
		case change:
			report.Changed = append(report.Changed, Finding{v.name, d.rule})
			v.entry = v.name + "=" + d.value
		case expose:
			report.Exposed = append(report.Exposed, Finding{v.name, d.rule})
		}
		out = append(out, v.entry)
	}
	for _, v := range explicit {
		out = append(out, v.entry)
	}
	report.sort()
	return out, report
}

// An action is what happens to one variable.
type action int

const (
	keep   action = iota
	hold          // it does not pass
	change        // it passes with another value
	expose        // it passes although it holds a credential
)

type verdict struct {
	act  action
	rule string
	// value is the new value where the variable is changed.
	value string
}

// A judge decides about one variable at a time.
type judge struct {
	mode       Mode
	pass, drop patterns
}

func (j judge) judge(v variable) verdict {
	if j.drop.match(v.name) {
		return verdict{act: hold, rule: ruleDrop}
	}
	if j.mode == None || j.pass.match(v.name) {
		if rule, secret := Secret(v.name, v.value); secret {
			return verdict{act: expose, rule: rule}
		}
		return verdict{}
	}
	name := strings.ToUpper(v.name)
	switch {
	case hostNames.match(name):
		return verdict{act: hold, rule: ruleHost}
	case isLoader(name, v.value):
		return verdict{act: hold, rule: ruleLoader}
	}
	d := verdict{value: v.value}
	if rule := nameRule(v.name, v.value); rule != "" {
		return verdict{act: hold, rule: rule}
	}
	if strings.Contains(name, "PROXY") {
		if d.value = withoutPasswords(v.value); d.value != v.value {
			d.act, d.rule = change, ruleProxy
		}
	}
	if rule := findSecret(d.value); rule != "" {
		return verdict{act: hold, rule: rule}
	}
	if j.mode == Strict && !strictNames.match(name) {
		return verdict{act: hold, rule: ruleStrict}
	}
	return d
}
