package faults

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "play every row through the SDK's connection too, and write "+tableFile)

const tableFile = "../../docs/faults.md"

const tableHead = `# What agents do wrong, and what comes of it

Each row is a fault that an agent, a launcher or a consumer has been seen to commit, played by the
[scripted agent](scripted-agent.md). The third column is a plain client over acp-go-sdk %s's own connection, as its
examples are: it starts the command, calls initialize, session/new and session/prompt, closes stdin, and
waits; "hangs" means that a call had not returned after %v, "left behind" counts processes that are
alive when the client is done. The last column is a run of Errand, with what its result
says: the outcome, the text, what was counted, and how the process ended. There nothing is ever left behind:
` + "`TestFaults`" + ` in internal/faults checks that, and every word of the column, with further forms of each fault.

Made by ` + "`go test ./internal/faults -run TestTable -update`" + `; what the SDK's connection loses differs a little from time to time.

| | the other side | through the SDK's connection | through Errand | forms tested |
|---|---|---|---|---|
`

// TestTable: the table in docs says what the rows say. What the SDK's connection does is
// only seen anew with -update.
func TestTable(t *testing.T) {
	old, err := os.ReadFile(tableFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	sdk := sdkColumn(string(old))
	var b strings.Builder
	fmt.Fprintf(&b, tableHead, sdkVersion(t), sdkPatience)
	for _, r := range rows() {
		if *update {
			sdk[r.id] = r.throughSDK(t)
			t.Logf("%s: %s", r.id, sdk[r.id])
		}
		errand, forms := r.errand, fmt.Sprint(len(r.forms))
		if errand == "" && len(r.forms) > 0 {
			errand = r.forms[0].want
		}
		if r.where != "" {
			forms = "in " + r.where
		}
		if errand == "" || sdk[r.id] == "" {
			t.Errorf("%s: the table does not say what comes of it: %q, %q", r.id, sdk[r.id], errand)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.id, cell(r.does), cell(sdk[r.id]), cell(errand), forms)
	}
	if *update {
		if err := os.WriteFile(tableFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(string(old), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("%s is not up to date, see there for how it is made (-there +now)\n%s", tableFile, diff)
	}
}

func (r *row) throughSDK(t testing.TB) string {
	if r.noSDK != "" {
		return r.noSDK
	}
	if len(r.forms) == 0 {
		return "not a matter of the connection"
	}
	return throughSDK(t, &r.forms[0], sdkPatience)
}

// cell makes a text fit into a cell.
func cell(text string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text) }

// sdkColumn is the column of the table as it is, by row.
func sdkColumn(table string) map[string]string {
	column := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), " | ")
		if id, ok := strings.CutPrefix(cells[0], "| "); ok && len(cells) == 5 {
			column[id] = strings.ReplaceAll(cells[2], "\x00", "|")
		}
	}
	return column
}

// sdkVersion is the SDK's version in go.mod.
func sdkVersion(t testing.TB) string {
	t.Helper()
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "github.com/coder/acp-go-sdk "); ok {
			return version
		}
	}
	t.Fatal("go.mod does not name the SDK")
	return ""
}
