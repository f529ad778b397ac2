// Package examples tests that the README says what is so.
package examples

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/leak"
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

// blocks returns the README's code blocks of a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(readme(t), -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	if len(found) == 0 {
		t.Fatalf("the README has no %s blocks", language)
	}
	return found
}

// Go code in the README is that of an example, which is compiled and run by tests.
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
	for _, block := range blocks(t, "go") {
		if !slices.ContainsFunc(sources, func(src string) bool { return strings.Contains(src, block) }) {
			t.Errorf("this is not in examples as it stands in the README:\n%s", block)
		}
	}
	if main := readFile(t, "examples/delegate/main.go"); !slices.Contains(blocks(t, "go"), main) {
		t.Error("examples/delegate is not in the README as a whole")
	}
}

// What the README shows of the command line is so.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	run(t, root, "go", "build", "-o", filepath.Join(dir, "bin", "errand"), "./cmd/errand")

	// A block of sh runs as it stands; those of other languages need a real agent.
	t.Run("blocks of sh", func(t *testing.T) {
		for _, block := range blocks(t, "sh") {
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
		if diff := cmp.Diff(shape(t, real), shape(t, blocks(t, "json")[0])); diff != "" {
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
	for _, m := range regexp.MustCompile(`\]\(([^):#]+)\)`).FindAllStringSubmatch(readme(t), -1) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
			t.Errorf("a link of the README leads nowhere: %v", err)
		}
	}
}
