package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseList(t *testing.T) {
	const text = `
# a comment
need A1-A3 B2

A1 A2 TestX/in_Close,_at_the-end: the first: with a colon
in stopreason/stopreason.go
test ./subagent
- one
- 	two
+ three

B2: the second
test ./b
in a.go
- gone
in b.go
- x
+ y
`
	got, err := parseList(text)
	if err != nil {
		t.Fatal(err)
	}
	want := &list{
		need: []string{"A1", "A2", "A3", "B2"},
		mutations: []mutation{
			{line: 5, targets: []string{"A1", "A2", "TestX/in_Close,_at_the-end"}, what: "the first: with a colon", pkg: "./subagent",
				edits: []edit{{file: "stopreason/stopreason.go", old: "one\n\ttwo", new: "three"}}},
			{line: 12, targets: []string{"B2"}, what: "the second", pkg: "./b",
				edits: []edit{{file: "a.go", old: "gone"}, {file: "b.go", old: "x", new: "y"}}},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(list{}, mutation{}, edit{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A3"}, got.missing()); diff != "" {
		t.Errorf("missing rows (-want +got):\n%s", diff)
	}
}

func TestParseListRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a change before a mutation": "- x",
		"a row that is none":         "need A1 18",
		"a range over two letters":   "need A1-B2",
		"an unknown line":            "A1: x\nfile a.go",
		"a test that is none":        "tests/a: x",
		"no change":                  "A1: x\nin a.go\ntest ./a\n- x\n+ x",
		"no file":                    "A1: x\ntest ./a\n- x",
		"no package":                 "A1: x\nin a.go\n- x",
	} {
		if _, err := parseList(text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestApply(t *testing.T) {
	e := edit{file: "a.go", old: "b", new: "c"}
	if got, err := e.apply("abd"); got != "acd" || err != nil {
		t.Errorf("apply = %q, %v", got, err)
	}
	for _, src := range []string{"", "a", "bb"} {
		if got, err := e.apply(src); err == nil {
			t.Errorf("apply to %q = %q, want an error", src, got)
		}
	}
}

func TestReadEvents(t *testing.T) {
	const out = `{"Action":"run","Test":"TestParity/A1_stops"}
{"Action":"pass","Test":"TestParity/A1_stops"}
{"Action":"run","Test":"TestParity/A12_relative"}
{"Action":"run","Test":"TestParity/A12_relative/A13"}
{"Action":"fail","Test":"TestParity/A12_relative"}
{"Action":"pass","Test":"TestParity/A12_again"}
{"Action":"run","Test":"TestFaults/B1"}
{"Action":"run","Test":"TestParity/B2_in_session/new"}
{"Action":"pass","Test":"TestParity/B2_in_session/new"}
{"Action":"fail","Test":"TestParity"}
not JSON
`
	got, err := readEvents(out)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"A1": "pass", "A12": "fail", "B1": "run", "B2": "pass", "B3": "", "TestParity": "fail", "TestParity/A12_again": "pass", "TestNone": "",
	} {
		if how := got.of(target); how != want {
			t.Errorf("%s ended as %q, want %q", target, how, want)
		}
	}
	if _, err := readEvents(`{"Action":"build-output","Output":"x.go:1: no"}` + "\n" + `{"Action":"build-fail"}`); err == nil || !strings.Contains(err.Error(), "x.go:1") {
		t.Errorf("a failed build gives %v, want what the compiler said", err)
	}
}

func TestRunPattern(t *testing.T) {
	got := runPattern([]string{"A1", "TestX/session/new"})
	if want := "^(TestParity|TestFaults)$/^A1([^0-9]|$)|^TestX$/^session$/^new$"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What make mutate does takes minutes; that the list is whole and fits the code is
// told at once.
func TestListFits(t *testing.T) {
	l, err := parseList(mutations)
	if err != nil {
		t.Fatal(err)
	}
	if missing := l.missing(); len(missing) > 0 {
		t.Errorf("no mutation for %q", missing)
	}
	for _, m := range l.mutations {
		for _, e := range m.edits {
			src, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(e.file)))
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := e.apply(string(src)); err != nil {
				t.Errorf("%s: %v", &m, err)
			}
		}
	}
}
