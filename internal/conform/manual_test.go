package conform

import (
	cmdline "flag" // a package-level name here is flag
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = cmdline.Bool("update", false, "write the tables of docs/conformance.md anew")

const manual = "../../docs/conformance.md"

// TestManual makes the tables of the manual from the rules and scenes.
func TestManual(t *testing.T) {
	b, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	got := string(b)
	want := got
	for name, table := range map[string]string{"prompts": promptTable(), "scenes": sceneTable(), "rules": ruleTable()} {
		begin, end := "<!-- "+name+": made by go test ./internal/conform -update -->\n", "<!-- end of "+name+" -->\n"
		before, rest, ok := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no %q … %q", manual, begin, end)
		}
		want = before + begin + "\n" + table + "\n" + end + after
	}
	if *rewrite {
		if err := os.WriteFile(manual, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is not what the rules are; go test ./internal/conform -update (-want +got):\n%s", manual, diff)
	}
}

func promptTable() string {
	var b strings.Builder
	b.WriteString("| kind | what it says without `--prompt` |\n|---|---|\n")
	for _, kind := range PromptKinds() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", kind, cell(defaultPrompts[kind]))
	}
	return b.String()
}

func sceneTable() string {
	var b strings.Builder
	b.WriteString("| scene | what happens |\n|---|---|\n")
	for _, s := range scenes {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.name, cell(s.about))
	}
	return b.String()
}

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | level | what an agent does that keeps it | the text |\n|---|---|---|---|\n")
	for _, r := range Rules() {
		text := cell(r.Quote)
		switch {
		case strings.HasPrefix(r.Source, "https://"):
			text += fmt.Sprintf(" [%s](%s)", strings.TrimPrefix(strings.TrimPrefix(r.Source, "https://agentclientprotocol.com/protocol/"), "https://www."), r.Source)
		case r.Source != "":
			text += fmt.Sprintf(" (`%s`)", r.Source)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Level, cell(r.Title), text)
	}
	return b.String()
}

// cell is a text as a table in Markdown has it.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`).Replace(s)
}
