package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// scenario is a script with what errand run is to make of it: a line of one of the
// tables in testdata, and the lines below it.
type scenario struct {
	name, prompt string
	flags        []string
	script       string
	want         string  // status, stop and error kind
	output       *string // nil where the table does not say
}

// readScenarios reads a table, whose lines begin with mark.
func readScenarios(t *testing.T, file, mark string) []scenario {
	t.Helper()
	var list []scenario
	for line := range strings.Lines(readFile(t, "testdata", file)) {
		head, ok := strings.CutPrefix(line, mark)
		switch {
		case ok && strings.TrimSpace(head) != "" && head[0] != '#':
			list = append(list, parseScenario(t, strings.TrimSpace(head)))
		case len(list) > 0:
			list[len(list)-1].script += line
		}
	}
	return list
}

func parseScenario(t *testing.T, line string) scenario {
	t.Helper()
	what, want, ok := strings.Cut(line, " => ")
	s := scenario{prompt: "hi"}
	for i, word := range strings.Fields(what) {
		prompt, isPrompt := strings.CutPrefix(word, "prompt:")
		switch {
		case isPrompt:
			s.prompt = strings.ReplaceAll(prompt, "+", " ")
		case strings.HasPrefix(word, "--") || len(s.flags) > 0:
			s.flags = append(s.flags, word)
		case i > 0:
			s.name += " " + word
		default:
			s.name = word
		}
	}
	want, output, quoted := strings.Cut(want, ` "`)
	if quoted {
		text, err := strconv.Unquote(`"` + output)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s.output = &text
	}
	if s.want = want; !ok || len(strings.Fields(want)) != 3 {
		t.Fatalf("%q is no line of the table", line)
	}
	return s
}

// check runs the scenario with --json and small graces.
func (s scenario) check(t *testing.T, validate func(*testing.T, string)) {
	p := newProgram(t)
	args := append([]string{"run", "--json", "--cancel-grace", "300ms", "--eof-grace", "300ms", "--term-grace", "300ms"}, s.flags...)
	got := p.run(append(append(args, s.prompt), scripted(t, s.script)...)...)
	res := got.result(t)
	validate(t, got.stdout)
	kind := "-"
	if res.Error != nil {
		kind = string(res.Error.Kind)
	}
	if have := fmt.Sprintf("%d %s %s", got.status, res.Stop, kind); have != s.want {
		t.Errorf("%s, want %s\nerror %+v\nstderr %.2000s", have, s.want, res.Error, got.stderr)
	}
	if want := exitStatus(res, 0); got.status != want {
		t.Errorf("status %d, but the result means %d", got.status, want)
	}
	if s.output != nil && res.Output != *s.output {
		t.Errorf("output %.500q, want %q", res.Output, *s.output)
	}
}

// resultValidator checks documents against `errand schema result`.
func resultValidator(t *testing.T) func(*testing.T, string) {
	_, resolved := schema(t, "result")
	return func(t *testing.T, doc string) { validate(t, resolved, doc) }
}

// huge are the scripts that write 11 MB and more at once.
var huge = []string{"t02-eleven-megabytes.script", "t03-update-over-limit.script", "t04-response-over-limit.script"}

// Every script that there is, the hostile ones too, comes to an end of its run, and
// the end is the one that the table says.
func TestScripts(t *testing.T) {
	const dir = "../../testdata/scripted-agent/scripts"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	untried := map[string]bool{}
	for _, f := range files {
		untried[f.Name()] = true
	}
	valid := resultValidator(t)
	for _, s := range readScenarios(t, "scripts.txt", "") {
		delete(untried, s.name)
		s.script = readFile(t, dir, s.name)
		t.Run(strings.Join(append(s.flags, s.name, s.prompt), " "), func(t *testing.T) {
			if raceEnabled && slices.Contains(huge, s.name) {
				t.Skip("too much for the race detector; TestVariations has some megabytes")
			}
			t.Parallel()
			s.check(t, valid)
		})
	}
	if len(untried) > 0 {
		t.Errorf("testdata/scripts.txt has no line for %v", slices.Sorted(maps.Keys(untried)))
	}
}

// And so do others of the same kinds.
func TestVariations(t *testing.T) {
	valid := resultValidator(t)
	for _, s := range readScenarios(t, "variations.txt", "== ") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.check(t, valid)
		})
	}
}
