// Package examples tests that the README says what is so.
package examples

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/permission"
)

func TestMain(m *testing.M) { leak.Main(m) }

const root = ".."

func readme(t *testing.T) string {
	t.Helper()
	return readFile(t, "README.md")
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the code blocks of a language in a document.
func blocks(t *testing.T, document, language string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(readFile(t, document), -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no %s blocks", document, language)
	}
	return found
}

// Go code in the documents is that of an example, which is compiled and run by tests.
func TestGoIsOfExamples(t *testing.T) {
	var sources []string
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		if filepath.Ext(file) == ".go" {
			sources = append(sources, readFile(t, filepath.ToSlash(filepath.Join("examples", file))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range []string{"README.md", "docs/fan-out.md", "docs/policy.md", "docs/transcripts.md", "docs/testing.md"} {
		for _, block := range blocks(t, document, "go") {
			if !slices.ContainsFunc(sources, func(src string) bool { return strings.Contains(src, block) }) {
				t.Errorf("this is not in examples as it stands in %s:\n%s", document, block)
			}
		}
	}
	if main := readFile(t, "examples/delegate/main.go"); !slices.Contains(blocks(t, "README.md", "go"), main) {
		t.Error("examples/delegate is not in the README as a whole")
	}
}

// jsonWith returns the README's JSON that has this in it.
func jsonWith(t *testing.T, text string) string {
	t.Helper()
	for _, block := range blocks(t, "README.md", "json") {
		if strings.Contains(block, text) {
			return block
		}
	}
	t.Fatalf("the README has no JSON with %s", text)
	return ""
}

// The README's policy means what is said of it.
func TestPolicy(t *testing.T) {
	rules, err := permission.ParseRules([]byte(jsonWith(t, `"rules"`)))
	if err != nil || rules.Warnings() != nil {
		t.Fatal(err, rules.Warnings())
	}
	for _, tt := range []struct {
		kind, path string
		command    []any
		effect     permission.Effect
		rule       string
	}{
		{kind: "edit", path: "/work/parser/a.go", effect: permission.EffectAllow, rule: "project"},
		{kind: "edit", path: "/work/.env", effect: permission.EffectAsk, rule: "sensitive file"},
		{kind: "edit", path: "/etc/hosts", effect: permission.EffectAsk, rule: "default"},
		{kind: "execute", command: []any{"go", "test", "./..."}, effect: permission.EffectAllow, rule: "tests"},
		{kind: "execute", command: []any{"sh", "-c", "go test ./... && rm -rf ."}, effect: permission.EffectAsk, rule: "default"},
		{kind: "execute", command: []any{"git", "push", "origin"}, effect: permission.EffectDeny, rule: "no releases"},
	} {
		kind := acp.ToolKind(tt.kind)
		req := permission.Request{Dir: "/work", ToolCall: acp.ToolCallUpdate{Kind: &kind, RawInput: map[string]any{}}}
		if tt.path != "" {
			req.ToolCall.Locations = []acp.ToolCallLocation{{Path: tt.path}}
		} else {
			req.ToolCall.RawInput = map[string]any{"command": tt.command}
		}
		if v := rules.Explain(req); v.Effect != tt.effect || v.Rule != tt.rule {
			t.Errorf("%s %s%q: %s by %q, want %s by %q", tt.kind, tt.path, tt.command, v.Effect, v.Rule, tt.effect, tt.rule)
		}
	}
}

// What the README shows of the command line is so.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	run(t, root, "go", "build", "-o", filepath.Join(dir, "bin", "errand"), "./cmd/errand")
	if err := os.WriteFile(filepath.Join(dir, "policy.json"), []byte(jsonWith(t, `"rules"`)), 0o600); err != nil {
		t.Fatal(err)
	}

	// What docs/fan-out.md has is run in an order, by an errand that is installed.
	t.Run("docs/fan-out.md", func(t *testing.T) {
		t.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		where := t.TempDir()
		if err := os.WriteFile(filepath.Join(where, "tasks.jsonl"), []byte(blocks(t, "docs/fan-out.md", "jsonl")[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks(t, "docs/fan-out.md", "sh") {
			run(t, where, "sh", "-e", "-c", block)
		}
	})

	// A block of sh runs as it stands; those of other languages need a real agent.
	t.Run("blocks of sh", func(t *testing.T) {
		for _, block := range blocks(t, "README.md", "sh") {
			for line := range strings.Lines(block) {
				command, _, _ := strings.Cut(strings.TrimSpace(line), " #")
				switch fields := strings.Fields(command); {
				case len(fields) == 0:
				case fields[0] == "make":
					// That there is such a target: make test would run this test.
					if _, err := exec.LookPath("make"); err == nil {
						run(t, root, "make", append([]string{"-n"}, fields[1:]...)...)
					}
				case fields[0] == "go":
					if command != "go build -o bin/errand ./cmd/errand" {
						t.Errorf("%q is not what this test did", command)
					}
				default:
					run(t, dir, "sh", "-c", command)
				}
			}
		}
	})

	t.Run("the result is a real one", func(t *testing.T) {
		real := run(t, dir, "bin/errand", "run", "--agent", "demo", "--permission", "allow", "--json", "Say hello")
		if diff := cmp.Diff(shape(t, real), shape(t, jsonWith(t, `"schemaVersion"`))); diff != "" {
			t.Errorf("the result in the README has other fields than a real one (-real +README):\n%s", diff)
		}
	})
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ERRAND_AGENT=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &stderr)
	}
	return string(out)
}

// shape lists the paths of a JSON document, those in lists once.
func shape(t *testing.T, text string) []string {
	t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	paths := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				paths[path+"."+key] = true
				walk(path+"."+key, value)
			}
		case []any:
			for _, value := range v {
				walk(path+"[]", value)
			}
		}
	}
	walk("", doc)
	return slices.Sorted(maps.Keys(paths))
}

// The README has a line for each kind of error, and no other.
func TestErrorKinds(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`ErrorKind = "(\w+)"`).FindAllStringSubmatch(readFile(t, "client/errors.go"), -1) {
		want = append(want, m[1])
	}
	_, table, _ := strings.Cut(readme(t), "| kind |")
	table, _, _ = strings.Cut(table, "\n\n")
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds of error (-client/errors.go +README):\n%s", diff)
	}
}

func TestLinks(t *testing.T) {
	for _, document := range []string{"README.md", "docs/fan-out.md", "docs/policy.md", "docs/transcripts.md", "docs/testing.md"} {
		for _, m := range regexp.MustCompile(`\]\(([^):#]+)\)`).FindAllStringSubmatch(readFile(t, document), -1) {
			if _, err := os.Stat(filepath.Join(root, path.Dir(document), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("a link of %s leads nowhere: %v", document, err)
			}
		}
	}
}
