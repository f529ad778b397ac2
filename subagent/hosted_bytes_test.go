package subagent

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
)

// What the agent makes us note is bounded in bytes, and that it was done is kept.
func TestHostedInBytes(t *testing.T) {
	long, denied := strings.Repeat("x", 1<<20), "not permitted (reject)"
	h := newHosted(true, true)
	for range 30 {
		h.file(client.FileRecord{SessionID: "s", Op: client.FileRead, Path: long, Error: &denied})
	}
	h.file(client.FileRecord{SessionID: "s", Op: client.FileRead, Path: "/a"})
	for range 5 {
		h.command(client.CommandRecord{SessionID: "s", Command: []string{long, long}, Dir: "/d", Error: &long})
	}
	for i := range 5 { // each told twice
		id := strconv.Itoa(i)
		rec := client.CommandRecord{SessionID: "s", TerminalID: &id, Command: []string{long}, Dir: "/d"}
		h.command(rec)
		code := i
		rec.Exit, rec.OutputBytes = &client.CommandExit{Code: &code}, 1
		h.command(rec)
	}
	id := strings.Repeat("t", 1<<20)
	h.command(client.CommandRecord{SessionID: "s", TerminalID: &id, Command: []string{"true"}}) // whose bare record would be long
	var res Result
	h.fill(&res)
	text, err := json.Marshal(res)
	if err != nil || len(text) > maxCardBytes+1<<20 {
		t.Errorf("the result has %d bytes (%v)", len(text), err)
	}
	if len(res.Files) != 31 || len(res.Commands) != 10 {
		t.Fatalf("%d files and %d commands are kept", len(res.Files), len(res.Commands))
	}
	if first := res.Files[0]; first.Path != long {
		t.Errorf("of the first file %d bytes are kept", len(first.Path))
	}
	if bare := res.Files[29]; !strings.HasPrefix(long, strings.TrimSuffix(bare.Path, "…")) || len(bare.Path) < 100 || *bare.Error != denied {
		t.Errorf("a file is %+v", bare)
	}
	if last := res.Files[30]; last.Path != "/a" {
		t.Errorf("the last file is %+v", last)
	}
	if bare := res.Commands[4]; len(bare.Command) != 1 || len(bare.Command[0]) < 100 || bare.Dir != "/d" || !strings.HasPrefix(*bare.Error, "xxx") {
		t.Errorf("a command is %+v", bare)
	}
	if last := res.Commands[9]; *last.TerminalID != "4" || *last.Exit.Code != 4 || last.OutputBytes != 1 {
		t.Errorf("the last command is %+v", last)
	}
	if !slices.Equal(res.Warnings, []string{"the agent read, wrote or ran more through us than is kept"}) {
		t.Errorf("warnings %q", res.Warnings)
	}
}

// So many records are kept, however short.
func TestHostedInNumber(t *testing.T) {
	h := newHosted(true, true)
	id := "t"
	for range maxCards + 1 {
		h.file(client.FileRecord{})
		h.command(client.CommandRecord{})
	}
	h.command(client.CommandRecord{TerminalID: &id})
	h.command(client.CommandRecord{TerminalID: &id})
	var res Result
	h.fill(&res)
	if len(res.Files) != maxCards || len(res.Commands) != maxCards || len(res.Warnings) != 1 {
		t.Errorf("%d files, %d commands, warnings %q", len(res.Files), len(res.Commands), res.Warnings)
	}
}
