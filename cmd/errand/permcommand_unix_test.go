//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/canary"
	"github.com/errand-acp/errand/internal/redact"
	"github.com/errand-acp/errand/permission"
)

// commandLine returns a --permission-command of a shell script.
func commandLine(t *testing.T, src string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "decide")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+src), 0o755); err != nil {
		t.Fatal(err)
	}
	return "'" + file + "'"
}

// decider returns the policy of a shell script, which has time enough, and what is told of
// its stderr.
func decider(t *testing.T, src string) (c *permissionCommand, told func() string) {
	t.Helper()
	c, err := newPermissionCommand(commandLine(t, src))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	c.timeout = tooLong
	var mu sync.Mutex // guards text
	var text strings.Builder
	c.tell = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&text, line)
	}
	return c, func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

// onceOrAlways are the options of most agents.
var onceOrAlways = []acp.PermissionOption{
	{OptionId: "always", Kind: acp.PermissionOptionKindAllowAlways, Name: "Always"},
	{OptionId: "yes", Kind: acp.PermissionOptionKindAllowOnce, Name: "Yes"},
	{OptionId: "no", Kind: acp.PermissionOptionKindRejectOnce, Name: "No"},
}

func editOf(path string) permission.Request {
	kind, title := acp.ToolKindEdit, "Edit "+path
	return permission.Request{
		SessionID: "session-1", RunID: "run-1", Dir: "/work",
		ToolCall: acp.ToolCallUpdate{ToolCallId: "call-1", Kind: &kind, Title: &title, Locations: []acp.ToolCallLocation{{Path: path}}},
		Options:  onceOrAlways,
	}
}

// What a permission command makes of its question, and what comes of that.
func TestPermissionCommand(t *testing.T) {
	const rule = "permission-command"
	for name, tt := range map[string]struct {
		src     string
		options []acp.PermissionOption
		want    string // the option
		rule    string
	}{
		"exit 0":                {src: `exit 0`, want: "yes", rule: rule},
		"blank stdout":          {src: `echo; echo " "`, want: "yes", rule: rule},
		"exit 1":                {src: `exit 1`, want: "no", rule: rule + ": exit status 1"},
		"exit 255":              {src: `exit 255`, want: "no", rule: rule + ": exit status 255"},
		"allow":                 {src: `echo '{"decision": "allow"}'`, want: "yes", rule: rule},
		"allow, with a reason":  {src: `echo '{"decision": "allow", "reason": "in a branch"}'`, want: "yes", rule: rule + ": in a branch"},
		"reject":                {src: `printf %s '{"decision": "reject", "reason": " not\u001bhere\n"}'`, want: "no", rule: rule + `: rejected: not\u{1b}here`},
		"cancel":                {src: `echo '{"decision": "cancel"}'`, want: "", rule: rule + ": cancelled"},
		"an option":             {src: `echo '{"optionId": "yes"}'`, want: "yes", rule: rule},
		"an option that denies": {src: `echo '{"optionId": "no"}'`, want: "no", rule: rule},
		"a standing option":     {src: `echo '{"optionId": "always"}'`, want: "no", rule: rule + ": no standing grant"},
		"an option not offered": {src: `echo '{"optionId": "perhaps"}'`, want: "no", rule: rule + ": option not offered"},
		"an empty option":       {src: `echo '{"optionId": ""}'`, want: "no", rule: rule + ": its optionId is empty"},
		"the question's id": {
			src: `read -r q; id=${q#*'"id":"'}; printf '{"questionId": "%s", "decision": "allow"}' "${id%%'"'*}"`, want: "yes", rule: rule,
		},
		"another question's id":    {src: `echo '{"questionId": "x", "decision": "allow"}'`, want: "no", rule: rule + ": an answer to another question"},
		"an empty id":              {src: `echo '{"questionId": "", "optionId": "yes"}'`, want: "no", rule: rule + ": an answer to another question"},
		"allow, and exit 1":        {src: `echo '{"decision": "allow"}'; exit 1`, want: "no", rule: rule + ": exit status 1"},
		"reject, and exit 1":       {src: `echo '{"decision": "reject", "reason": "no"}'; exit 1`, want: "no", rule: rule + ": exit status 1: no"},
		"a signal":                 {src: `kill -KILL $$`, want: "no", rule: rule + ": signal SIGKILL"},
		"allow, and a signal":      {src: `echo '{"decision": "allow"}'; kill -TERM $$`, want: "no", rule: rule + ": signal SIGTERM"},
		"both":                     {src: `echo '{"decision": "allow", "optionId": "yes"}'`, want: "no"},
		"neither":                  {src: `echo '{"reason": "allow"}'`, want: "no"},
		"another decision":         {src: `echo '{"decision": "Allow"}'`, want: "no"},
		"another field":            {src: `echo '{"decision": "allow", "until": "noon"}'`, want: "no"},
		"a field twice":            {src: `echo '{"decision": "reject", "decision": "allow"}'`, want: "no"},
		"the other case":           {src: `echo '{"Decision": "allow"}'`, want: "no"},
		"two answers":              {src: `echo '{"decision": "allow"}{"decision": "allow"}'`, want: "no"},
		"a word":                   {src: `echo allow`, want: "no"},
		"a string":                 {src: `echo '"allow"'`, want: "no"},
		"a list":                   {src: `echo '[{"decision": "allow"}]'`, want: "no"},
		"null":                     {src: `echo null`, want: "no"},
		"half of it":               {src: `printf '{"decision": "allow"'`, want: "no"},
		"another type":             {src: `echo '{"decision": true}'`, want: "no"},
		"a log line before it":     {src: `echo ok; echo '{"decision": "allow"}'`, want: "no"},
		"no UTF-8":                 {src: `printf '{"decision": "allow", "reason": "\377"}'`, want: "no"},
		"too much":                 {src: `yes | head -c 100000`, want: "no", rule: rule + ": its answer is larger than 64 KiB"},
		"without end":              {src: `exec yes`, want: "no", rule: rule + ": its answer is larger than 64 KiB"},
		"stderr without end":       {src: `yes >&2 & exit 0`, want: "yes", rule: rule},
		"closes its stdin":         {src: `exec <&-; exit 0`, want: "yes", rule: rule},
		"closes its stdout":        {src: `exec >&-; cat >/dev/null; exit 0`, want: "yes", rule: rule},
		"no interpreter":           {src: "exec /nonexistent/x", want: "no", rule: rule + ": exit status 127"},
		"one option, it lasts":     {src: `exit 0`, options: onceOrAlways[:1], want: "", rule: rule + ": no option allows it once: no reject option"},
		"one of two that last":     {src: `exit 0`, options: []acp.PermissionOption{onceOrAlways[0], onceOrAlways[2]}, want: "no", rule: rule + ": no option allows it once"},
		"nothing offered":          {src: `exit 0`, options: []acp.PermissionOption{}, want: ""},
		"an id that is of 2 kinds": {src: `exit 0`, options: []acp.PermissionOption{{OptionId: "x", Kind: "allow_once"}, {OptionId: "x", Kind: "reject_once"}}, want: ""},
		"a helper keeps the pipes": {src: `sleep 600 & exit 0`, want: "yes", rule: rule},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := decider(t, tt.src)
			req := editOf("/work/a.go")
			if tt.options != nil {
				req.Options = tt.options
			}
			d, rec := permission.Decide(t.Context(), c, req)
			if d.OptionID != tt.want || tt.rule != "" && d.Rule != tt.rule {
				t.Errorf("option %q by rule %q, want %q by %q", d.OptionID, d.Rule, tt.want, tt.rule)
			}
			has(t, "the rule", rec.Rule, rule)
			if rec.Facts == nil {
				t.Error("the record has no facts")
			}
		})
	}

	t.Run("several options allow once", func(t *testing.T) {
		c, _ := decider(t, "exit 0")
		req := editOf("/work/a.go")
		req.Options = append([]acp.PermissionOption{{OptionId: "sure", Kind: acp.PermissionOptionKindAllowOnce}}, onceOrAlways...)
		if d := c.Decide(t.Context(), req); d.OptionID != "no" || !d.Ambiguous {
			t.Errorf("%+v, want an ambiguous reject", d)
		}
	})
	t.Run("a standing option where the policy may grant it", func(t *testing.T) {
		c, _ := decider(t, `echo '{"optionId": "always"}'`)
		c.always = true
		if d := c.Decide(t.Context(), editOf("/work/a.go")); d.OptionID != "always" {
			t.Errorf("%+v", d)
		}
	})
}

// The question is all that is known, and nothing of it is lost for its size.
func TestPermissionCommandIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "question")
	c, _ := decider(t, "cat > '"+file+"'\n")
	req := editOf("src/a.go")
	req.ToolCall.RawInput = map[string]any{"command": []any{"rm", "-rf", "x"}, "pad": strings.Repeat("p", 1<<20)}
	before := time.Now()
	if d := c.Decide(t.Context(), req); d.OptionID != "yes" {
		t.Fatalf("%+v", d)
	}
	text := readFile(t, file)
	var q struct {
		ID      string
		Expires time.Time
		Request struct {
			SessionID, RunID, Dir string
			ToolCall              acp.ToolCallUpdate
			Options               []acp.PermissionOption
		}
		Facts permission.Facts
	}
	if err := json.Unmarshal([]byte(text), &q); err != nil || strings.Count(text, "\n") != 1 {
		t.Fatalf("%v, or no line: %.200s", err, text)
	}
	if q.ID == "" || q.Expires.Before(before) {
		t.Errorf("id %q, expires %v", q.ID, q.Expires)
	}
	r := q.Request
	if diff := cmp.Diff([]string{"session-1", "run-1", "/work", "call-1"}, []string{r.SessionID, r.RunID, r.Dir, string(r.ToolCall.ToolCallId)}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(onceOrAlways, r.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if got, want := q.Facts.Commands[0].Argv, []string{"rm", "-rf", "x"}; !cmp.Equal(want, got) {
		t.Errorf("command %q, want %q", got, want)
	}
	if got := q.Facts.Paths[0].Abs; got != "/work/src/a.go" {
		t.Errorf("path %q", got)
	}
}

// A program that does not read its question may decide all the same.
func TestPermissionCommandNeedNotRead(t *testing.T) {
	c, _ := decider(t, "exit 0")
	req := editOf("/work/a.go")
	req.ToolCall.RawInput = map[string]any{"pad": strings.Repeat("p", 4<<20)}
	if d := c.Decide(t.Context(), req); d.OptionID != "yes" {
		t.Errorf("%+v", d)
	}
}

// Late, cancelled, closed: a reject, and nothing of the program is alive.
func TestPermissionCommandEnds(t *testing.T) {
	for name, end := range map[string]func(*permissionCommand, context.CancelFunc){
		"late":      nil,
		"cancelled": func(_ *permissionCommand, cancel context.CancelFunc) { cancel() },
		"closed":    func(c *permissionCommand, _ context.CancelFunc) { c.close() },
	} {
		t.Run(name, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pids")
			c, _ := decider(t, `trap '' TERM HUP INT
sleep 600 & (sleep 600) &
echo $$ $! > '`+pids+`.new'; mv '`+pids+`.new' '`+pids+`'
echo '{"decision": "allow"}'; exec >&-
while :; do sleep 600; done
`)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.timeout = 2 * tooLong; end == nil {
				c.timeout = time.Second
			} else {
				go func() { // ends when the program is there
					for deadline := time.Now().Add(tooLong); !exists(pids) && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
					}
					end(c, cancel)
				}()
			}
			start := time.Now()
			d := c.Decide(ctx, editOf("/work/a.go"))
			if time.Since(start) > tooLong {
				t.Error("it was not ended, but waited for")
			}
			for ; end == nil && !exists(pids) && c.timeout < tooLong; c.timeout *= 4 {
				d = c.Decide(ctx, editOf("/work/a.go")) // this machine did not start it in time
			}
			if d.OptionID != "no" || d.Rule != "permission-command: no answer in time" {
				t.Errorf("%+v", d)
			}
			for pid := range strings.FieldsSeq(readFile(t, pids)) {
				if n, err := strconv.Atoi(pid); err != nil || alive(n) {
					t.Errorf("%s is alive (%v)", pid, err)
				}
			}
		})
	}
	t.Run("nobody is asked after the end", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "asked")
		c, _ := decider(t, "> '"+file+"'")
		c.close()
		if d := c.Decide(t.Context(), editOf("/work/a.go")); d.OptionID != "no" || exists(file) {
			t.Errorf("%+v, asked: %v", d, exists(file))
		}
	})
}

// What the program holds in its own hands it may show; what the agent holds it may not.
func TestPermissionCommandKeepsSecrets(t *testing.T) {
	const ours, agents = "qxjvkzwypmhgtrbd-OURS", "bdfhjlnprtvxzacegikmoqsu"
	t.Setenv("MY_API_KEY", ours)
	c, told := decider(t, `env >&2
read -r q; echo "$q" >&2
echo '{"decision": "reject", "reason": "because of `+agents+`"}'
`)
	c.redacts(redact.New([]string{ours, agents}))
	c.spec.StderrTail = 1 << 20
	req := editOf("/work/a.go")
	req.ToolCall.RawInput = map[string]any{"token": agents}
	d := c.Decide(t.Context(), req)
	has(t, "stderr", told(), "permission-command: ")
	for _, secret := range []string{ours, agents} {
		for _, where := range canary.Find(secret, []string{d.Rule, told()}) {
			t.Errorf("a secret is in rule or stderr: %s", where)
		}
	}
	has(t, "the rule", d.Rule, "rejected: because of [redacted]")

	file := filepath.Join(t.TempDir(), "env")
	plain, _ := decider(t, "env > '"+file+"'")
	plain.Decide(t.Context(), req)
	has(t, "its environment", readFile(t, file), "PATH=")
	for _, where := range canary.Find(ours, readFile(t, file)) {
		t.Errorf("a secret is in its environment: %s", where)
	}
}

// Its stderr is for people: visible, and no more than a screen takes.
func TestPermissionCommandStderr(t *testing.T) {
	c, told := decider(t, `printf 'a \033[2J\nb\n' >&2`)
	c.Decide(t.Context(), editOf("/work/a.go"))
	if want := "permission-command: a \\u{1b}[2J\npermission-command: b\n"; told() != want {
		t.Errorf("%q, want %q", told(), want)
	}
	c, told = decider(t, `i=0; while [ $i -lt 5000 ]; do echo line $i >&2; i=$((i+1)); done`)
	c.Decide(t.Context(), editOf("/work/a.go"))
	if n := strings.Count(told(), "\n"); n > stderrLines+1 {
		t.Errorf("%d lines are shown", n)
	}
	has(t, "stderr", told(), "line 4999\n", "permission-command: …\n")
}

// Many questions at once: each has its own process, and its own answer.
func TestPermissionCommandsAtOnce(t *testing.T) {
	c, _ := decider(t, `read -r q; case $q in *even*) exit 0;; esac; exit 1`)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			path, want := "/work/odd", "no"
			if i%2 == 0 {
				path, want = "/work/even", "yes"
			}
			if d := c.Decide(t.Context(), editOf(path)); d.OptionID != want {
				t.Errorf("%s: %+v", path, d)
			}
		})
	}
	all.Wait()
}

// The stricter of policy and program wins; what the policy denies, the program is not told.
func TestPolicyAndCommand(t *testing.T) {
	rules, err := permission.ParseRules([]byte(`{"default": "ask", "rules": [
		{"name": "d", "effect": "deny", "paths": ["./denied"]},
		{"name": "a", "effect": "allow", "paths": ["./allowed"]},
		{"name": "s", "effect": "ask", "paths": ["./standing"], "always": true}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, src, want, rule string }{
		{"denied", "exit 0", "no", "deny: d"},
		{"allowed", "exit 0", "yes", "allow: a + permission-command"},
		{"allowed", "exit 1", "no", "permission-command: exit status 1"},
		{"else", "exit 0", "yes", "ask: default: permission-command"},
		{"else", "exit 1", "no", "ask: default: permission-command: exit status 1"},
		{"else", `echo '{"optionId": "always"}'`, "no", "ask: default: permission-command: no standing grant"},
		{"allowed", `echo '{"optionId": "always"}'`, "yes", "allow: a + permission-command"},
		{"standing", `echo '{"optionId": "always"}'`, "always", "ask: s: permission-command"},
		{"standing", `exit 0`, "yes", "ask: s: permission-command"},
	} {
		asked := filepath.Join(t.TempDir(), "asked")
		c, _ := decider(t, "> '"+asked+"'\n"+tt.src)
		c.always = true
		r := *rules
		r.Ask = c
		p := commanded{&r, c}
		if d, _ := permission.Decide(t.Context(), p, editOf("/work/"+tt.path)); d.OptionID != tt.want || d.Rule != tt.rule {
			t.Errorf("%s, %s: option %q by rule %q, want %q by %q", tt.path, tt.src, d.OptionID, d.Rule, tt.want, tt.rule)
		}
		if exists(asked) != (tt.path != "denied") {
			t.Errorf("%s: asked: %v", tt.path, exists(asked))
		}
		if !permission.GuardsReads(p) || p.Digest() != rules.Digest() {
			t.Error("the rules behind it are not seen")
		}
	}
}

// alive reports whether a process is there and no zombie, where there is a /proc to look
// at.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
