package threats

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/security.md")

const (
	root = "../.."
	page = root + "/docs/security.md"
)

// A threat is something that may go wrong, what stops it, and the test that proves that:
// "package: TestName" or "package: TestName/subtest".
type threat struct{ what, stops, proof string }

func TestThreats(t *testing.T) {
	sources := map[string]source{}
	exists := func(dir, name string) bool {
		if sources[dir] == nil {
			sources[dir] = tests(t, dir)
		}
		return sources[dir].exists(name)
	}
	for _, row := range threats {
		for _, proof := range strings.Split(row.proof, "; ") {
			dir, name, ok := strings.Cut(proof, ": ")
			if !ok || !exists(dir, name) {
				t.Errorf("%q: there is no test %q", row.what, proof)
			}
		}
	}
	attacks := attackList(t, exists)
	if len(attacks) < 40 {
		t.Errorf("there are %d attacks with a test of their own", len(attacks))
	}

	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	made := fill(t, fill(t, old, "threats", threatTable()), "attacks", attackTable(attacks))
	if *update {
		if err := os.WriteFile(page, made, 0o666); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(old, made) {
		t.Errorf("%s is not what the lists say: go test ./internal/threats -update", filepath.Base(page))
	}
}

// attack is one of a table of attacks: each is a subtest.
type attack struct{ door, name, proof string }

// The tables of attacks in the tests: where each is declared, and what an entry of it
// begins with.
var tables = []struct{ door, dir, file, test, in, entry string }{
	{"workspace", "client", "workspace_attack_test.go", "TestWorkspaceAttacks", "func TestWorkspaceAttacks", `(?m)^\t\t\{"([^"]+)", func\(s \*site\)`},
	{"workspace, a race", "client", "workspace_race_linux_test.go", "TestWorkspaceRace", "func TestWorkspaceRace", `(?m)^\t\t\{"([^"]+)", "[^"]+", func\(s \*site\)`},
	{"files", "client", "host_attack_test.go", "TestFileAttacks", "func TestFileAttacks", `(?m)^\t\t\{"([^"]+)", (?:fileAttack\{|func\(t )`},
	{"terminal", "client", "host_attack_test.go", "TestTerminalAttacks", "func TestTerminalAttacks", `(?m)^\t\t\{"([^"]+)", func\(t `},
	{"terminal, its policy", "client", "host_terminal_test.go", "TestTerminalPolicy", "func TestTerminalPolicy", `(?m)^\t\t\{"([^"]+)", (?:nil|rules), `},
	{"policy", "permission", "attack_test.go", "TestAttacks", "var attacks", `(?m)^\t\{name: "([^"]+)"`},
	{"policy, commands", "permission", "attack_command_test.go", "TestCommandAttacks", "var commandAttacks", `(?m)^\t\{name: "([^"]+)"`},
	{"policy, hosts", "permission", "attack_host_test.go", "TestCommandAttacks", "var hostAttacks", `(?m)^\t\{name: "([^"]+)"`},
	{"options", "permission", "attack_test.go", "TestAttacks/options", "func testAttackOptions", `(?m)^\t\t\{"([^"]+)", (?:once|deny|lasting|` + "`" + `)`},
	{"options and answers", "permission", "attack_answer_test.go", "TestAnswerAttacks", "func TestAnswerAttacks", `(?m)^\t\t\{"([^"]+)", func\(t `},
}

func attackList(t *testing.T, exists func(dir, name string) bool) (all []attack) {
	t.Helper()
	for _, table := range tables {
		text, err := os.ReadFile(filepath.Join(root, table.dir, table.file))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), "\n"+table.in)
		decl, _, _ := strings.Cut(after, "\n}\n")
		found := regexp.MustCompile(table.entry).FindAllStringSubmatch(decl, -1)
		if len(found) == 0 {
			t.Errorf("%s has no attacks", table.test)
		}
		for _, m := range found {
			if !exists(table.dir, table.test+"/"+m[1]) {
				t.Errorf("%s has no subtest %q", table.test, m[1])
			}
			all = append(all, attack{table.door, m[1], table.dir + ": " + table.test})
		}
	}
	return all
}

func threatTable() string {
	var b strings.Builder
	b.WriteString("| threat | what stops it | the test |\n|---|---|---|\n")
	for _, row := range threats {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.what, row.stops, code(strings.Split(row.proof, "; ")...))
	}
	return b.String()
}

// attackTable has a row for each test, with the attacks that are its subtests.
func attackTable(all []attack) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d attacks, each a subtest of the test named.\n\n| door | test | attacks |\n|---|---|---|\n", len(all))
	for part := range slices.Values(tables) {
		var names []string
		for _, a := range all {
			if a.door == part.door {
				names = append(names, strings.ReplaceAll(a.name, "|", "\\|"))
			}
		}
		fmt.Fprintf(&b, "| %s (%d) | %s | %s |\n", part.door, len(names), code(part.dir+": "+part.test), strings.Join(names, "; "))
	}
	return b.String()
}

func code(names ...string) string { return "`" + strings.Join(names, "`, `") + "`" }

// fill puts text between the markers of that name.
func fill(t *testing.T, page []byte, name, text string) []byte {
	t.Helper()
	begin, end := "<!-- "+name+": made by go test ./internal/threats -update -->\n", "<!-- end of "+name+" -->"
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("the page has no place for %s", name)
	}
	return []byte(head + begin + "\n" + text + "\n" + end + tail)
}
