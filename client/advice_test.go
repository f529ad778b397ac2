package client_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

// Each way of failing tells the step, how the process ended, the end of its stderr, and
// what can be done about it.
func TestDiagnosis(t *testing.T) {
	const (
		login     = "log in with the agent's own program"
		limited   = "the service behind it limits it"
		arguments = "it does not take these arguments"
		another   = "it may need another argument to speak ACP"
		missing   = "a command that it starts is not installed"
		somebody  = "Errand did not send that"
	)
	exits := func(status int, stderr string) string {
		return fmt.Sprintf("stderr %q\nexit %d", stderr, status)
	}
	for _, tt := range []struct {
		name string
		src  string
		kind client.ErrorKind
		step client.Step
		says []string
	}{
		{"usage of getopt", exits(64, "agent: unrecognized option '--acp'\n"), client.KindExit, client.StepInitialize, []string{"exit status 64", "unrecognized option '--acp'", arguments}},
		{"usage of commander", exits(1, "error: unknown option '--acp'\n"), client.KindExit, client.StepInitialize, []string{"exit status 1", "unknown option", arguments}},
		{"usage of argparse", exits(2, "usage: agent [-h]\nagent: error: unrecognized arguments: --acp\n"), client.KindExit, client.StepInitialize, []string{"unrecognized arguments", arguments}},
		{"usage of cobra", exits(1, "Error: unknown command \"acp\" for \"agent\"\nRun 'agent --help' for usage.\n"), client.KindExit, client.StepInitialize, []string{`unknown command \"acp\"`, "--help", arguments}},
		{"usage of flag", exits(2, "flag provided but not defined: -acp\nUsage of agent:\n  -x int\n"), client.KindExit, client.StepInitialize, []string{"-x int", "Usage of agent:", "exit status 2", arguments}},
		{"usage on stdout, status 0", "noise 'USAGE: agent [FILE]'\nexit 0", client.KindExit, client.StepInitialize, []string{"exit status 0", "USAGE: agent", arguments}},
		{"nothing to do", "exit 0", client.KindExit, client.StepInitialize, []string{"exit status 0", "waits for its stdin"}},
		{"status 126", exits(126, "x\n"), client.KindExit, client.StepInitialize, []string{"exit status 126", "cannot be executed"}},
		{"status 127", exits(127, "env: 'node'\n"), client.KindExit, client.StepInitialize, []string{"exit status 127", "env: 'node'", missing}},
		{"status 137", exits(137, "Killed\n"), client.KindExit, client.StepInitialize, []string{"exit status 137", "SIGKILL", somebody, "memory"}},
		{"status 139", exits(139, "Segmentation fault\n"), client.KindExit, client.StepInitialize, []string{"exit status 139", "SIGSEGV", "crashed"}},
		{"another status", exits(77, "boom\n"), client.KindExit, client.StepInitialize, []string{"exit status 77", `"boom"`}},
		{"killed", "on initialize; raise KILL", client.KindExit, client.StepInitialize, []string{"signal SIGKILL", somebody, "memory"}},
		{"ended", "on initialize; raise TERM", client.KindExit, client.StepInitialize, []string{"signal SIGTERM", somebody}},
		{"a module of Node", exits(1, "Error: Cannot find module 'x'\n    at f (y:1:1)\n\nNode.js v22\n"), client.KindExit, client.StepInitialize, []string{"Cannot find module 'x'", "install it again"}},
		{"a module of Python", exits(1, "Traceback (most recent call last):\nModuleNotFoundError: No module named 'x'\n"), client.KindExit, client.StepInitialize, []string{"No module named 'x'", "install it again"}},
		{"a library", exits(127, "agent: error while loading shared libraries: libx.so\n"), client.KindExit, client.StepInitialize, []string{"libx.so", "install it again"}},
		{"the memory of Node", exits(134, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n 1: 0x1\n"), client.KindExit, client.StepInitialize, []string{"heap out of memory", "ran out of memory"}},
		{"a full disk", exits(1, "Error: ENOSPC: no space left on device, write\n"), client.KindExit, client.StepInitialize, []string{"ENOSPC", "the disk is full"}},
		{"no network", exits(1, "TypeError: fetch failed\n  cause: Error: getaddrinfo ENOTFOUND api.example\n"), client.KindExit, client.StepInitialize, []string{"ENOTFOUND", "the network"}},
		{"a certificate", exits(1, "Error: self-signed certificate in certificate chain\n"), client.KindExit, client.StepInitialize, []string{"certificate", "NODE_EXTRA_CA_CERTS"}},
		{"a port", exits(1, "Error: listen EADDRINUSE: address already in use :::1\n"), client.KindExit, client.StepInitialize, []string{"EADDRINUSE", "port"}},
		{"a file", exits(1, "Error: EACCES: permission denied, open '/x'\n"), client.KindExit, client.StepInitialize, []string{"EACCES", "may not use a file"}},
		{"a key", exits(1, "ANTHROPIC_API_KEY is not set\n"), client.KindExit, client.StepInitialize, []string{"ANTHROPIC_API_KEY is not set", login}},
		{"an error in JSON", `noise '{"error":{"message":"Invalid API key"}}'; exit 1`, client.KindExit, client.StepInitialize, []string{"Invalid API key", login}},
		{"HTML", "noise '<html><body>502'\nexit 1", client.KindExit, client.StepInitialize, []string{"<html>", "a page of HTML"}},

		{"silence", "on initialize; never reply", client.KindStartupTimeout, client.StepInitialize, []string{"no answer to initialize", another, "login", "download"}},
		{"log lines", "noise 'INFO ready'\non initialize; never reply", client.KindStartupTimeout, client.StepInitialize, []string{"INFO ready", another, "log on stdout"}},
		{"pretty-printed", `on initialize; send {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}} pretty; never reply`, client.KindStartupTimeout, client.StepInitialize, []string{"several lines"}},
		{"pretty-printed otherwise", `noise "  \"jsonrpc\": \"2.0\","; on initialize; never reply`, client.KindStartupTimeout, client.StepInitialize, []string{"several lines"}},
		{"LSP", `on initialize; raw "Content-Length: 4\r\n\r\nnull\n"; never reply`, client.KindStartupTimeout, client.StepInitialize, []string{"Content-Length", "LSP"}},
		{"npx", `stderr "npm warn exec The following package was not found and will be installed: x@1\n"; on initialize; never reply`, client.KindStartupTimeout, client.StepInitialize, []string{"x@1", "its first start installs it"}},
		{"npx asks", `stderr "Need to install the following packages:\n  x@1\nOk to proceed? (y) "; on initialize; never reply`, client.KindStartupTimeout, client.StepInitialize, []string{"Ok to proceed? (y)", "its first start installs it"}},
		{"other ids", `on initialize; reply {"protocolVersion":1} id=77; never reply`, client.KindStartupTimeout, client.StepInitialize, []string{"never made (1)", "the ids are not ours"}},
		{"an id of another kind", `on initialize; reply {"protocolVersion":1} id="one"; never reply`, client.KindStartupTimeout, client.StepInitialize, []string{"the ids are not ours"}},
		{"a banner on stderr", `stderr "agent 1.0 ready\n"; on initialize; never reply`, client.KindStartupTimeout, client.StepInitialize, []string{"agent 1.0 ready", another, "login"}},
		{"waits for a login", `stderr "Please log in: https://example\n"; on session/new; never reply`, client.KindStartupTimeout, client.StepNewSession, []string{"no answer to session/new", "https://example", login}},

		{"an echo", "echo", client.KindProtocol, client.StepInitialize, []string{"echoes our own frames", "no ACP agent"}},
		{"no ACP", `on initialize; reply error -32601 "Method not found"`, client.KindAgent, client.StepInitialize, []string{"-32601", "no ACP agent"}},
		{"a newer version", `on initialize; answer {"protocolVersion": 2}`, client.KindVersion, client.StepInitialize, []string{"version 2", "speaks 1", "an older version of the agent"}},
		{"an older version", `on initialize; answer {"protocolVersion": 0}`, client.KindVersion, client.StepInitialize, []string{"version 0", "speaks 1", "a newer version of the agent"}},
		{"MCP", `on initialize; reply {"protocolVersion": "2025-06-18"}`, client.KindVersion, client.StepInitialize, []string{`version "2025-06-18"`, "speaks 1", "MCP"}},
		{"no version", `on initialize; reply {"capabilities": {}}`, client.KindVersion, client.StepInitialize, []string{"version none", "speaks 1", "no answer to ACP's initialize"}},
		{"a null version", `on initialize; reply {"protocolVersion": null}`, client.KindVersion, client.StepInitialize, []string{"speaks 1", "no answer to ACP's initialize"}},
		{"stdout closed", "on initialize; stdout close; wait forever", client.KindTransport, client.StepInitialize, []string{"closed its stdout", "lives on", "background"}},

		{"not logged in", `on session/new; fail -32000 "Authentication required" {"authMethods": [{"id": "oauth"}]}`, client.KindAuthRequired, client.StepNewSession, []string{"oauth", "Authentication required", login}},
		{"401", `on session/new; fail -32603 "Internal error" {"details": "401 Unauthorized"}`, client.KindAgent, client.StepNewSession, []string{"-32603", "401 Unauthorized", login}},
		{"429", `on session/new; fail 429 "slow down"`, client.KindAgent, client.StepNewSession, []string{"429", "slow down", limited}},
		{"a quota", `on session/new; fail -32603 "You exceeded your current quota"`, client.KindAgent, client.StepNewSession, []string{"quota", limited}},
		{"overloaded", `on session/new; fail -32603 "x" {"type": "overloaded_error"}`, client.KindAgent, client.StepNewSession, []string{"overloaded_error", limited}},
		{"too long", `on session/new; fail -32603 "prompt is too long: 300000 tokens > 200000 maximum"`, client.KindAgent, client.StepNewSession, []string{"too much for its model"}},
		{"a terminal", `on session/new; fail -32603 "terminal/create: Method not found"`, client.KindAgent, client.StepNewSession, []string{"wants a terminal or files of its client"}},
		{"a replay", `on session/new; fail -32600 "errand replay: the answer to terminal/output differs from the recording: recorded \"429 rate limit\""`, client.KindAgent, client.StepNewSession, []string{"-32600", "terminal/output differs"}},
		{"an error of its own", `on session/new; fail -32603 "Internal error" {"id": 14290, "code": "X"}`, client.KindAgent, client.StepNewSession, []string{"-32603: Internal error", "14290"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := play(t, tt.src)
			s.opts.Graces = deafToEOF
			if tt.kind == client.KindStartupTimeout {
				// By then it has said what it has to say, however slow the machine is.
				if s.opts.StartTimeout = 6 * time.Second; tt.name == "silence" {
					s.opts.StartTimeout = 400 * time.Millisecond
				}
			}
			a, err := client.Start(t.Context(), s.command, &s.opts)
			if err == nil {
				_, err = a.NewSession(t.Context(), nil)
				a.Close()
			}
			text := s.asError(err, tt.kind, tt.step).Error()
			check.Has(t, text, append(tt.says, string(tt.step))...)
			// What is known of one is not said of the others.
			for _, advice := range []string{login, limited, arguments, another, missing, somebody, "MCP", "LSP", "HTML", "several lines", "install it again", "the network", "the disk", "wants a terminal"} {
				if strings.Contains(text, advice) && !strings.Contains(strings.Join(tt.says, " "), advice) && !(advice == another && tt.name == "nothing to do") && !(advice == another && tt.name == "MCP") {
					t.Errorf("%q says %q, which is of another case", text, advice)
				}
			}
			if strings.ContainsAny(text, "\n\r\x1b") {
				t.Errorf("more than a line: %q", text)
			}
		})
	}
}

// The same for a program that cannot be started.
func TestSpawnDiagnosis(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(name, target string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	rel := func(name string) string {
		path, err := filepath.Rel(here, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name, path string
		is         error
		says       []string
	}{
		{"not installed", "no-such-agent", nil, []string{`"no-such-agent"`, "searched " + dir, "install it", "PATH"}},
		{"not there", filepath.Join(dir, "nothing"), fs.ErrNotExist, []string{"nothing", "no such file"}},
		{"not executable", file("plain", "x", 0o600), fs.ErrPermission, []string{"plain", "not executable", "chmod +x", "noexec"}},
		{"an interpreter", file("script", "#!/no/such/interpreter\n", 0o700), fs.ErrNotExist, []string{"script", "/no/such/interpreter", "install the interpreter, or correct the script's first line"}},
		{"an interpreter that is not executable", file("mode", "#!"+dir+"/plain\n", 0o700), fs.ErrPermission, []string{dir + "/plain", "not executable", "chmod +x"}},
		{"a relative path", "./no-such-dir/agent", fs.ErrNotExist, []string{`"./no-such-dir/agent"`, filepath.Join(here, "no-such-dir/agent") + ": no such file", "taken from the directory of the program that starts it, not from the agent's"}},
		{"a relative path that is executable by nobody", rel("plain"), fs.ErrPermission, []string{filepath.Base(dir) + "/plain", here, "not executable"}},
		{"a dangling link", link("gone", "nowhere/agent"), fs.ErrNotExist, []string{"gone", `is a symbolic link to "nowhere/agent"`, "no such file"}},
		{"a dangling link in PATH", "gone", fs.ErrNotExist, []string{`"gone"`, dir + "/gone: is a symbolic link to", "searched " + dir}},
		{"an interpreter that is a dangling link", file("linked", "#!"+dir+"/gone\n", 0o700), fs.ErrNotExist, []string{dir + "/gone", "is a symbolic link to", "install the interpreter"}},
		{"a command of env", file("env", "#!/usr/bin/env no-such-node\n", 0o700), nil, []string{"no-such-node", "searched " + dir, "install the interpreter"}},
		{"CRLF", file("crlf", "#!/bin/sh\r\n", 0o700), fs.ErrNotExist, []string{`/bin/sh\r`, "line ends of Windows"}},
		{"CRLF with env", file("crlfenv", "#!/usr/bin/env sh\r\n", 0o700), nil, []string{`sh\r`, "line ends of Windows"}},
		{"no #!", file("text", "echo hi\n", 0o700), nil, []string{"text", "begins with #!"}},
		{"a directory", dir, nil, []string{"is a directory"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := play(t, "")
			s.command.Path, s.command.Args, s.command.Env = tt.path, nil, []string{"PATH=" + dir}
			_, err := client.Start(t.Context(), s.command, &s.opts)
			text := s.asError(err, client.KindSpawn, client.StepSpawn).Error()
			check.Has(t, text, append(tt.says, "spawn")...)
			// Where something lies in PATH is no matter of a program that is named by its path.
			if !strings.Contains(text, "searched") {
				check.Lacks(t, text, "PATH")
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
		})
	}
}
