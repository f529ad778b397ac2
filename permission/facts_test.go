package permission_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/errand-acp/errand/permission"
)

func TestFacts(t *testing.T) {
	at := func(told, abs, key string) permission.Path {
		return permission.Path{Told: told, Abs: abs, Resolved: abs, Key: key}
	}
	argv := func(words ...string) permission.Command {
		return permission.Command{Argv: words, Env: []string{}, Dir: dir}
	}
	shell := func(line string) permission.Command {
		return permission.Command{Argv: []string{}, Env: []string{}, Dir: dir, Shell: true, Line: line}
	}
	old := "o"
	tests := []struct {
		name, call string
		want       permission.Facts
	}{
		{"nothing", `{}`, permission.Facts{Kinds: []acp.ToolKind{"other"}}},
		{"opencode's edit", `{"kind":"edit","title":"edit","locations":[{"path":"/home/u/project/a.go"}],"rawInput":{"filePath":"/home/u/project/a.go","oldString":"/etc/passwd","newString":"/etc/shadow"}}`,
			permission.Facts{Kinds: []acp.ToolKind{"edit"}, Title: "edit", Paths: []permission.Path{at("/home/u/project/a.go", dir+"/a.go", "locations")}}},
		{"opencode's bash", `{"kind":"execute","rawInput":{"command":"cd x && ls","description":"/etc"}}`,
			permission.Facts{Kinds: []acp.ToolKind{"execute"}, Commands: []permission.Command{shell("cd x && ls")}, Risks: []string{"shell line"}}},
		{"codex's shell", `{"kind":"execute","rawInput":{"call_id":"1","command":["bash","-lc","ls"],"cwd":"/home/u/project"}}`,
			permission.Facts{Kinds: []acp.ToolKind{"execute"}, Commands: []permission.Command{argv("bash", "-lc", "ls")}, Paths: []permission.Path{at(dir, dir, "cwd")}, Risks: []string{"interpreter or launcher: bash"}}},
		{"codex's patch", `{"kind":"edit","rawInput":{"changes":{"/home/u/project/a.go":{"update":{"unified_diff":"@@ /etc"}}}}}`,
			permission.Facts{Kinds: []acp.ToolKind{"edit"}, Paths: []permission.Path{at(dir+"/a.go", dir+"/a.go", "changes")}}},
		{"claude's tool", `{"kind":"read","_meta":{"claudeCode":{"toolName":"Read"}},"rawInput":{"file_path":"a.go"}}`,
			permission.Facts{Kinds: []acp.ToolKind{"read"}, Tools: []string{"Read"}, Paths: []permission.Path{at("a.go", dir+"/a.go", "file_path")}}},
		{"gemini's diff", `{"kind":"edit","content":[{"type":"diff","path":"a.go","oldText":"o","newText":"n"}]}`,
			permission.Facts{Kinds: []acp.ToolKind{"edit"}, Paths: []permission.Path{at("a.go", dir+"/a.go", "content")}, Diffs: []permission.Diff{{Path: dir + "/a.go", Old: &old, New: "n"}}}},
		{"a fetch", `{"kind":"fetch","rawInput":{"url":"https://u@Example.com:8443/x","prompt":"see https://other.example"}}`,
			permission.Facts{Kinds: []acp.ToolKind{"fetch"}, Hosts: []permission.Host{{Name: "example.com", Told: "https://u@Example.com:8443/x"}}}},
		{"curl", run("curl -s example.com/x"),
			permission.Facts{Kinds: []acp.ToolKind{"execute"}, Commands: []permission.Command{argv("curl", "-s", "example.com/x")}, Hosts: []permission.Host{{Name: "example.com", Told: "example.com/x", Command: true}}}},
		{"quotes", run(`git commit -m "a b; c" ''`), permission.Facts{Kinds: []acp.ToolKind{"execute"}, Commands: []permission.Command{argv("git", "commit", "-m", "a b; c", "")}}},
		{"variables", run(`CI=1 make check`), permission.Facts{Kinds: []acp.ToolKind{"execute"}, Commands: []permission.Command{{Argv: []string{"make", "check"}, Env: []string{"CI=1"}, Dir: dir}}, Risks: []string{"interpreter or launcher: make", "sets a variable: CI"}}},
		{"outside", edit("../x"), permission.Facts{Kinds: []acp.ToolKind{"edit"}, Paths: []permission.Path{at("../x", "/home/u/x", "path")}, Risks: []string{"outside the directory: ../x"}}},
		{"a mode", `{"kind":"switch_mode"}`, permission.Facts{Kinds: []acp.ToolKind{"switch_mode"}, Risks: []string{"kind switch_mode"}}},
		{"a command untold", `{"kind":"execute"}`, permission.Facts{Kinds: []acp.ToolKind{"execute"}, Risks: []string{"runs a command that it does not tell"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, tt.call).Facts()
			want := tt.want
			want.Method, want.Dir = "session/request_permission", dir
			type facts permission.Facts // without Equal
			if diff := cmp.Diff(facts(want), facts(got), cmpopts.IgnoreUnexported(facts{}), cmpopts.IgnoreFields(facts{}, "Digest"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.call, diff)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	base := `{"kind":"edit","rawInput":{"path":"a","n":1},"content":[{"type":"diff","path":"a","newText":"x"}]}`
	want := call(t, base).Facts().Digest
	if len(want) != 64 {
		t.Fatalf("digest %q", want)
	}
	for name, tt := range map[string]struct {
		call   string
		change func(*permission.Request)
		same   bool
	}{
		"again":                 {call: base, same: true},
		"keys in another order": {call: `{"content":[{"newText":"x","type":"diff","path":"a"}],"rawInput":{"n":1,"path":"a"},"kind":"edit"}`, same: true},
		"another title":         {call: base[:len(base)-1] + `,"title":"t","toolCallId":"c9"}`, same: true},
		"another run":           {call: base, change: func(r *permission.Request) { r.RunID = "other" }, same: true},
		"another session":       {call: base, change: func(r *permission.Request) { r.SessionID = "other" }},
		"another directory":     {call: base, change: func(r *permission.Request) { r.Dir = "/other" }},
		"another method":        {call: base, change: func(r *permission.Request) { r.Method = "fs/write_text_file" }},
		"another number":        {call: `{"kind":"edit","rawInput":{"path":"a","n":2},"content":[{"type":"diff","path":"a","newText":"x"}]}`},
		"another kind":          {call: `{"kind":"read","rawInput":{"path":"a","n":1},"content":[{"type":"diff","path":"a","newText":"x"}]}`},
		"another text":          {call: `{"kind":"edit","rawInput":{"path":"a","n":1},"content":[{"type":"diff","path":"a","newText":"y"}]}`},
		"another location":      {call: base[:len(base)-1] + `,"locations":[{"path":"b"}]}`},
	} {
		req := call(t, tt.call)
		if tt.change != nil {
			tt.change(&req)
		}
		if got := req.Facts().Digest; (got == want) != tt.same {
			t.Errorf("%s: digest %s beside %s", name, got, want)
		}
	}
	req := call(t, base)
	req.ToolCall.RawInput = func() {}
	if f := req.Facts(); f.Digest != "" || !f.Incomplete {
		t.Errorf("what is no JSON: %+v", f)
	}
}

// The facts are drawn once a decision, and told in its record.
func TestFactsInTheRecord(t *testing.T) {
	asked := 0
	req := call(t, edit("a"))
	req.Resolve = func(path string) (string, error) { asked++; return path, nil }
	p := permission.Strictest(rules(t, workspace), rules(t, workspace), permission.Ask{Func: answer("yes")})
	_, rec := permission.Decide(t.Context(), p, req)
	three := asked
	if rec.Facts == nil || rec.Facts.Digest != req.Facts().Digest || len(rec.Facts.Paths) != 1 {
		t.Fatalf("facts %+v", rec.Facts)
	}
	asked = 0
	if permission.Decide(t.Context(), rules(t, workspace), req); asked != three {
		t.Errorf("three policies resolve %d paths, one %d", three, asked)
	}
	if _, rec := permission.Decide(t.Context(), permission.Allow(), req); rec.Facts != nil {
		t.Errorf("facts %+v of a policy that looks at the options", rec.Facts)
	}

	clean := rec.Facts.Map(func(s string) string { return "<" + s + ">" })
	if clean.Paths[0].Told != "<a>" || rec.Facts.Paths[0].Told != "a" || clean.Digest != rec.Facts.Digest {
		t.Errorf("mapped to %+v from %+v", clean, rec.Facts)
	}
}

// What sets variables for a command is worth a look each time: by PATH and others it is
// another program that runs.
func TestFactsOfVariables(t *testing.T) {
	rules := rules(t, `{"rules":[{"name":"go","effect":"allow","commands":[["go","test","**"],["PATH=x","go","test","**"]],"always":true}]}`)
	for _, tt := range []struct {
		method, input, program string
		risks                  []string
		standing               bool
	}{
		{"", `{"command":"go test ./..."}`, "/usr/bin/go", nil, true},
		{"", `{"command":"PATH=x go test ./..."}`, "", []string{"sets a variable: PATH"}, false},
		{"", `{"command":["go","test"],"env":{"Path":"x","LD_PRELOAD":"a=b"}}`, "", []string{"sets a variable: LD_PRELOAD", "sets a variable: Path"}, false},
		{"", `{"command":["go","test"],"env":{"PATHS":"x"}}`, "/usr/bin/go", []string{"sets a variable: PATHS"}, false},
		{acp.ClientMethodTerminalCreate, `{"command":"PATH=x go test ./..."}`, "/usr/bin/go", []string{"sets a variable: PATH"}, false}, // which LookPath knows
	} {
		req := call(t, `{"kind":"execute","rawInput":`+tt.input+`}`)
		req.Method = tt.method
		req.LookPath = func(name string) (string, error) { return "/usr/bin/" + name, nil }
		f := req.Facts()
		if len(f.Commands) != 1 || f.Commands[0].Program != tt.program {
			t.Errorf("%s: commands %+v, want the program %q", tt.input, f.Commands, tt.program)
		}
		if diff := cmp.Diff(tt.risks, f.Risks, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: risks (-want +got):\n%s", tt.input, diff)
		}
		if v := rules.Explain(req); v.Standing != tt.standing {
			t.Errorf("%s: %+v", tt.input, v)
		}
	}
}

// The names of the facts are a contract, and none is left out.
func TestFactsJSON(t *testing.T) {
	text, err := json.Marshal(permission.Facts{
		Paths: []permission.Path{{}}, Commands: []permission.Command{{}}, Hosts: []permission.Host{{}}, Diffs: []permission.Diff{{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"method":"","kinds":null,"tools":null,"title":"","dir":"",` +
		`"paths":[{"told":"","abs":"","resolved":"","key":"","odd":""}],` +
		`"commands":[{"argv":null,"env":null,"dir":"","shell":false,"line":"","program":""}],` +
		`"hosts":[{"name":"","told":"","command":false}],"diffs":[{"path":"","old":null,"new":""}],` +
		`"risks":null,"incomplete":false,"digest":""}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A write of a large file is looked at in passing: what it costs must not be a multiple
// of the file.
func TestDigestOfLargeText(t *testing.T) {
	const size = 8 << 20
	old, text := strings.Repeat("o", size), strings.Repeat("n", size)
	req := permission.Request{SessionID: "s", Dir: t.TempDir(), ToolCall: acp.ToolCallUpdate{
		ToolCallId: "c", Content: []acp.ToolCallContent{acp.ToolDiffContent("f", text, old)},
		RawInput: map[string]any{"path": "f", "content": text},
	}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f := req.Facts()
	runtime.ReadMemStats(&after)
	if len(f.Digest) != 64 || len(f.Diffs) != 1 {
		t.Fatalf("digest %q, %d diffs", f.Digest, len(f.Diffs))
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > size {
		t.Errorf("the facts of a text of %d bytes allocated %d", size, got)
	}
}
