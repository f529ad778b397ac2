//go:build unix

package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// meanwhile is a policy that allows what it is asked about, after something has happened
// while the question was open, and who decides had seen what it was about.
func meanwhile(happens func(permission.Request)) permission.Policy {
	return permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
		req.Facts()
		happens(req)
		return permission.Allow().Decide(ctx, req)
	})
}

// asking asks that policy about everything, reads too.
func asking(p permission.Policy) permission.Policy {
	return &permission.Rules{Default: permission.EffectAsk, Ask: p}
}

// fileAttack is an agent that has a file read or written while it changes what is there.
type fileAttack struct {
	files     map[string]string // that are there before
	link      string            // what link leads to; empty for none
	request   string            // fs/read_text_file or fs/write_text_file
	path      string
	content   string
	meanwhile func(h *hosted)
	want      string
	after     map[string]string // empty: not there
}

func (a fileAttack) run(t *testing.T) {
	var h *hosted
	h = host(t, client.Options{Files: client.FilesWrite, Permission: asking(meanwhile(func(permission.Request) { a.meanwhile(h) }))}, fmt.Sprintf(`on session/prompt
  request %s {"sessionId":"$session","path":"$cwd/%s","content":%s}
  text "[$answer.content|$error.message]"`, a.request, a.path, quote(a.content)))
	for name, text := range a.files {
		require(t, os.MkdirAll(filepath.Dir(h.at(name)), 0o777))
		h.write(name, text)
	}
	if a.link != "" {
		require(t, os.Symlink(a.link, h.at("link")))
	}
	h.answers(a.want)
	for name, want := range a.after {
		if want == "" {
			if _, err := os.Lstat(h.at(name)); err == nil {
				t.Errorf("%s is there", name)
			}
			continue
		}
		h.holds(name, want)
	}
	if left, _ := filepath.Glob(h.Dir + "/*/.errand-*"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func (h *hosted) at(name string) string { return filepath.Join(h.Dir, name) }

// swap puts a link in the place of what is there.
func (h *hosted) swap(name, target string) {
	h.Helper()
	require(h.TB.(*testing.T), os.RemoveAll(h.at(name)))
	require(h.TB.(*testing.T), os.Symlink(target, h.at(name)))
}

// TestFileAttacks is what an agent may try with the files it has us read and write.
// docs/security.md lists them by name.
func TestFileAttacks(t *testing.T) {
	const (
		read    = "fs/read_text_file"
		write   = "fs/write_text_file"
		changed = "[|it changed meanwhile]"
	)
	for _, a := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"directory swapped for a link while a write is decided on", fileAttack{
			files: map[string]string{"notes/a": "", ".git/hooks/x": ""}, request: write, path: "notes/pre-commit", content: "evil",
			meanwhile: func(h *hosted) { h.swap("notes", ".git/hooks") },
			want:      changed, after: map[string]string{".git/hooks/pre-commit": ""},
		}.run},
		{"directory moved away while a write is decided on", fileAttack{
			files: map[string]string{"notes/a": "", "other/a": "other"}, request: write, path: "notes/a", content: "evil",
			meanwhile: func(h *hosted) {
				require(t, os.Rename(h.at("notes"), h.at("moved")))
				require(t, os.Rename(h.at("other"), h.at("notes")))
			},
			want: changed, after: map[string]string{"notes/a": "other"},
		}.run},
		{"missing directory made a link while a write is decided on", fileAttack{
			files: map[string]string{".git/hooks/x": ""}, request: write, path: "notes/pre-commit", content: "evil",
			meanwhile: func(h *hosted) { h.swap("notes", ".git/hooks") },
			want:      changed, after: map[string]string{".git/hooks/pre-commit": ""},
		}.run},
		{"file swapped for a link while a write is decided on", fileAttack{
			files: map[string]string{"a": "old", ".env": "SECRET"}, request: write, path: "a", content: "evil",
			meanwhile: func(h *hosted) { h.swap("a", ".env") },
			want:      changed, after: map[string]string{".env": "SECRET"},
		}.run},
		{"new file made a link while a write is decided on", fileAttack{
			request: write, path: "a", content: "evil",
			meanwhile: func(h *hosted) { h.swap("a", ".env") },
			want:      changed, after: map[string]string{".env": ""},
		}.run},
		{"link turned elsewhere while a write is decided on", fileAttack{
			files: map[string]string{"one/a": "1", "two/a": "2"}, link: "one", request: write, path: "link/a", content: "evil",
			meanwhile: func(h *hosted) { h.swap("link", "two") },
			want:      changed, after: map[string]string{"one/a": "1", "two/a": "2"},
		}.run},
		{"text changed while a write is decided on", fileAttack{
			files: map[string]string{"a": "old"}, request: write, path: "a", content: "evil",
			meanwhile: func(h *hosted) { h.write("a", "the user's newer work") },
			want:      changed, after: map[string]string{"a": "the user's newer work"},
		}.run},
		{"text that cannot be shown changed while a write is decided on", fileAttack{
			files: map[string]string{"a": "\xff"}, request: write, path: "a", content: "evil",
			meanwhile: func(h *hosted) { h.write("a", "\xff\xff") },
			want:      changed, after: map[string]string{"a": "\xff\xff"},
		}.run},
		{"file made where there was none while a write is decided on", fileAttack{
			request: write, path: "a", content: "evil",
			meanwhile: func(h *hosted) { h.write("a", "the user's own") },
			want:      changed, after: map[string]string{"a": "the user's own"},
		}.run},
		{"file replaced while a write is decided on", fileAttack{
			files: map[string]string{"a": "old", "b": "old"}, request: write, path: "a", content: "evil",
			meanwhile: func(h *hosted) { require(t, os.Rename(h.at("b"), h.at("a"))) },
			want:      changed, after: map[string]string{"a": "old"},
		}.run},
		{"file swapped for a link while a read is decided on", fileAttack{
			files: map[string]string{"a": "fine", ".env": "SECRET"}, request: read, path: "a",
			meanwhile: func(h *hosted) { h.swap("a", ".env") },
			want:      changed,
		}.run},
		{"directory swapped for a link while a read is decided on", fileAttack{
			files: map[string]string{"notes/config": "fine", ".git/config": "SECRET"}, request: read, path: "notes/config",
			meanwhile: func(h *hosted) { h.swap("notes", ".git") },
			want:      changed,
		}.run},
		{"missing file made a link while a read is decided on", fileAttack{
			files: map[string]string{".env": "SECRET"}, request: read, path: "a",
			meanwhile: func(h *hosted) { h.swap("a", ".env") },
			want:      changed,
		}.run},
		{"write after the cancel", func(t *testing.T) { afterCancel(t, "fs/write_text_file", `"path":"$cwd/made","content":"x"`) }},
		{"read after the cancel", func(t *testing.T) { afterCancel(t, "fs/read_text_file", `"path":"$cwd/file"`) }},
	} {
		t.Run(a.name, a.run)
	}
	t.Run("what changes nothing is in nobody's way", fileAttack{
		files: map[string]string{"notes/a": "old"}, request: write, path: "notes/a", content: "new",
		meanwhile: func(h *hosted) { h.write("notes/b", "of no interest") },
		want:      "[|]", after: map[string]string{"notes/a": "new"},
	}.run)
	t.Run("nor is a directory that somebody else has made", fileAttack{
		request: write, path: "notes/sub/a", content: "new",
		meanwhile: func(h *hosted) { require(t, os.MkdirAll(h.at("notes"), 0o777)) },
		want:      "[|]", after: map[string]string{"notes/sub/a": "new"},
	}.run)
}

// afterCancel cancels the turn when an act has been allowed and not yet been done.
func afterCancel(t *testing.T, method, params string) {
	var cancel context.CancelFunc
	h := host(t, client.Options{Files: client.FilesWrite, Terminals: true, Permission: asking(permission.Allow())}, fmt.Sprintf(`on session/prompt
  request %s {"sessionId":"$session",%s}
  write answered "[$answer.content|$answer.terminalId|$error.message]"
  wait cancel`, method, params))
	told := h.opts.ObservePermission
	h.opts.ObservePermission = func(r permission.Record) {
		told(r)
		cancel()
	}
	h.write("file", "SECRET")
	session := h.session()
	ctx, end := context.WithCancel(t.Context())
	cancel = end
	answer, err := h.await(h.ask(ctx, session, "go"))
	if err != nil || !answer.Cancelled {
		t.Errorf("the turn ended with %+v, %v", answer, err)
	}
	h.agent.Close()
	if got := h.File("answered"); got != "[||not permitted (turn cancelled)]" {
		t.Errorf("the agent got %s", got)
	}
	if h.Exists("made") {
		t.Error("it was done")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	why := "not told"
	if len(h.files) == 1 && h.files[0].Error != nil {
		why = *h.files[0].Error
	} else if len(h.commands) == 1 && h.commands[0].Error != nil {
		why = *h.commands[0].Error
	}
	if why != "not permitted (turn cancelled)" {
		t.Errorf("the record's error is %q", why)
	}
}

// TestTerminalAttacks is what an agent may try with the commands it has us run.
// docs/security.md lists them by name.
func TestTerminalAttacks(t *testing.T) {
	outside := func(t *testing.T) string {
		dir := t.TempDir()
		require(t, os.WriteFile(dir+"/f", []byte("outside"), 0o666))
		return dir
	}
	// reads runs "cat f" in a directory and returns what the agent says of it.
	reads := func(t *testing.T, happens func(h *hosted), want string) {
		var h *hosted
		h = host(t, client.Options{Terminals: true, Permission: meanwhile(func(permission.Request) { happens(h) })}, `on session/prompt
  request terminal/create {"sessionId":"$session","command":"cat","args":["f"],"cwd":"$cwd/sub"}
  set t "$answer.terminalId"
  text "[$error.message]"`+waits+shows)
		require(t, os.MkdirAll(h.at("sub"), 0o777))
		h.write("sub/f", "inside")
		h.completes(h.session(), "go", "end_turn")
		h.agent.Close()
		if got := h.text(); !strings.HasPrefix(got, want) {
			t.Errorf("the agent says %q, want %q", got, want)
		}
	}
	// told runs cat with a PATH of the agent's, where it is another program.
	told := func(t *testing.T, how, want string) {
		programs, risks := make(chan string, 1), make(chan []string, 1)
		h := host(t, client.Options{Terminals: true, Permission: meanwhile(func(req permission.Request) {
			programs <- req.Facts().Commands[0].Program
			risks <- req.Facts().Risks
		})}, `on session/prompt
  request terminal/create {"sessionId":"$session",`+how+`}
  set t "$answer.terminalId"
  text "[$error.message]"`+waits+shows)
		require(t, os.Mkdir(h.at("bin"), 0o777))
		require(t, os.WriteFile(h.at("bin/cat"), []byte("#!/bin/sh\necho another"), 0o777))
		h.answers("[][0||][another\n|false|]")
		if got := receive(t, programs); got != h.at("bin/cat") {
			t.Errorf("the policy was told of %s", got)
		}
		if got := receive(t, risks); len(got) != 1 || got[0] != want {
			t.Errorf("the risks are %q, want %q", got, want)
		}
	}
	for _, a := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"PATH of the agent's", func(t *testing.T) {
			told(t, `"command":"cat","args":["x"],"env":[{"name":"PATH","value":"$cwd/bin"}]`, "sets a variable: PATH")
		}},
		{"PATH before the program", func(t *testing.T) { told(t, `"command":"PATH=$cwd/bin cat x"`, "sets a variable: PATH") }},
		{"directory swapped for a link while it is decided on", func(t *testing.T) {
			dir := outside(t)
			reads(t, func(h *hosted) { h.swap("sub", dir) }, "[it changed meanwhile]")
		}},
		{"session's directory swapped for a link", func(t *testing.T) {
			rules, err := permission.ParseRules([]byte(`{"rules":[{"effect":"allow","commands":[["cat","**"]]}]}`))
			require(t, err)
			h := host(t, client.Options{Terminals: true, Permission: rules}, `on session/prompt
  request terminal/create {"sessionId":"$session","command":"cat","args":["f"]}
  set t "$answer.terminalId"
  text "[$error.message]"`+waits+shows)
			session := h.session()
			require(t, os.Rename(h.Dir, h.Dir+"-moved"))
			defer os.RemoveAll(h.Dir + "-moved")
			require(t, os.Symlink(outside(t), h.Dir))
			h.completes(session, "go", "end_turn")
			h.agent.Close()
			if got := h.text(); !strings.HasPrefix(got, "[not permitted (deny: default)]") {
				t.Errorf("the agent says %q", got)
			}
		}},
		{"directory moved away while it is decided on", func(t *testing.T) {
			reads(t, func(h *hosted) {
				require(t, os.Rename(h.at("sub"), h.at("moved")))
				require(t, os.Mkdir(h.at("sub"), 0o777))
			}, "[it changed meanwhile]")
		}},
		{"directory gone while it is decided on", func(t *testing.T) {
			reads(t, func(h *hosted) { require(t, os.RemoveAll(h.at("sub"))) }, "[it changed meanwhile]")
		}},
		{"program swapped while it is decided on", func(t *testing.T) {
			var h *hosted
			h = host(t, client.Options{Terminals: true, Permission: meanwhile(func(permission.Request) {
				require(t, os.WriteFile(h.at("bin/echo"), []byte("#!/bin/sh\ntouch made"), 0o777))
			})}, `on session/prompt
  request terminal/create {"sessionId":"$session","command":"echo","args":["x"],"env":[{"name":"PATH","value":"$cwd/bin:/usr/bin:/bin"}]}
  text "[$error.message]"`)
			require(t, os.Mkdir(h.at("bin"), 0o777))
			h.answers("[it changed meanwhile]")
			if h.Exists("made") {
				t.Error("it ran")
			}
		}},
		{"command after the cancel", func(t *testing.T) { afterCancel(t, "terminal/create", `"command":"touch","args":["made"]`) }},
		{"terminal of another session", func(t *testing.T) {
			h := host(t, client.Options{Terminals: true, Permission: permission.Allow(), Graces: deafToTerm}, `on session/prompt
  if $prompt is first`+create("sleep", "1000")+`
    write terminal "$t"
    write ready
    wait file "$cwd/go"
    request terminal/output {"sessionId":"$session","terminalId":"$t"}
    text "[$answer.exitStatus.signal|$error.message]"
  else
    wait file "$cwd/ready"
    request terminal/output {"sessionId":"$session","terminalId":"errand-terminal-1"}
    text "[$error.message]"
    request terminal/wait_for_exit {"sessionId":"$session","terminalId":"errand-terminal-1"}
    text "[$error.message]"
    request terminal/kill {"sessionId":"$session","terminalId":"errand-terminal-1"}
    text "[$error.message]"
    request terminal/release {"sessionId":"$session","terminalId":"errand-terminal-1"}
    text "[$error.message]"
    write go
  end`)
			one := h.session()
			two := h.newSession(h.agent, "")
			first := h.ask(t.Context(), one, "first")
			h.completes(two, "second", "end_turn")
			answer, err := h.await(first)
			h.ended(answer, err, "end_turn")
			if got := h.File("terminal"); got != "errand-terminal-1" {
				t.Fatalf("the terminal is %q", got)
			}
			h.agent.Close()
			const none = "[no such terminal]"
			if got := h.text(); got != none+none+none+none+"[|]" {
				t.Errorf("the agent says %q", got)
			}
		}},
		{"flood of waits", func(t *testing.T) {
			h := host(t, client.Options{Terminals: true, Permission: permission.Allow(), Graces: deafToTerm}, `on session/prompt`+create("sleep", "1000")+`
  repeat 1000
    background
      request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}
    end
  end
  permission c1 "May I"
    option yes allow_once Yes
    when allowed
      text "[allowed]"
  end`+kills+`
  wait background
  text "[all answered]"`)
			h.answers("[allowed][][all answered]")
		}},
	} {
		t.Run(a.name, a.run)
	}
	t.Run("what changes nothing is in nobody's way", func(t *testing.T) {
		reads(t, func(*hosted) {}, "[][0||][inside|false|]")
	})
}
