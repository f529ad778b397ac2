package subagent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
)

func same(s string) string { return s }

// fullRecord has text in every place that an agent has.
func fullRecord(text string, n int) AuditRecord {
	list := make([]string, n)
	commands, paths, hosts, diffs := make([]permission.Command, n), make([]permission.Path, n), make([]permission.Host, n), make([]permission.Diff, n)
	options := make([]permission.Option, n)
	input := map[string]any{}
	deep := any(text)
	for i := range n {
		list[i] = text
		commands[i] = permission.Command{Argv: list, Env: list, Dir: text, Line: text, Program: text}
		paths[i] = permission.Path{Told: text, Abs: text, Resolved: text, Key: text, Odd: text}
		hosts[i] = permission.Host{Name: text, Told: text}
		diffs[i] = permission.Diff{Path: text, Old: &text, New: text}
		options[i] = permission.Option{ID: text, Kind: text}
		if deep = []any{deep}; i < 4 {
			deep = []any{deep, text, deep}
		}
		input[text+string(rune('a'+i%26))] = deep
	}
	facts := permission.Facts{Method: text, Tools: list, Title: text, Dir: text, Paths: paths, Commands: commands, Hosts: hosts, Diffs: diffs, Risks: list}
	return AuditRecord{
		Type: AuditTypePermission,
		Permission: &AuditPermission{Record: permission.Record{
			SessionID: text, ToolCallID: text, Kind: &text, Title: &text, RawInput: input, Options: options,
			Decision: permission.Denied, OptionID: &text, Rule: text, Facts: &facts,
		}},
	}
}

// Whatever an agent writes, a record is one line of JSON in UTF-8, and not too long.
func FuzzAuditLine(f *testing.F) {
	for _, text := range []string{"", "plain", "a\u2028b\u2029c\u0085d", "\x00\x01\x1b[31m\r\n\v\f\x7f", "\xff\xfe\xc3", "\u202e\ufeff\U000e0041", `"\u2028`, "🔑é"} {
		f.Add(text, 1, 1)
		f.Add(text, 3, 20)
		f.Add(text, 9, 3)
		f.Add(text, 1, 8_000)
	}
	f.Fuzz(func(t *testing.T, text string, n, times int) {
		n, times = max(0, min(n, 9)), max(1, min(times, 8_000/(len(text)+1)+1))
		if n > 1 {
			times = min(times, 20)
		}
		text = strings.Repeat(text, times)
		rec := fullRecord(text, n)
		labels := map[string]string{"tenant": "acme"}
		line, err := rec.line(labels, same)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(line) || !json.Valid(line) || bytes.IndexByte(line, '\n') != len(line)-1 || bytes.ContainsAny(line[:len(line)-1], "\r\v\f\u0085\u2028\u2029\x7f") {
			t.Fatalf("not a line: %q", line)
		}
		if len(line) > maxAuditLine+100 {
			t.Fatalf("%d bytes", len(line))
		}
		var back AuditRecord
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		switch got := back.Permission; {
		case back.Labels["tenant"] != "acme" || got.Decision != permission.Denied:
			t.Fatalf("labels %v, decision %q", back.Labels, got.Decision)
		case !back.Cut && utf8.ValidString(text) && got.ToolCallID != text:
			t.Fatalf("id %q, want %q", got.ToolCallID, text)
		case back.Cut && len(text) > 4096 && !strings.HasSuffix(got.ToolCallID, "…"):
			t.Fatalf("a cut id without a mark: %q", got.ToolCallID)
		}
	})
}

// A line is made of a copy: what the caller has stays as it is.
func TestAuditLineCopies(t *testing.T) {
	long := strings.Repeat("x", maxAuditLine)
	rec := fullRecord(long, 2)
	rec.Type = AuditTypePermission
	line, err := rec.line(nil, func(s string) string { return "y" + s })
	check.Equal(t, "error", err, nil)
	p := rec.Permission
	if *p.Title != long || p.Options[0].ID != long || p.Facts.Commands[1].Argv[1] != long || rec.Cut {
		t.Error("the record was changed")
	}
	check.Has(t, string(line), `"cut":true`, `"labels":{}`, `"decision":"denied"`, `"title":"yxxx`)
	command := AuditRecord{Type: AuditTypeCommand, Command: &client.CommandRecord{Command: []string{"a <b> & c"}}}
	line, err = command.line(nil, same)
	check.Equal(t, "error", err, nil)
	check.Has(t, string(line), `"a <b> & c"`)
}

// An agent that changes its tool calls without end makes no audit without end, and what it
// does when it has filled the cards is still told.
func TestAuditCallsBounded(t *testing.T) {
	var text bytes.Buffer
	a := &auditRun{audit: &Audit{W: &text}, run: &run{id: "r"}, begun: true}
	c := newCollector()
	c.seen, c.cardLimit = a.toolCall, 10
	c.setSession("s")
	collect(c, `{"sessionUpdate":"tool_call","toolCallId":"c1","title":"much too long for a card"}`)
	collect(c, `{"sessionUpdate":"tool_call","toolCallId":"c2","title":"the deed","status":"completed"}`)
	a.audit.flush(&a.tally)
	check.Has(t, text.String(), "much too long for a card", "the deed", `"status":"completed","permitted":null,"asked":false`)
	for range maxAuditCalls {
		collect(c, `{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}`)
	}
	check.Has(t, a.audit.flush(&a.tally), "2 lines of this run are lost", "more often than is told")
	check.Equal(t, "lines", strings.Count(text.String(), "\n"), maxAuditCalls)
}
