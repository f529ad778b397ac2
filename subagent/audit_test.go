package subagent_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/canary"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// auditBuffer is the writer of an audit; it checks that each Write is a line. It is read
// when the runs have been closed.
type auditBuffer struct {
	mu    sync.Mutex // guards lines
	lines [][]byte
}

func (b *auditBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, bytes.Clone(p))
	return len(p), nil
}

func (b *auditBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(bytes.Join(b.lines, nil))
}

// records reads the lines, strictly, and checks what holds for any.
func (b *auditBuffer) records(t *testing.T) []subagent.AuditRecord {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []subagent.AuditRecord
	last := map[string]subagent.AuditRecord{}
	for _, line := range b.lines {
		if n := bytes.IndexByte(line, '\n'); n != len(line)-1 {
			t.Fatalf("a Write is not a line: %q", line)
		}
		var rec subagent.AuditRecord
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&rec); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		before, seen := last[rec.RunID]
		switch {
		case seen == (rec.Type == subagent.AuditTypeStart):
			t.Errorf("a %s record after %q", rec.Type, before.Type)
		case before.Type == subagent.AuditTypeEnd:
			t.Errorf("a %s record after the end", rec.Type)
		}
		last[rec.RunID] = rec
		all = append(all, rec)
	}
	for run, rec := range last {
		if rec.Type != subagent.AuditTypeEnd {
			t.Errorf("run %s ends with a %s record", run, rec.Type)
		}
	}
	return all
}

func types(lines []subagent.AuditRecord) string {
	var list []string
	for _, rec := range lines {
		list = append(list, string(rec.Type))
	}
	return strings.Join(list, " ")
}

// What an agent says, writes and is asked is in the audit only where it is wanted.
func TestAuditContent(t *testing.T) {
	const src = `on session/prompt
  text "said-marker"
  thought "thought-marker"
  tool c1 "Edit it" kind=edit status=in_progress input={"n":17,"text":"input-marker"} path=$cwd/a old="old-marker" new="new-marker"
  request session/request_permission {"sessionId": "$session", "toolCall": {"toolCallId": "c2", "title": "Edit b", "kind": "edit", "rawInput": {"path": "$cwd/b", "content": "input-marker", "url": "https://host.example/?q=input-marker", "env": {"NAME": "input-marker"}, "command": ["go", "test"]}, "content": [{"type": "diff", "path": "$cwd/b", "oldText": "old-marker", "newText": "new-marker"}]}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}
  request fs/write_text_file {"sessionId":"$session","path":"$cwd/c","content":"new-marker"}
  request fs/read_text_file {"sessionId":"$session","path":"$cwd/c"}
  request terminal/create {"sessionId":"$session","command":"/bin/sh","args":["-c","exit 3"],"env":[{"name":"NAME","value":"input-marker"}]}
  set t "$answer.terminalId"
  request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}
`
	run := func(t *testing.T, content bool) (string, []subagent.AuditRecord, *subagent.Result) {
		var out auditBuffer
		s := play(t, src, &subagent.ACPOptions{
			Permission: permission.Allow(), Files: client.FilesWrite, Terminals: true, Audit: &subagent.Audit{W: &out, Content: content},
		})
		res := s.run("prompt-marker")
		lines := out.records(t)
		_, text, _ := strings.Cut(out.String(), "\n") // the first has the agent's arguments, which are the script
		return text, lines, res
	}
	markers := []string{"input-marker", "old-marker", "new-marker"}
	never := []string{"said-marker", "thought-marker", "prompt-marker"}

	t.Run("off", func(t *testing.T) {
		text, lines, res := run(t, false)
		check.Lacks(t, text, append(markers, never...)...)
		check.Has(t, text, "Edit it", "Edit b", `"go"`, "host.example", "NAME")
		check.Equal(t, "types", types(lines), "start toolCall permission permission file file permission command command toolCall end")
		// The policy's question and what was then done have one id.
		write, command := lines[4].File, lines[8].Command
		check.Equal(t, "the file's call", *write.ToolCallID, lines[3].Permission.ToolCallID)
		check.Equal(t, "the command's call", *command.ToolCallID, lines[6].Permission.ToolCallID)
		if write.Op != "write" || write.Bytes != len("new-marker") || write.Error != nil || *command.Exit.Code != 3 || !slices.Equal(command.Command, []string{"/bin/sh", "-c", "exit 3"}) {
			t.Errorf("file %+v, command %+v", write, command)
		}
		end := lines[10].End
		if end.Stop != res.Stop || *end.StopReason != "end_turn" || *end.Exit.Code != 0 || end.Counts != res.Counts {
			t.Errorf("end: %+v", end)
		}
		check.Equal(t, "totals", end.Totals, subagent.AuditTotals{ToolCalls: 2, Unasked: 1, Allowed: 3, Files: 2, Commands: 1})
		if lines[0].Start.Granted != (subagent.AuditGranted{Files: "write", Terminals: true}) {
			t.Errorf("granted: %+v", lines[0].Start.Granted)
		}
	})
	t.Run("on", func(t *testing.T) {
		text, lines, _ := run(t, true)
		check.Has(t, text, markers...)
		check.Lacks(t, text, never...)
		if d := lines[1].ToolCall.Diffs; len(d) != 1 || d[0].New != "new-marker" || *d[0].Old != "old-marker" {
			t.Errorf("diffs: %+v", d)
		}
	})
}

// A secret of the environment is in no line, wherever the agent puts it.
func TestAuditCanary(t *testing.T) {
	const early = `on initialize
  request session/request_permission {"sessionId": "$c", "toolCall": {"toolCallId": "early $c", "title": "$c"}, "options": [{"optionId": "$c", "name": "$c", "kind": "allow_once"}]}
`
	ids := strings.Replace(aviary, "on session/prompt", `on session/prompt
  tool "id $c" "title $c" kind=edit status=in_progress input={"$c":["$c",{"k":"$c"}]} path=$c old="$c" new="$c"
  request session/request_permission {"sessionId": "nested $c", "toolCall": {"toolCallId": "id $c", "title": "$c", "rawInput": {"command": ["$c"], "cwd": "$c"}}, "options": [{"optionId": "id $c", "name": "$c", "kind": "allow_once"}]}
  request fs/write_text_file {"sessionId":"$session","path":"$cwd/$c","content":"$c"}
  request fs/read_text_file {"sessionId":"$session","path":"/$c"}
  request terminal/create {"sessionId":"$session","command":"$c","args":["$c"]}`, 1)
	for name, src := range map[string]string{
		"completes": ids,
		"early":     strings.Replace(ids, "on initialize\n", early, 1),
		"no start":  early + `  stderr "$c"; fail -32603 "no: $c"`,
	} {
		for _, content := range []bool{false, true} {
			for _, secret := range []string{"a word", "quotes", "not ASCII", "for HTML", "control characters"} {
				t.Run(name+", "+secret+map[bool]string{true: ", content"}[content], func(t *testing.T) {
					var out auditBuffer
					b := newBirdcage(t, canaries[secret], placings["in an argument too"], src)
					b.opts.Audit = &subagent.Audit{W: &out, Content: content}
					b.opts.Files, b.opts.Terminals = client.FilesWrite, true
					b.scene.provider = provider(t, b.cmd, &b.opts)
					// In a result ids stand as they came.
					_, err := subagent.Delegate(t.Context(), b.scene.provider, b.scene.request("go"))
					check.Equal(t, "started", err == nil, name != "no start")
					out.records(t)
					text := out.String()
					if found := canary.Find(canaries[secret], text); found != nil {
						t.Errorf("%d times, first %s", len(found), found[0])
					}
					if !strings.Contains(text, mark) {
						t.Errorf("nothing was redacted: %s", text)
					}
				})
			}
		}
	}
	t.Run("digits", func(t *testing.T) {
		var out auditBuffer
		s := play(t, `on session/prompt; tool c1 x input={"n":4711081512345678,"s":"\u0034711081512345678"}`,
			&subagent.ACPOptions{Audit: &subagent.Audit{W: &out, Content: true}}, "X_API_KEY=4711081512345678")
		s.run("go")
		check.Lacks(t, out.String(), "4711081512345678")
		check.Has(t, out.String(), mark)
	})
}

// A run that did not start has its two lines, with what is known.
func TestAuditNotStarted(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		kind   client.ErrorKind
	}{
		"dies":       {`on initialize; exit 3`, client.KindExit},
		"no session": {`on session/new; fail -32000 "log in"`, client.KindAuthRequired},
	} {
		t.Run(name, func(t *testing.T) {
			var out auditBuffer
			s := play(t, tt.script, &subagent.ACPOptions{Audit: &subagent.Audit{W: &out}})
			s.refused(t.Context(), s.request("go"), tt.kind)
			lines := out.records(t)
			check.Equal(t, "types", types(lines), "start end")
			start, end := lines[0].Start, lines[1].End
			if start.Dir != s.Dir || len(start.Agent.Command) == 0 || lines[0].SessionID != nil {
				t.Errorf("start: %+v", start)
			}
			if end.Stop != "error" || end.Error == nil || end.Error.Kind != tt.kind || end.Exit == nil {
				t.Errorf("end: %+v, error %+v", end, end.Error)
			}
		})
	}
	t.Run("nowhere to write", func(t *testing.T) {
		_, err := subagent.NewACP("x", client.Command{Path: os.Args[0]}, &subagent.ACPOptions{Audit: &subagent.Audit{}})
		asError(t, err, client.KindConfig)
	})
}

// Runs at the same time share one, and a file.
func TestAuditShared(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "audit"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const runs, calls = 8, 200
	p := scripted(t, `on session/prompt
		repeat 200
			tool "c$i" "Call $i" status=completed
		end`, &subagent.ACPOptions{Audit: &subagent.Audit{W: file}})
	req := subagent.Request{Dir: canonical(t, t.TempDir()), Prompt: subagent.Text("go")}
	tasks := make([]*subagent.Result, runs)
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() {
			res, err := subagent.Delegate(t.Context(), p, req)
			if err != nil {
				t.Errorf("run %d: %v", i, err)
				return
			}
			tasks[i] = res
		})
	}
	all.Wait()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	out := auditBuffer{lines: bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))}
	out.lines[len(out.lines)-1] = append(out.lines[len(out.lines)-1], '\n')
	seen := map[string][]string{}
	for _, rec := range out.records(t) {
		if rec.ToolCall != nil {
			seen[rec.RunID] = append(seen[rec.RunID], *rec.ToolCall.Title)
		}
	}
	for _, res := range tasks {
		if res == nil {
			continue
		}
		if got := seen[res.RunID]; len(got) != calls || got[0] != "Call 1" || got[calls-1] != "Call 200" || len(res.Warnings) != 0 {
			t.Errorf("run %s: %d calls, %q; warnings %q", res.RunID, len(got), got, res.Warnings)
		}
	}
}
