package transcript_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/transcripts.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The example in docs/transcripts.md is a transcript, as it is written, and reads as is said.
func TestDocumentedExample(t *testing.T) {
	block := func(language string) string {
		m := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$").FindStringSubmatch(page(t))
		if m == nil {
			t.Fatalf("no block of %s", language)
		}
		return m[1]
	}
	all, err := transcript.Read(strings.NewReader(block("ndjson")))
	if err != nil || len(all) != 1 || all[0].Cut {
		t.Fatal(len(all), err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(block("ndjson")), "\n"), written(all[0])); diff != "" {
		t.Errorf("written again (-page +got):\n%s", diff)
	}
	if diff := cmp.Diff(block("text"), all[0].String()); diff != "" {
		t.Errorf("for people (-page +got):\n%s", diff)
	}
}

// The page has every rule, and no other.
func TestDocumentedRules(t *testing.T) {
	var rules, documented []string
	fset := token.NewFileSet()
	for _, name := range []string{"rules.go", "rule_ids.go"} {
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
				rules = append(rules, f.Name.Name)
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)\\(").FindAllStringSubmatch(page(t), -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(rules)
	slices.Sort(documented)
	if diff := cmp.Diff(rules, documented); diff != "" {
		t.Errorf("(-rules +page):\n%s", diff)
	}
}
