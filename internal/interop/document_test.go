package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/conform"
)

// docs/agents.md is what the reports say, and they are of what is pinned. After a change
// of the document's form: go test ./internal/interop -update
func TestDocument(t *testing.T) {
	reports, err := loadReports(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range agents {
		if reports[a.name] == nil {
			continue
		}
		version, err := a.version()
		if err != nil {
			t.Fatal(err)
		}
		check.Equal(t, "version of the report of "+a.name, reports[a.name].Version, version)
	}
	text, file := document(reports), filepath.Join("../..", docFile)
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(written), text); diff != "" {
		t.Errorf("%s is not what the reports say (-document +reports):\n%s", docFile, diff)
	}
}

// promised are the agents whose packages we said that we would drive.
var promised = strings.Fields("example-go example-ts opencode gemini claude claude-code codex codex-zed copilot cline")

func testDriven(t *testing.T) {
	reports, err := loadReports(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := choose(promised)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range chosen {
		r := reports[a.name]
		if r == nil {
			t.Errorf("%s was not driven", a.name)
			continue
		}
		for _, c := range cases {
			if cell := r.Cases[c.title]; cell == "" || cell == "-" && a.model {
				t.Errorf("the report of %s says nothing of %q", a.name, c.title)
			}
		}
		if r.Ended == "" || r.Kit == "" || r.count(conform.Pass) == 0 {
			t.Errorf("the report of %s does not say how its process ended, what the test kit says or what it keeps: %+v", a.name, r)
		}
	}
}

// Who breaks a rule is named in its line.
func TestBroken(t *testing.T) {
	rule := conform.Rules()[0]
	reports := map[string]*report{}
	for i, a := range agents {
		verdict := []conform.Verdict{conform.Pass, conform.Fail, conform.Warn, conform.NotApplicable}[i%4]
		reports[a.name] = &report{Verdicts: map[string]conform.Verdict{rule.ID: verdict}}
	}
	var want []string
	for i, a := range agents {
		if i%4 == 1 || i%4 == 2 {
			want = append(want, a.name)
		}
	}
	if diff := cmp.Diff(want, brokenBy(rule.ID, agents, reports)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	check.Has(t, document(reports), "| `"+rule.ID+"` | "+string(rule.Level)+" | ", " | "+strings.Join(want, ", ")+" |\n")
}
