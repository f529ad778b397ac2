package apilist

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/api.txt anew")

// packages are the public ones.
var packages = []string{"client", "client/acptest", "client/transcript", "envscrub", "permission", "stopreason", "subagent", "subagent/subagenttest"}

// The exports change on purpose only: go test ./internal/apilist -update.
func TestParity(t *testing.T) {
	t.Run("A56 the exports are pinned", func(t *testing.T) {
		var lines []string
		for _, p := range packages {
			list, err := List(filepath.Join("..", "..", filepath.FromSlash(p)))
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				t.Errorf("%s exports nothing", p)
			}
			lines = append(lines, list...)
		}
		golden := filepath.Join("testdata", "api.txt")
		got := strings.Join(lines, "\n") + "\n"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("the exports changed; if that is meant: go test ./internal/apilist -update (-want +got):\n%s", diff)
		}
	})
}

func TestList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]string{
		"a.go": `package p
			const A, b = 1, 2
			var C int
			type T struct { F, g int; H map[string]bool; io.Reader; *hidden }
			type hidden struct { F int }
			func (t *T) M(x int) error { return nil }
			func (t T) m() {}
			func (hidden) M() {}
			type I interface { N(); own() }
			type S string
			func F(f func(a int) bool) (n int, err error) { return }
			func f() {}`,
		"a_linux.go":   "package p\nfunc Only() {}\nfunc Both() {}",
		"a_windows.go": "package p\nfunc Both() {}",
		"a_test.go":    "package p\nfunc TestX() {}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"p.A const",
		"p.Both func()",
		"p.C var",
		"p.F func(f func(a int) bool) (n int, err error)",
		"p.I interface",
		"p.I.N method func()",
		"p.I.own method func()",
		"p.Only func()",
		"p.S type string",
		"p.T embedded io.Reader",
		"p.T struct",
		"p.T.F field int",
		"p.T.H field map[string]bool",
		"p.T.M method (*T)(x int) error",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
