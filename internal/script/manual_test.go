package script

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables of the manual anew")

const manual = "../../docs/scripted-agent.md"

// TestManual makes the manual's tables from what the parser goes by.
func TestManual(t *testing.T) {
	b, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	got := string(b)
	want := got
	for name, table := range map[string]string{
		"events": eventTable(), "statements": statementTables(), "variables": variableTable(), "values": valueTable(),
	} {
		begin, end := "<!-- "+name+": made by go test ./internal/script -update -->\n", "<!-- end of "+name+" -->\n"
		before, rest, ok := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no %q … %q", manual, begin, end)
		}
		want = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(manual, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is not what the parser goes by; go test ./internal/script -update (-want +got):\n%s", manual, diff)
	}
}

func eventTable() string {
	var b strings.Builder
	b.WriteString("\n| section | when | then, and without one |\n|---|---|---|\n")
	for _, e := range events {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.usage, e.when, e.then)
	}
	return b.String() + "\n"
}

func statementTables() string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n| statement | what it does |\n|---|---|\n", g.title)
		for _, s := range g.statements {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(s.usage, "|", "\\|"), s.doc)
		}
	}
	return b.String() + "\n"
}

func variableTable() string {
	var b strings.Builder
	b.WriteString("\n| variable | what it is |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		fmt.Fprintf(&b, "| `$%s` | %s |\n", name, variables[name].doc)
	}
	return b.String() + "\n"
}

func valueTable() string {
	var b strings.Builder
	b.WriteString("\n| in a usage | what to write |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, kinds[name].want)
	}
	return b.String() + "\n"
}
