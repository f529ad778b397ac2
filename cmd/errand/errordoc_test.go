package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/subagent"
)

var updateManual = flag.Bool("update", false, "write docs/errors.md anew")

const (
	errorManual = "../../docs/errors.md"
	updateWith  = "made by go test ./cmd/errand -run TestErrorManual -update"
)

// errorRow is what is known of a kind of error beside what its examples show.
type errorRow struct {
	kind client.ErrorKind
	// layer is where the reason is: with the caller, on this machine, or on one of the
	// layers between us and the agent's model.
	layer string
	means string
	do    string
}

// errorRows has every kind of error, in the order of the constants.
var errorRows = []errorRow{
	{client.KindConfig, "caller", "bad input; nothing was started", "mend what the message names: a field, a flag, a variable"},
	{client.KindCapability, "caller", "something was asked for that the provider or the agent does not offer", "leave it out, or take another agent"},
	{client.KindLimit, "caller", "a limit of ours refused the start: of the depth, or of the runs in all", "do the task without another agent, or raise the limit: `MaxDepth`, `--max-depth`, `Limits`"},
	{client.KindSpawn, "machine", "the program could not be started", "install it, or name it right; `errand agents` shows what is there"},
	{client.KindStartupTimeout, "agent", "no session within the startup deadline", "look whether it needs another argument, a login, or the first time longer; then `StartTimeout`, `--start-timeout`"},
	{client.KindIdleTimeout, "agent", "silent for longer than the idle clock allows", "the text so far is in the result; `IdleTimeout`, `--idle-timeout`, or find out what it waits for"},
	{client.KindTimeout, "caller", "the caller's deadline passed", "the text so far is in the result; allow more time, or give it less to do"},
	{client.KindExit, "agent", "the process ended before it had answered", "look at `exit` and `stderrTail`; let the variable through that it misses; after a crash in a turn look what it did before you ask again"},
	{client.KindTransport, "transport", "a pipe broke or was closed while the process lived", "a bug of the agent's or of its launcher: tell its author, with `noise` and `stderrTail`"},
	{client.KindProtocol, "protocol", "it sent what the protocol does not allow", "look whether it is an ACP agent, started with the right argument; else tell its author"},
	{client.KindVersion, "protocol", "it speaks another version of the protocol", "take another version of the agent, or of Errand"},
	{client.KindAuthRequired, "policy", "it wants a login first", "log in with the agent's own program, or let its key through by name: `--env NAME`"},
	{client.KindAgent, "agent", "it answered with an error", "`code` and `data` are its own; often a model that is refused, overloaded or out of quota"},
	{client.KindRemoteLimit, "agent", "it stopped at its own limit of requests per turn", "give it a smaller task, or raise the limit in its settings"},
	{client.KindTooLarge, "transport", "an answer was over the limit of a message", "`MaxMessageBytes`, or a smaller task"},
	{client.KindSchema, "agent", "the output does not match the schema that was asked for", "ask again, or loosen it"},
	{client.KindSessionLost, "agent", "a session to continue is not there any more", "begin a new one"},
	{client.KindLeftover, "machine", "a process of the run could not be ended", "the message names it: look why it cannot be killed"},
	{client.KindCancelled, "caller", "the start was cancelled; never in a result, where that is `stop: aborted`", "nothing"},
}

// unused are the kinds that nothing makes yet. What comes to make one needs an example.
var unused = []client.ErrorKind{client.KindSchema, client.KindSessionLost}

// errorExample is a way of failing and, once it was played, what came of it.
type errorExample struct {
	kind client.ErrorKind
	step client.Step
	how  string
	// Exactly one of these plays it: a script of an agent, with these flags; a command,
	// of which files names what to write first; or a call of the library.
	script string
	flags  []string
	env    string // in errand's environment
	files  map[string]string
	path   string
	lib    func(t *testing.T, dir string) error

	message   string
	retryable bool
	status    string
}

var errorExamples = []errorExample{
	{kind: client.KindConfig, step: client.StepConfig, how: "a directory that is missing", script: "exit 1", flags: []string{"--dir", "/no/such/directory"}},
	{kind: client.KindConfig, step: client.StepConfig, how: "an agent that is not known", flags: []string{"--agent", "opencod"}},
	{kind: client.KindConfig, step: client.StepConfig, how: "a variable that is not set", script: "exit 1", flags: []string{"--env", "MY_API_KEY"}},
	{kind: client.KindCapability, step: client.StepConfig, how: "a request for what the provider does not offer", lib: func(t *testing.T, dir string) error {
		return startError(t, "", nil, subagent.Request{Dir: dir, Prompt: subagent.Text("hi"), Model: "a-model"})
	}},
	{kind: client.KindCapability, step: client.StepPrompt, how: "an image for an agent that takes none", lib: func(t *testing.T, dir string) error {
		return startError(t, "", nil, subagent.Request{Dir: dir, Prompt: []acp.ContentBlock{acp.ImageBlock("AA==", "image/png")}})
	}},
	{kind: client.KindLimit, step: client.StepConfig, how: "delegations that are too deep", script: "exit 1", env: "ERRAND_DEPTH=8"},
	{kind: client.KindLimit, step: client.StepConfig, how: "more runs than are allowed in all", lib: func(t *testing.T, dir string) error {
		limits, err := subagent.NewLimits(subagent.LimitOptions{Total: 1})
		if err != nil {
			t.Fatal(err)
		}
		p, req := limits.Provider(provider(t, "", nil)), subagent.Request{Dir: dir, Prompt: subagent.Text("hi")}
		if _, err := subagent.Delegate(t.Context(), p, req); err != nil {
			t.Fatal(err)
		}
		_, err = subagent.Delegate(t.Context(), p, req)
		return err
	}},
	{kind: client.KindSpawn, step: client.StepSpawn, how: "a command that is not installed", path: "my-agent"},
	{kind: client.KindSpawn, step: client.StepSpawn, how: "a path that is not there", path: "./my-agent"},
	{kind: client.KindSpawn, step: client.StepSpawn, how: "a file that is not executable", path: "./my-agent", files: map[string]string{"my-agent": "-x"}},
	{kind: client.KindSpawn, step: client.StepSpawn, how: "an interpreter that is missing", path: "./my-agent", files: map[string]string{"my-agent": "#!/usr/bin/env nodejs-that-is-missing\n"}},
	{kind: client.KindSpawn, step: client.StepSpawn, how: "a script from Windows", path: "./my-agent", files: map[string]string{"my-agent": "#!/bin/sh\r\necho hi\r\n"}},
	{kind: client.KindSpawn, step: client.StepSpawn, how: "no program at all", path: "./my-agent", files: map[string]string{"my-agent": "echo hi\n"}},
	{kind: client.KindStartupTimeout, step: client.StepInitialize, how: "not a word", script: "on initialize; never reply", flags: []string{"--start-timeout", "500ms"}},
	{kind: client.KindStartupTimeout, step: client.StepInitialize, how: "a screen for people", script: `noise "Welcome! Type /help for help."; on initialize; never reply`, flags: []string{"--start-timeout", "500ms"}},
	{kind: client.KindStartupTimeout, step: client.StepInitialize, how: "messages over several lines", script: `on initialize; send {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}} pretty; never reply`, flags: []string{"--start-timeout", "500ms"}},
	{kind: client.KindStartupTimeout, step: client.StepInitialize, how: "messages as LSP has them", script: `on initialize; raw "Content-Length: 52\r\n\r\n"; never reply`, flags: []string{"--start-timeout", "500ms"}},
	{kind: client.KindStartupTimeout, step: client.StepInitialize, how: "the first start by npx", script: `stderr "npm warn exec The following package was not found and will be installed: my-agent@1.0.0\n"; on initialize; never reply`, flags: []string{"--start-timeout", "500ms"}},
	{kind: client.KindStartupTimeout, step: client.StepInitialize, how: "answers to other requests", script: `on initialize; reply {"protocolVersion":1} id="x"; never reply`, flags: []string{"--start-timeout", "500ms"}},
	{kind: client.KindStartupTimeout, step: client.StepNewSession, how: "no session", script: "on session/new; never reply", flags: []string{"--start-timeout", "5s"}},
	{kind: client.KindIdleTimeout, step: client.StepPrompt, how: "silence in mid turn", script: `on session/prompt; text "Let me"; stderr "retrying in 60 s\n"; wait cancel; stop cancelled`, flags: []string{"--idle-timeout", "500ms"}},
	{kind: client.KindTimeout, step: client.StepConfig, how: "a deadline that has passed before", lib: func(t *testing.T, dir string) error {
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		_, err := provider(t, "", nil).Start(ctx, subagent.Request{Dir: dir, Prompt: subagent.Text("hi")})
		return err
	}},
	{kind: client.KindTimeout, step: client.StepInitialize, how: "the deadline passes at the start", script: "on initialize; never reply", flags: []string{"--timeout", "500ms"}},
	{kind: client.KindTimeout, step: client.StepNewSession, how: "the same without a session", script: "on session/new; never reply", flags: []string{"--timeout", "5s"}},
	{kind: client.KindTimeout, step: client.StepPrompt, how: "the same in the turn", script: `on session/prompt; wait cancel; stop cancelled`, flags: []string{"--timeout", "5s"}},
	{kind: client.KindExit, step: client.StepInitialize, how: "a usage", script: `stderr "Usage: my-agent [options] [FILE]\n  --acp   speak ACP\n"; exit 2`},
	{kind: client.KindExit, step: client.StepInitialize, how: "a key that was held back", env: "MY_API_KEY=x", script: `stderr "error: MY_API_KEY is not set\n"; exit 1`},
	{kind: client.KindExit, step: client.StepInitialize, how: "nothing to do", script: "exit 0"},
	{kind: client.KindExit, step: client.StepInitialize, how: "a crash of Node", script: `stderr "node:internal/modules/cjs/loader:1\n  throw err;\n  ^\n\nError: Cannot find module 'acp'\n    at Module._load (node:internal/modules/cjs/loader:1:1)\n\nNode.js v22.1.0\n"; exit 1`},
	{kind: client.KindExit, step: client.StepInitialize, how: "a crash of Python", script: `stderr "Traceback (most recent call last):\n  File \"agent.py\", line 1, in <module>\nKeyError: 'HOME'\n"; exit 1`},
	{kind: client.KindExit, step: client.StepInitialize, how: "a crash of Rust", script: `stderr "\nthread 'main' panicked at src/main.rs:2:5:\nno configuration\nnote: run with RUST_BACKTRACE=1 to display a backtrace\n"; exit 101`},
	{kind: client.KindExit, step: client.StepInitialize, how: "a launcher without what it launches", script: `stderr "sh: 1: node: not found\n"; exit 127`},
	{kind: client.KindExit, step: client.StepInitialize, how: "a page of HTML", script: `noise "<!DOCTYPE html><title>502 Bad Gateway</title>"; exit 1`},
	{kind: client.KindExit, step: client.StepNewSession, how: "an end at session/new", script: `on session/new; stderr "cannot open its database\n"; exit 7`},
	{kind: client.KindExit, step: client.StepPrompt, how: "a crash in mid turn", script: `on session/prompt; text "Let me"; stderr "panic: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:7\n"; exit 2`},
	{kind: client.KindExit, step: client.StepPrompt, how: "killed for its memory", script: `on session/prompt; text "Let me"; raise KILL`},
	{kind: client.KindTransport, step: client.StepInitialize, how: "stdout closed at the start", script: "on initialize; stdout close; wait forever"},
	{kind: client.KindTransport, step: client.StepNewSession, how: "the same at session/new", script: "on session/new; stdout close; wait forever"},
	{kind: client.KindTransport, step: client.StepPrompt, how: "the same in mid turn", script: `on session/prompt; text "Let me"; stdout close; wait forever`},
	{kind: client.KindProtocol, step: client.StepInitialize, how: "an echo", script: "echo"},
	{kind: client.KindProtocol, step: client.StepInitialize, how: "an answer of another shape", script: `on initialize; reply ["hello"]`},
	{kind: client.KindProtocol, step: client.StepNewSession, how: "a session without an id", script: `on session/new; reply {"id": 7}`},
	{kind: client.KindProtocol, step: client.StepPrompt, how: "a stop reason that is not known", script: "on session/prompt; stop done"},
	{kind: client.KindVersion, step: client.StepInitialize, how: "a newer version", script: `on initialize; answer {"protocolVersion": 2}`},
	{kind: client.KindVersion, step: client.StepInitialize, how: "an MCP server", script: `on initialize; reply {"protocolVersion": "2025-06-18", "serverInfo": {"name": "x", "version": "1"}}`},
	{kind: client.KindAuthRequired, step: client.StepNewSession, how: "not logged in", script: `on initialize; answer {"authMethods": [{"id": "oauth", "name": "Log in"}]}; on session/new; fail -32000 "Authentication required"`},
	{kind: client.KindAuthRequired, step: client.StepPrompt, how: "logged out since", script: `on session/prompt; fail -32000 "Please log in again"`},
	{kind: client.KindAgent, step: client.StepInitialize, how: "no agent, but JSON-RPC", script: `on initialize; reply error -32601 "Method not found"`},
	{kind: client.KindAgent, step: client.StepNewSession, how: "an error at session/new", script: `on session/new; fail -32603 "Internal error" {"details": "ENOENT: no such file or directory"}`},
	{kind: client.KindAgent, step: client.StepPrompt, how: "a limit of the service behind it", script: `on session/prompt; fail 429 "Too many requests, try again in 20 s"`},
	{kind: client.KindAgent, step: client.StepPrompt, how: "a key that is wrong", script: `on session/prompt; fail -32603 "Internal error" {"details": "401 invalid x-api-key"}`},
	{kind: client.KindAgent, step: client.StepPrompt, how: "a wish for a terminal", script: `on session/prompt; request "terminal/create" {"sessionId": "$session", "command": "ls"}; fail -32603 "terminal/create: $error.message"`},
	{kind: client.KindRemoteLimit, step: client.StepPrompt, how: "too many requests in a turn", script: "on session/prompt; stop max_turn_requests"},
	{kind: client.KindTooLarge, step: client.StepNewSession, how: "a session that is too large", lib: func(t *testing.T, dir string) error {
		return startError(t, `on session/new; set big x size=100KB; answer {"x": "$big"}`, &subagent.ACPOptions{MaxMessageBytes: 64 << 10}, subagent.Request{Dir: dir, Prompt: subagent.Text("hi")})
	}},
	{kind: client.KindTooLarge, step: client.StepPrompt, how: "an answer that is too large", lib: func(t *testing.T, dir string) error {
		res, err := subagent.Delegate(t.Context(), provider(t, `on session/prompt; set big x size=100KB; stop end_turn {"_meta": {"x": "$big"}}`,
			&subagent.ACPOptions{MaxMessageBytes: 64 << 10}), subagent.Request{Dir: dir, Prompt: subagent.Text("hi")})
		if err != nil {
			return err
		}
		return res.Err()
	}},
	{kind: client.KindLeftover, step: client.StepShutdown, how: "a process that a debugger holds", lib: leftover},
	{kind: client.KindCancelled, step: client.StepConfig, how: "cancelled before the start", lib: func(t *testing.T, dir string) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := provider(t, "", nil).Start(ctx, subagent.Request{Dir: dir, Prompt: subagent.Text("hi")})
		return err
	}},
	{kind: client.KindCancelled, step: client.StepInitialize, how: "cancelled at the start", lib: func(t *testing.T, dir string) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := &subagent.ACPOptions{Stderr: writerFunc(cancel)}
		_, err := provider(t, `on initialize; stderr "."; wait forever`, o).Start(ctx, subagent.Request{Dir: dir, Prompt: subagent.Text("hi")})
		return err
	}},
}

// writerFunc is called when something is written.
type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) { f(); return len(p), nil }

// provider is one of an agent that follows the script.
func provider(t *testing.T, src string, o *subagent.ACPOptions) subagent.Provider {
	t.Helper()
	path, args := script.Command(t, src)
	p, err := subagent.NewACP("my-agent", client.Command{Path: path, Args: args, Env: []string{asErrand + "=1", "GORACE=atexit_sleep_ms=0"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startError is the error of a start that fails.
func startError(t *testing.T, src string, o *subagent.ACPOptions, req subagent.Request) error {
	t.Helper()
	run, err := provider(t, src, o).Start(t.Context(), req)
	if err == nil {
		run.Close()
		t.Fatal("it started")
	}
	return err
}

// play carries the example out and fills in what came of it.
func (e *errorExample) play(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	if e.env != "" {
		p.Env = append(p.Env, e.env)
	}
	var got *subagent.Error
	var status int
	if e.lib != nil {
		res := failedResult(e.lib(t, p.Dir), "my-agent", p.Dir)
		got, status = res.Error, exitStatus(res, 0)
		if res.Error == nil {
			got, status = &subagent.Error{Kind: client.KindCancelled, Step: e.step, Message: "not started: context canceled"}, 0
		}
	} else {
		for name, text := range e.files {
			text, plain := strings.CutPrefix(text, "-x")
			mode := os.FileMode(0o700)
			if plain {
				mode = 0o600
			}
			if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
		args := append([]string{"run", "--json", "--cancel-grace", "20s", "--eof-grace", "100ms", "hi"}, e.flags...)
		switch {
		case e.path != "":
			args = append(args, "--", e.path)
		case e.script != "":
			args = append(args, scripted(t, e.script)...)
		}
		out := p.run(args...)
		got, status = out.result(t).Error, out.status
	}
	if got == nil || got.Kind != e.kind || got.Step != e.step {
		t.Fatalf("error %+v, want one of kind %s at %s", got, e.kind, e.step)
	}
	e.message, e.retryable, e.status = normal(got.Message, p.Dir), got.Retryable, fmt.Sprint(status)
}

var changing = regexp.MustCompile(`\bpid \d+\b`)

// normal takes out of a message what differs from run to run.
func normal(message, dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	message = strings.ReplaceAll(message, dir, "/home/ada/project")
	if self, err := os.Executable(); err == nil {
		message = strings.NewReplacer(self, "my-agent", filepath.Base(self), "my-agent").Replace(message)
	}
	return changing.ReplaceAllString(message, "pid 4242")
}

// TestErrorManual plays every example and holds the manual to what came of them: each
// kind is where the examples have it, and looks as they do.
func TestErrorManual(t *testing.T) {
	var kinds []client.ErrorKind
	for _, row := range errorRows {
		kinds = append(kinds, row.kind)
	}
	if diff := gocmp.Diff(constants(t, "../../client", "ErrorKind"), slices.Sorted(slices.Values(words(kinds)))); diff != "" {
		t.Errorf("the rows are not the kinds of package client (-client +rows):\n%s", diff)
	}
	// What a result can have is what its schema allows.
	inResult := slices.DeleteFunc(slices.Clone(kinds), func(k client.ErrorKind) bool { return k == client.KindCancelled })
	if diff := gocmp.Diff(schemaEnum(t, "kind"), words(inResult)); diff != "" {
		t.Errorf("the rows are not those of `errand schema result` (-schema +rows):\n%s", diff)
	}
	for _, kind := range kinds {
		has := slices.ContainsFunc(errorExamples, func(e errorExample) bool { return e.kind == kind })
		if has == slices.Contains(unused, kind) {
			t.Errorf("%s: there is an example: %v; it is said to be made by nothing: %v", kind, has, !has)
		}
		if made := isMade(t, kind); made == slices.Contains(unused, kind) {
			t.Errorf("%s: the code makes it: %v", kind, made)
		}
	}

	examples := slices.Clone(errorExamples)
	t.Run("play", func(t *testing.T) {
		for i := range examples {
			e := &examples[i]
			t.Run(fmt.Sprintf("%s at %s: %s", e.kind, e.step, e.how), func(t *testing.T) {
				t.Parallel()
				e.play(t)
			})
		}
	})
	if t.Failed() {
		return
	}
	old, _ := os.ReadFile(errorManual)
	text := string(old)
	for name, table := range map[string]string{"kinds": kindTable(examples), "messages": messageTable(examples, text)} {
		begin, end := "<!-- "+name+": "+updateWith+" -->\n", "<!-- end of "+name+" -->\n"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no %q … %q", errorManual, begin, end)
		}
		text = before + begin + "\n" + table + "\n" + end + after
	}
	if *updateManual {
		if err := os.WriteFile(errorManual, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(string(old), text); diff != "" {
		t.Errorf("%s is not what the runs show; %s (-manual +runs):\n%s", errorManual, updateWith, diff)
	}
}

// kindTable has a row for each kind.
func kindTable(examples []errorExample) string {
	var b strings.Builder
	b.WriteString("| kind | layer | at | retryable | status | what it means | what the caller does |\n|---|---|---|---|---|---|---|\n")
	for _, row := range errorRows {
		var steps, retryable, statuses []string
		for _, e := range examples {
			if e.kind != row.kind {
				continue
			}
			step := "`" + string(e.step) + "`"
			steps = append(steps, step)
			statuses = append(statuses, e.status)
			if e.retryable {
				retryable = append(retryable, step)
			}
		}
		steps, retryable, statuses = distinct(steps), distinct(retryable), distinct(statuses)
		may := "no"
		switch {
		case len(steps) == 0:
			steps, may, statuses = []string{"nothing makes it yet"}, "", nil
		case len(retryable) == len(steps):
			may = "yes"
		case len(retryable) > 0:
			may = "at " + strings.Join(retryable, ", ")
		}
		if row.kind == client.KindCancelled {
			statuses = []string{"130, 143, 129, 131: the signal's"}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", row.kind, row.layer, strings.Join(steps, ", "), may, strings.Join(statuses, ", "), row.means, row.do)
	}
	return b.String()
}

func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// messageTable has a row for each example; of one that could not be played here, as old
// has it.
func messageTable(examples []errorExample, old string) string {
	var b strings.Builder
	b.WriteString("| kind | at | when | `error.message` |\n|---|---|---|---|\n")
	for _, e := range examples {
		head := fmt.Sprintf("| `%s` | `%s` | %s | ", e.kind, e.step, e.how)
		if e.message == "" { // skipped
			_, rest, _ := strings.Cut(old, head)
			line, _, _ := strings.Cut(rest, "\n")
			b.WriteString(head + line + "\n")
			continue
		}
		b.WriteString(head + code(e.message) + " |\n")
	}
	return b.String()
}

// code is text as code within a table.
func code(text string) string {
	fence := "`"
	if strings.Contains(text, "`") {
		fence = "``"
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// schemaEnum returns what `errand schema result` allows for a field of the error.
func schemaEnum(t *testing.T, field string) []string {
	t.Helper()
	s, _ := schema(t, "result")
	var values []string
	for _, v := range s.Properties["error"].Properties[field].Enum {
		values = append(values, fmt.Sprint(v))
	}
	return values
}

// isMade reports whether anything but the list of kinds and that of the schema has the
// constant in it.
func isMade(t *testing.T, kind client.ErrorKind) bool {
	t.Helper()
	name := ""
	source, err := os.ReadFile("../../client/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(Kind\w+)\s+ErrorKind = "` + string(kind) + `"`).FindSubmatch(source); m != nil {
		name = string(m[1])
	}
	made := regexp.MustCompile(`\b` + cmp.Or(name, "no such constant") + `\b`)
	for _, dir := range []string{"../../client", "../../subagent", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "schema.go" {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if made.MatchString(line) && !strings.Contains(line, "ErrorKind = ") && !strings.HasPrefix(strings.TrimSpace(line), "//") {
					return true
				}
			}
		}
	}
	return false
}
