package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// resultFields are the fields of the result and of the objects in it, as the contract
// has them. None may ever go.
var resultFields = map[string]string{
	"": "schemaVersion runId provider sessionId dir startedAt labels meta protocolVersion client agent model mode stop " +
		"stopReason output messages truncated empty structured toolCalls permissions plan usage files commands patch changes worktree error " +
		"exit stderrTail stderrTruncated noise counts withheldEnv warnings attempts continuedFrom prewarmed timing",
	"client": "name version", "agent": "name version command path", "messages": "id text",
	"toolCalls":   "id title kind status permitted",
	"permissions": "toolCallId kind title options decision optionId rule ms",
	"error":       "kind step message code data retryable", "exit": "code signal rung", "noise": "lines first",
	"counts": "updates unknown foreign late dropped", "timing": "startMs promptMs closeMs totalMs",
	"attempts": "provider runId startedAt ms error",
	"changes":  "path oldPath status added deleted binary", "worktree": "repository base uncommitted kept",
}

// schema returns what `errand schema NAME` prints.
func schema(t *testing.T, name string) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	got := newProgram(t).run("schema", name)
	if got.status != statusOK || got.stderr != "" {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(got.stdout), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &s, resolved
}

func validate(t *testing.T, r *jsonschema.Resolved, doc string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	if err := r.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, doc)
	}
	return v
}

// Results of every sort match the schema and have every field of the contract.
func TestSchemaOfResults(t *testing.T) {
	s, resolved := schema(t, "result")
	hi := func(flags ...string) []string { return append([]string{"run", "--json", "hi"}, flags...) }
	for name, args := range map[string][]string{
		"demo":           hi("--agent", "demo", "--permission", "allow"),
		"configuration":  hi("--agent", "nobody"),
		"no such file":   hi("--", "/nonexistent/agent"),
		"start fails":    append(hi(), scripted(t, "stderr oh\nexit 3\n")...),
		"refused":        append(hi(), scripted(t, "on session/prompt\n  stop refusal\n")...),
		"agent's error":  append(hi(), scripted(t, "on session/prompt\n  plan \"[x] a\" b\n  noise x\n  usage used=1 size=2\n  fail 401 no {\"a\": [1]}\n")...),
		"killed":         append(hi(), scripted(t, "on session/prompt\n  tool 1 t\n  raise KILL\n")...),
		"timeout":        append(hi("--timeout", "500ms"), scripted(t, "on session/prompt\n  wait cancel\n  stop cancelled\n")...),
		"odd stop":       append(hi(), scripted(t, "on session/prompt\n  reply {\"stopReason\": 7, \"_meta\": {\"x\": 1}}\n")...),
		"odd permission": append(hi(), scripted(t, "on session/prompt\n  request session/request_permission {\"sessionId\": \"session-1\", \"toolCall\": {\"toolCallId\": \"x\"}, \"options\": null}\n  stop end_turn\n")...),
	} {
		t.Run(name, func(t *testing.T) {
			got := newProgram(t).run(args...)
			doc := validate(t, resolved, got.stdout)
			for object, fields := range resultFields {
				for _, v := range objectsAt(doc, object) {
					for field := range strings.FieldsSeq(fields) {
						if _, ok := v[field]; !ok {
							t.Errorf("%s.%s is missing", object, field)
						}
					}
				}
			}
		})
	}

	// The schema has all the fields too, requires them, and allows others.
	for object, fields := range resultFields {
		at := s
		if object != "" {
			if at = s.Properties[object]; at.Items != nil {
				at = at.Items
			}
		}
		for field := range strings.FieldsSeq(fields) {
			if at.Properties[field] == nil || !slices.Contains(at.Required, field) {
				t.Errorf("the schema lacks %s.%s, or does not require it", object, field)
			}
		}
		if at.AdditionalProperties != nil {
			t.Errorf("the schema closes %q: fields may be added", object)
		}
	}
}

// objectsAt returns the objects in a field of doc, doc itself for "".
func objectsAt(doc map[string]any, field string) []map[string]any {
	if field == "" {
		return []map[string]any{doc}
	}
	switch v := doc[field].(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var list []map[string]any
		for _, e := range v {
			list = append(list, e.(map[string]any))
		}
		return list
	}
	return nil
}

// The schema tells a result from what is none.
func TestSchemaRefuses(t *testing.T) {
	_, resolved := schema(t, "result")
	good := newProgram(t).run(append([]string{"run", "--json", "hi"}, scripted(t, "on session/prompt\n  text x\n  stop end_turn\n")...)...).stdout
	for name, change := range map[string]func(map[string]any){
		"unknown stop":    func(v map[string]any) { v["stop"] = "cancelled" },
		"null output":     func(v map[string]any) { v["output"] = nil },
		"null list":       func(v map[string]any) { v["warnings"] = nil },
		"a missing field": func(v map[string]any) { delete(v, "exit") },
		"unknown kind": func(v map[string]any) {
			v["error"] = map[string]any{"kind": "oops", "step": "spawn", "message": "", "code": nil, "data": nil, "retryable": false}
		},
		"number as string": func(v map[string]any) { v["protocolVersion"] = "1" },
	} {
		var v map[string]any
		if err := json.Unmarshal([]byte(good), &v); err != nil {
			t.Fatal(err)
		}
		v["addedLater"] = 1
		if err := resolved.Validate(v); err != nil {
			t.Fatalf("a field that was added: %v", err)
		}
		if change(v); resolved.Validate(v) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestSchemaOfEvents(t *testing.T) {
	_, resolved := schema(t, "event")
	got := newProgram(t).run(append([]string{"run", "--events", "--permission", "allow", "hi"}, scripted(t, `
on session/prompt
  permission call-1 "Do it"
    option yes allow_once "Yes"
    option sure allow_once "Yes, and more"
  end
  update {"sessionUpdate": "brand_new"}
  stop end_turn
`)...)...)
	seen := map[string]bool{}
	for line := range strings.Lines(got.stdout) {
		v := validate(t, resolved, line)
		seen[v["type"].(string)] = true
		delete(v, map[string]string{"start": "start", "update": "update", "permission": "permission", "warning": "warning", "end": "result"}[v["type"].(string)])
		if resolved.Validate(v) == nil {
			t.Errorf("accepted without what it tells: %v", v)
		}
	}
	if len(seen) != 5 {
		t.Errorf("only %v came", seen)
	}
}

// Every sort of line that --audit writes matches its schema.
func TestSchemaOfAudits(t *testing.T) {
	_, resolved := schema(t, "audit")
	p := newProgram(t)
	p.run(append([]string{"run", "--json", "--audit", "audit.jsonl", "--permission", "allow", "--fs", "write", "--terminal", "hi"}, scripted(t, asking(`
  tool t1 "Look" kind=read status=completed
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/out", "content": "text"}
  request terminal/create {"sessionId": "$session", "command": "true"}
`))...)...)
	p.run("run", "--json", "--audit", "audit.jsonl", "hi", "--", filepath.Join(p.Dir, "no-such-agent"))
	seen := map[string]bool{}
	for line := range strings.Lines(readFile(t, filepath.Join(p.Dir, "audit.jsonl"))) {
		v := validate(t, resolved, line)
		kind := v["type"].(string)
		seen[kind] = true
		delete(v, kind)
		if resolved.Validate(v) == nil {
			t.Errorf("accepted without what it tells: %v", v)
		}
	}
	if len(seen) != len(auditTypes) {
		t.Errorf("only %v came", seen)
	}
}

// Every sort of line of a transcript matches its schema, as recorded and normalized, and
// what is none does not.
func TestSchemaOfTranscripts(t *testing.T) {
	_, resolved := schema(t, "transcript")
	p := newProgram(t)
	p.run(append([]string{"run", "--transcript", "talk", "hi"}, scripted(t, "stderr \"a line\\n\"\non session/prompt\n  noise x\n  noise size=100KB\n  raw \"[{}]\\n\"\n  text x\n  stop end_turn\n")...)...)
	p.run("run", "--transcript", "failed", "hi", "--", filepath.Join(p.Dir, "no-such-agent"))
	recorded := readFile(t, p.Dir, "talk")
	var normalized strings.Builder
	c := conversation(t, p.Dir, "talk").Normalize(transcript.IDs(), transcript.Times(), transcript.Versions(), transcript.Command("agent"))
	if _, err := c.WriteTo(&normalized); err != nil {
		t.Fatal(err)
	}
	has(t, "the transcript", recorded, `"from":"stderr"`, `"text":"x"`, `"bytes":`, `"frame":[{}]`, `"end":`)
	for line := range strings.Lines(recorded + normalized.String() + readFile(t, p.Dir, "failed")) {
		v := validate(t, resolved, line)
		v["addedLater"] = 1
		if err := resolved.Validate(v); err != nil {
			t.Errorf("a field that was added: %v", err)
		}
		for _, field := range []string{"transcript", "command", "from", "frame", "text", "end"} {
			if old, ok := v[field]; ok {
				if v[field] = 7; resolved.Validate(v) == nil {
					t.Errorf("accepted: %v", v)
				}
				if delete(v, field); field != "text" && resolved.Validate(v) == nil {
					t.Errorf("accepted without %s: %v", field, v)
				}
				v[field] = old
			}
		}
	}
	for _, line := range []string{
		`{}`, `{"transcript":2,"runId":"","client":{"name":"","version":""},"command":[],"dir":""}`, `{"from":"agent"}`, `{"from":"me","text":""}`,
		`{"from":"agent","text":"a","frame":{}}`, `{"from":"agent","frame":{},"bytes":3}`, `{"from":"agent","text":"a","bytes":0}`,
		`{"from":"agent","frame":"x"}`, `{"ms":"1","from":"agent","text":""}`, `{"end":{"code":0,"signal":null,"rung":"ladder"}}`, `{"end":{"code":0}}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if resolved.Validate(v) == nil {
			t.Errorf("accepted: %s", line)
		}
	}
}

func TestSchemaNames(t *testing.T) {
	if got := newProgram(t).run("schema"); got.stdout != "audit\ncheck\nevent\nfan\nfan-event\npermission\npermission-reply\npolicy\nrequest\nresult\ntranscript\n" || got.status != statusOK {
		t.Errorf("status %d, stdout %q", got.status, got.stdout)
	}
}

func TestSchemaOfRequests(t *testing.T) {
	_, resolved := schema(t, "request")
	depth := 2
	doc, err := json.Marshal(subagent.Request{Prompt: subagent.Text("hi"), Dir: "/", Labels: map[string]string{"a": "b"}, MaxDepth: &depth, Tools: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	validate(t, resolved, string(doc))
	if resolved.Validate(map[string]any{"prompt": []any{"hi"}}) == nil {
		t.Error("a block that is no object is accepted")
	}
}

// The schema of a policy accepts what --policy does, and refuses what it refuses.
func TestSchemaOfPolicies(t *testing.T) {
	_, resolved := schema(t, "policy")
	for text, good := range map[string]bool{
		`{"rules": []}`: true,
		`{"version": 1, "default": "ask", "rules": [{"effect": "allow", "paths": ["./**"], "commands": [["go", "**"]]}]}`: true,
		`{"rules": [{"effect": "perhaps", "paths": ["./**"]}]}`:                                                           false,
		`{"rules": [{"effect": "allow", "path": ["./**"]}]}`:                                                              false,
		`{"rules": [{"effect": "allow", "commands": ["go test"]}]}`:                                                       false,
		`{"rule": []}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != good {
			t.Errorf("the schema says of %s: %v", text, err)
		}
		if _, err := permission.ParseRules([]byte(text)); (err == nil) != good {
			t.Errorf("--policy says of %s: %v", text, err)
		}
	}
}

// Whatever is a constant of a type in the contract is in the schema.
func TestSchemaHasAllWords(t *testing.T) {
	notInAResult := []string{"cancelled"} // client.KindCancelled, of a start
	for _, tt := range []struct {
		dir, typ string
		want     []string
	}{
		{"../../client", "ErrorKind", append(words(errorKinds), notInAResult...)},
		{"../../client", "Step", words(steps)},
		{"../../client", "Rung", words(rungs)},
		{"../../stopreason", "Outcome", words(stops)},
		{"../../permission", "Outcome", words(decisions)},
		{"../../subagent", "EventType", words(eventTypes)},
		{"../../subagent", "AuditType", words(auditTypes)},
		{"../../subagent", "ChangeStatus", words(changes)},
	} {
		want := slices.Sorted(slices.Values(tt.want))
		if diff := cmp.Diff(want, constants(t, tt.dir, tt.typ)); diff != "" {
			t.Errorf("%s %s (-schema +source):\n%s", tt.dir, tt.typ, diff)
		}
	}
}

func words[T ~string](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}

// constants returns the values of the constants of a string type in a package.
func constants(t *testing.T, dir, typ string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != typ {
				return true
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						values = append(values, text)
					}
				}
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}
