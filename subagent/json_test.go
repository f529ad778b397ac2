package subagent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// allBlocks has every kind of content block, with everything in it that can be.
func allBlocks() []acp.ContentBlock {
	priority := 0.5
	annotations := &acp.Annotations{Audience: []acp.Role{acp.RoleUser}, Priority: &priority, LastModified: ptr("2026-01-01T00:00:00Z")}
	meta := map[string]any{"trace": "t1"}
	return []acp.ContentBlock{
		{Text: &acp.ContentBlockText{Type: "text", Text: "line\n\"quoted\" <tag> \u2028 ü", Annotations: annotations, Meta: meta}},
		{Image: &acp.ContentBlockImage{Type: "image", Data: "aGk=", MimeType: "image/png", Uri: ptr("file:///a.png"), Annotations: annotations, Meta: meta}},
		{Audio: &acp.ContentBlockAudio{Type: "audio", Data: "aGk=", MimeType: "audio/wav", Annotations: annotations, Meta: meta}},
		{ResourceLink: &acp.ContentBlockResourceLink{
			Type: "resource_link", Name: "n", Uri: "file:///n", Description: ptr("d"), MimeType: ptr("text/plain"), Size: ptr(3), Title: ptr("T"),
			Annotations: annotations, Meta: meta,
		}},
		{Resource: &acp.ContentBlockResource{Type: "resource", Annotations: annotations, Meta: meta, Resource: acp.EmbeddedResourceResource{
			TextResourceContents: &acp.TextResourceContents{Uri: "file:///t", Text: "t", MimeType: ptr("text/plain"), Meta: meta},
		}}},
		{Resource: &acp.ContentBlockResource{Type: "resource", Resource: acp.EmbeddedResourceResource{
			BlobResourceContents: &acp.BlobResourceContents{Uri: "file:///b", Blob: "aGk=", MimeType: ptr("application/octet-stream"), Meta: meta},
		}}},
	}
}

func TestRequestJSON(t *testing.T) {
	for name, req := range map[string]subagent.Request{
		"the least": {Prompt: subagent.Text("hello"), Dir: "/work"},
		"everything": {
			Prompt: allBlocks(), Dir: "/work", ParentDir: "/parent", Labels: map[string]string{"tenant": "t1"},
			Model: "big", Mode: "plan", OutputSchema: json.RawMessage(`{"type":"object"}`), MaxDepth: ptr(0), Tools: []string{"read"},
		},
		"no tool at all": {Prompt: subagent.Text("x"), Dir: "/work", Tools: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(req)
			if err != nil {
				t.Fatal(err)
			}
			var back subagent.Request
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(req, back); diff != "" {
				t.Errorf("it changed on its way through %s (-before +after):\n%s", raw, diff)
			}
			if diff := cmp.Diff(req.Needs(), back.Needs()); diff != "" {
				t.Errorf("its needs changed (-before +after):\n%s", diff)
			}
		})
	}

	raw, err := json.Marshal(subagent.Request{Prompt: subagent.Text("hello"), Dir: "/work", Events: func(subagent.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "JSON", string(raw), `{"prompt":[{"text":"hello","type":"text"}],"dir":"/work"}`)
}

// A block that was read is the one that was written, or an error.
func TestRequestJSONOfUnknownBlock(t *testing.T) {
	for _, tt := range []struct{ block, want string }{
		{`{"type":"video","data":"AA==","mimeType":"video/mp4"}`, `prompt block 1: ACP has no content of the type "video"`},
		{`{"type":"Text","text":"hi"}`, `prompt block 1: ACP has no content of the type "Text"`},
		{`{"text":"hi"}`, `prompt block 1: ACP has no content of the type ""`},
		{`null`, `prompt block 1: ACP has no content of the type ""`},
		{`{"type":7}`, `prompt block 1: json: cannot unmarshal number`},
		{`"hi"`, `prompt block 1: json: cannot unmarshal string`},
	} {
		var req subagent.Request
		err := json.Unmarshal([]byte(`{"dir":"/d","prompt":[{"type":"text","text":"a"},`+tt.block+`]}`), &req)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: read as %+v, %v; want %s", tt.block, req.Prompt, err, tt.want)
		}
	}
}

// What an event does not have is left out; what it has is a contract.
func TestEventJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	event := func(typ subagent.EventType) subagent.Event {
		return subagent.Event{Type: typ, RunID: "run-1", Time: at}
	}
	start, update, asked, warning, end := event(subagent.EventStart), event(subagent.EventUpdate), event(subagent.EventPermission), event(subagent.EventWarning), event(subagent.EventEnd)
	start.Start = &subagent.Start{Provider: "p", Dir: "/work", Agent: subagent.Agent{Command: []string{}}}
	update.SessionID, update.Update = "s", json.RawMessage(`{"sessionUpdate":"new_kind","x":[1]}`)
	asked.Permission = &permission.Record{ToolCallID: "c", Options: []permission.Option{}}
	warning.Warning = "w"
	result := fullResult()
	end.Result = &result
	const head = `"runId":"run-1","time":"2026-01-02T03:04:05Z"`
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		event subagent.Event
		want  string
	}{
		{start, `{"type":"start",` + head + `,"start":{"provider":"p","sessionId":null,"dir":"/work","labels":null,"protocolVersion":null,` +
			`"client":{"name":"","version":""},"agent":{"name":null,"version":null,"command":[],"path":null},"model":null,"mode":null,"withheldEnv":null}}`},
		{update, `{"type":"update",` + head + `,"sessionId":"s","update":{"sessionUpdate":"new_kind","x":[1]}}`},
		{asked, `{"type":"permission",` + head + `,"permission":{"sessionId":"","toolCallId":"c","kind":null,"title":null,"rawInput":null,` +
			`"options":[],"decision":"","optionId":null,"rule":"","ambiguous":false,"facts":null,"ms":0}}`},
		{warning, `{"type":"warning",` + head + `,"warning":"w"}`},
		{end, `{"type":"end",` + head + `,"result":` + string(raw) + `}`},
	} {
		got, err := json.Marshal(tt.event)
		if err != nil {
			t.Fatal(err)
		}
		check.Equal(t, string(tt.event.Type), string(got), tt.want)
	}
}

// fullResult has every field set.
func fullResult() subagent.Result {
	return subagent.Result{
		SchemaVersion: subagent.SchemaVersion, RunID: "run-1", Provider: "p", SessionID: ptr("s"), Dir: "/work",
		StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Labels: map[string]string{"a": "b"}, Meta: map[string]any{"m": 1.0},
		ProtocolVersion: ptr(1), Client: client.Implementation{Name: "c", Version: "1"},
		Agent: subagent.Agent{Name: ptr("a"), Version: ptr("2"), Command: []string{"a", "acp"}, Path: ptr("/bin/a")},
		Model: ptr("m"), Mode: ptr("plan"), Stop: stopreason.Error, StopReason: ptr("banana"),
		Output: "out", Messages: []subagent.Message{{ID: ptr("1"), Text: "out"}}, Truncated: true, Empty: true, Structured: json.RawMessage(`{"a":1}`),
		ToolCalls: []subagent.ToolCall{{ID: "c", Title: ptr("T"), Kind: ptr("edit"), Status: "unknown", Permitted: ptr(false)}},
		Permissions: []permission.Record{{
			SessionID: "s", ToolCallID: "c", Kind: ptr("edit"), Title: ptr("T"), RawInput: map[string]any{"x": 1.0},
			Options: []permission.Option{{ID: "o", Kind: "allow_once"}}, Decision: permission.Denied, OptionID: ptr("o"), Rule: "r", Ambiguous: true, Ms: 0.5,
		}},
		Plan: []subagent.PlanEntry{{Content: "c", Priority: "high", Status: "pending"}},
		Usage: &subagent.Usage{
			InputTokens: ptr(1.0), OutputTokens: ptr(2.0), TotalTokens: ptr(3.0), ThoughtTokens: ptr(4.0), CachedReadTokens: ptr(5.0),
			CachedWriteTokens: ptr(6.0), ContextUsed: ptr(7.0), ContextSize: ptr(8.0), Cost: &subagent.Cost{Amount: 0.1, Currency: "USD"},
		},
		Files: []client.FileRecord{{SessionID: "s", Op: client.FileRead, Path: "/a", Bytes: 3, Ms: 1}}, Commands: []client.CommandRecord{{SessionID: "s", TerminalID: ptr("t"), Command: []string{"go"}, Exit: &client.CommandExit{}}}, Patch: ptr("p"),
		Changes:  []subagent.Change{{Path: "a", OldPath: ptr("b"), Status: subagent.ChangeRenamed, Added: ptr(1), Deleted: ptr(2), Binary: true}},
		Worktree: &subagent.WorktreeInfo{Repository: "/r", Base: "c", Uncommitted: true, Kept: ptr("/k")},
		Error:    &subagent.Error{Kind: client.KindAgent, Step: client.StepPrompt, Message: "m", Code: ptr(-1), Data: json.RawMessage(`[1]`), Retryable: true},
		Exit:     &client.Exit{Code: ptr(3), Signal: ptr("SIGTERM"), Rung: client.RungTerm}, StderrTail: "e", StderrTruncated: true,
		Noise: subagent.Noise{Lines: 2, First: []string{"n"}}, Counts: subagent.Counts{Updates: 1, Unknown: 2, Foreign: 3, Late: 4, Dropped: 5},
		WithheldEnv: []string{"KEY"}, Warnings: []string{"w"}, ContinuedFrom: ptr("run-0"),
		Attempts: []subagent.Attempt{{
			Provider: "q", RunID: ptr("run-0"), StartedAt: time.Date(2026, 1, 2, 3, 4, 4, 0, time.UTC), Ms: 2,
			Error: &subagent.Error{Kind: client.KindExit, Step: client.StepInitialize, Message: "m", Data: json.RawMessage("null")},
		}},
		Timing: subagent.Timing{StartMs: 1, PromptMs: 2, CloseMs: 3, TotalMs: 6},
	}
}

func TestResultJSON(t *testing.T) {
	full := fullResult()
	raw, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var back subagent.Result
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full, back, cmpopts.IgnoreFields(subagent.Error{}, "Err")); diff != "" {
		t.Errorf("it changed on its way through %s (-before +after):\n%s", raw, diff)
	}
	// A reader ignores what it does not know.
	if err := json.Unmarshal([]byte(strings.Replace(string(raw), `{`, `{"brandNew":{"a":[1]},`, 1)), &back); err != nil {
		t.Errorf("with a field of a later version: %v", err)
	}

	// The names are a contract, and so is that none is left out.
	check.Equal(t, "fields", keys(t, raw), keys(t, []byte(contract)))
	res := play(t, `on session/prompt; text hi`, nil).run("go")
	raw, err = json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal([]byte(contract), &want); err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is left out of a plain result", name)
		}
	}
	for _, name := range []string{"meta", "model", "mode", "structured", "plan", "usage", "files", "commands", "patch", "changes", "worktree", "error", "attempts", "continuedFrom"} {
		check.Equal(t, name+" of a plain result", string(got[name]), "null")
	}
	for _, name := range []string{"toolCalls", "permissions", "warnings"} {
		check.Equal(t, name+" of a plain result", string(got[name]), "[]")
	}
	check.Equal(t, "labels of a plain result", string(got["labels"]), "{}")
	check.Equal(t, "exit of a plain result", string(got["exit"]), `{"code":0,"signal":null,"rung":"eof"}`)
}

// contract is the result as DESIGN.md has it.
const contract = `{
  "schemaVersion": 1, "runId": "", "provider": "", "sessionId": "", "dir": "", "startedAt": "", "labels": {}, "meta": {},
  "protocolVersion": 1, "client": {"name": "", "version": ""}, "agent": {"name": "", "version": "", "command": [], "path": ""},
  "model": "", "mode": "", "stop": "", "stopReason": "",
  "output": "", "messages": [{"id": "", "text": ""}], "truncated": false, "empty": false, "structured": null,
  "toolCalls": [{"id": "", "title": "", "kind": "", "status": "", "permitted": null}],
  "permissions": [{"sessionId": "", "toolCallId": "", "kind": "", "title": "", "rawInput": {}, "options": [{"id": "", "kind": ""}],
    "decision": "", "optionId": "", "rule": "", "ambiguous": false, "facts": null, "ms": 0}],
  "plan": [{"content": "", "priority": "", "status": ""}],
  "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0, "thoughtTokens": 0, "cachedReadTokens": 0, "cachedWriteTokens": 0,
    "contextUsed": 0, "contextSize": 0, "cost": {"amount": 0, "currency": ""}},
  "files": [{"sessionId": "", "toolCallId": "", "op": "", "path": "", "bytes": 0, "missing": false, "error": null, "ms": 0}],
  "commands": [{"sessionId": "", "toolCallId": "", "terminalId": "", "command": [], "dir": "", "exit": {"code": 0, "signal": ""}, "outputBytes": 0,
    "truncated": false, "error": null, "ms": 0}], "patch": null,
  "changes": [{"path": "", "oldPath": "", "status": "", "added": 0, "deleted": 0, "binary": false}],
  "worktree": {"repository": "", "base": "", "uncommitted": false, "kept": ""},
  "error": {"kind": "", "step": "", "message": "", "code": 0, "data": null, "retryable": false},
  "exit": {"code": 0, "signal": "", "rung": ""}, "stderrTail": "", "stderrTruncated": false,
  "noise": {"lines": 0, "first": []}, "counts": {"updates": 0, "unknown": 0, "foreign": 0, "late": 0, "dropped": 0},
  "withheldEnv": [], "warnings": [], "continuedFrom": "",
  "attempts": [{"provider": "", "runId": "", "startedAt": "", "ms": 0,
    "error": {"kind": "", "step": "", "message": "", "code": null, "data": null, "retryable": false}}],
  "prewarmed": false, "timing": {"startMs": 0, "promptMs": 0, "closeMs": 0, "totalMs": 0} }`

// keys lists the names of the objects in JSON, as far as the contract has them.
func keys(t testing.TB, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	free := map[string]bool{"labels": true, "meta": true, "structured": true, "rawInput": true, "data": true, "facts": true}
	var shape func(v any) any
	shape = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for name, value := range v {
				out[name] = nil
				if !free[name] {
					out[name] = shape(value)
				}
			}
			return out
		case []any:
			if len(v) > 0 {
				return shape(v[0])
			}
		}
		return nil
	}
	out, err := json.Marshal(shape(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
