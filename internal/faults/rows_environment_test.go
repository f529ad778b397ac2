package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/subagent"
)

func environmentRows() []row {
	return slices.Concat(variableRows(), programRows(), []row{directoryRow(), secretRow(), heritageRow()})
}

// env sets variables for the agent.
func env(vars ...string) func(*scene) {
	return func(s *scene) { s.command.Env = append(s.command.Env, vars...) }
}

func inherit(p envscrub.Policy) func(*scene) {
	return func(s *scene) { s.command.Inherit = p }
}

func hints(names ...string) func(*scene) {
	return func(s *scene) { s.opts.Hints = names }
}

// variableRows are about what of our environment an agent gets.
func variableRows() []row {
	const dump = "e01-environment"
	const thanks = `completed; "thank you for the key"; 1 updates; exit status 0`
	const needy = `if "$env.X_API_KEY" is ""; %s; end
		on session/prompt; text "thank you for the key"`
	return []row{
		{id: "E1", does: "dumps its environment", errand: "completed; none of the withheld names or values is in it, and the result has the names", forms: []form{
			{script: dump, check: all(scrubbed, func(s *scene) {
				for name, value := range inherited {
					check.Has(s, "\n"+s.text()+"\n", "\n"+name+"="+value+"\n")
				}
				check.Has(s, "\n"+s.text()+"\n", "\nPWD="+s.dir+"\n", "\nERRAND_RUN=", "\nPATH="+os.Getenv("PATH")+"\n")
			})},
			{name: "before initialize, on stderr", script: `stderr "$environ"; exit 1`, want: exited, check: func(s *scene) { check.Lacks(s, s.err.Partial.StderrTail, canary, "GITHUB_TOKEN") }},
			{name: "of a child", script: `on session/prompt; spawn; write env "$environ"; end; wait children; read env; text $answer`, check: scrubbed},
			{name: "strict", given: inherit(envscrub.Policy{Mode: envscrub.Strict}), script: dump, check: all(scrubbed, func(s *scene) {
				check.Lacks(s, s.text(), "KEYBOARD_LAYOUT", "MONKEY_SEE")
				check.Has(s, s.text(), "PATH=")
			})},
			{name: "nothing is withheld", given: inherit(envscrub.Policy{Mode: envscrub.None}), script: dump, check: all(warns("GITHUB_TOKEN", "as it is"), func(s *scene) {
				check.Has(s, s.text(), "GITHUB_TOKEN="+withheld["GITHUB_TOKEN"])
				check.Lacks(s, fmt.Sprint(s.result.Warnings), canary)
			})},
			{name: "one may pass", given: inherit(envscrub.Policy{Pass: []string{"GITHUB_*"}}), script: dump, check: func(s *scene) {
				check.Has(s, s.text(), "GITHUB_TOKEN="+withheld["GITHUB_TOKEN"])
				check.Lacks(s, s.text(), "AWS_SECRET")
				check.Equal(s, "is withheld", slices.Contains(s.result.WithheldEnv, "GITHUB_TOKEN"), false)
			}},
			{name: "one more is dropped", given: inherit(envscrub.Policy{Drop: []string{"MONKEY_*"}}), script: dump, check: all(scrubbed, func(s *scene) {
				check.Lacks(s, s.text(), "MONKEY_SEE")
				check.Equal(s, "is withheld", slices.Contains(s.result.WithheldEnv, "MONKEY_SEE"), true)
			})},
			{name: "what is set wins", given: env("GITHUB_TOKEN=mine-0123456789", "KEYBOARD_LAYOUT=de", "EMPTY_ONE=full", "MAX_TOKENS="), script: dump, check: func(s *scene) {
				check.Has(s, "\n"+s.text()+"\n", "\nGITHUB_TOKEN=mine-0123456789\n", "\nKEYBOARD_LAYOUT=de\n", "\nEMPTY_ONE=full\n", "\nMAX_TOKENS=\n")
				check.Lacks(s, s.text(), withheld["GITHUB_TOKEN"])
				check.Equal(s, "how often", strings.Count("\n"+s.text(), "\nGITHUB_TOKEN="), 1)
			}},
		}},
		{id: "E2", does: "exits unless X_API_KEY is set", forms: []form{
			{script: "e02-needs-a-key", want: exited, check: all(says("exit status 2", "X_API_KEY is not set", "held back from its environment", "AWS_SECRET_ACCESS_KEY"), noCanary)},
			{name: "it is set", script: "e02-needs-a-key", given: env("X_API_KEY=mine-0123456789"), want: thanks},
			{name: "ours may pass", script: "e02-needs-a-key", given: inherit(envscrub.Policy{Pass: []string{"X_API_KEY"}}), want: thanks},
			{name: "says so on stdout", script: fmt.Sprintf(needy, `noise "X_API_KEY is not set"; exit 2`), want: exited, check: all(says("held back from its environment", "X_API_KEY is not set"), noCanary)},
			{name: "does not say so", script: fmt.Sprintf(needy, "exit 1"), want: exited, check: all(says("exit status 1", "held back from its environment", "X_API_KEY"), noCanary)},
			{name: "is known to want it", given: hints("NO_SUCH_KEY", "NOR_THIS_TOKEN"), script: "exit 1", want: exited, check: all(says("NO_SUCH_KEY or NOR_THIS_TOKEN", "none"), noCanary)},
			{name: "waits for it instead", given: all(startTimeout(time.Second), deafTo(toEOF)), script: fmt.Sprintf(needy, "wait forever"), want: "not started: startup_timeout at initialize", check: all(says("held back from its environment", "X_API_KEY"), noCanary)},
			{name: "says so when asked for a session", script: "on session/new; fail -32603 \"X_API_KEY is not set\"", want: "not started: agent at session/new", check: all(says("held back from its environment", "X_API_KEY is not set"), noCanary)},
			{name: "says so when prompted", script: "on session/prompt; fail -32603 \"X_API_KEY is not set\"", want: "error: agent at session/prompt; no text; exit status 0", check: all(says("held back from its environment", "X_API_KEY is not set"), noCanary)},
		}},
	}
}

// scrubbed checks that the agent's text has nothing that is withheld, and that the
// result names it.
func scrubbed(s *scene) {
	s.Helper()
	check.Equal(s, "outcome", s.result.Stop, "completed")
	check.Lacks(s, s.text(), canary)
	for _, name := range withheldNames() {
		if assigns(s.text(), name) {
			s.Errorf("%s reaches the agent", name)
		}
		if !slices.Contains(s.result.WithheldEnv, name) {
			s.Errorf("%s is not among the withheld: %q", name, s.result.WithheldEnv)
		}
	}
	check.Equal(s, "sorted", slices.IsSorted(s.result.WithheldEnv), true)
}

// noCanary checks that no secret of ours is in the error, nor in what is known beside it.
func noCanary(s *scene) {
	s.Helper()
	check.Lacks(s, s.message(), canary)
	known := s.result
	if s.err != nil {
		known = s.err.Partial
	}
	text, err := json.Marshal(known)
	if err != nil {
		s.Error(err)
	}
	check.Lacks(s, string(text), canary)
}

// programRows are about commands that cannot be run.
func programRows() []row {
	const want = "not started: spawn at spawn"
	// file runs a file of this content.
	file := func(content string) func(*scene) {
		return func(s *scene) { s.command.Path, s.command.Args = s.put("agent", content), nil }
	}
	// here runs what is made of the run's directory, with that as the only one in PATH.
	here := func(path func(s *scene, dir string) string) func(*scene) {
		return func(s *scene) {
			s.command.Path, s.command.Args = path(s, s.dir), nil
			env("PATH=" + s.dir)(s)
		}
	}
	// path is a command in the run's directory; the agent's name is in the error.
	path := func(name string) func(*scene) {
		return here(func(_ *scene, dir string) string { return dir + name })
	}
	names := func(words ...string) func(*scene) {
		return func(s *scene) {
			s.Helper()
			check.Has(s, s.message(), append(words, fmt.Sprintf("%q", s.command.Path))...)
		}
	}
	return []row{
		{id: "E3", does: "a script whose interpreter is missing", noSDK: "a matter of the start", forms: []form{
			{given: file("#!/no/such/node\n"), want: want, check: names("interpreter", `"/no/such/node"`, "no such file")},
			{name: "with an argument", given: file("#! /no/such/node  --acp\n"), want: want, check: names("interpreter", `"/no/such/node"`)},
			{name: "by env", given: file("#!/usr/bin/env no-such-node\n"), want: want, check: names("interpreter", `"no-such-node"`, "searched")},
			{name: "by env -S", given: file("#!/usr/bin/env -S no-such-node --acp\n"), want: want, check: names("interpreter", `"no-such-node"`, "searched")},
			{name: "by env, with a PATH of its own", given: all(file("#!/usr/bin/env sh\n"), env("PATH=/no/such/dir")), want: want, check: names("interpreter", `"sh"`, "/no/such/dir")},
			{name: "line ends of another system", given: file("#!/bin/sh\r\necho hello\r\n"), want: want, check: names("interpreter", `"/bin/sh\r"`)},
			{name: "which is a directory", given: file("#!/tmp\n"), want: want, check: names("interpreter", `"/tmp"`, "directory")},
			{name: "which is not executable", given: file("#!/etc/passwd\n"), want: want, check: names("interpreter", `"/etc/passwd"`, "not executable")},
			{name: "no line end", given: file("#!/no/such/node"), want: want, check: names("interpreter", `"/no/such/node"`)},
			{name: "no #! at all", given: file("echo hello\n"), want: want, check: names("neither a program", "#!")},
			{name: "an empty file", given: file(""), want: want, check: names("neither a program")},
			{name: "a program for another machine", given: file("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 200)), want: want, check: names("neither a program")},
			{name: "found in PATH", given: here(func(s *scene, dir string) string { s.put("agent", "#!/no/such/node\n"); return "agent" }), want: want, check: says("/agent", "interpreter", `"/no/such/node"`)},
		}},
		{id: "E4", does: "a command that is not there; a directory; a file that is not executable", noSDK: "a matter of the start", forms: []form{
			{given: here(func(*scene, string) string { return "no-such-agent" }), want: want, check: func(s *scene) { check.Has(s, s.message(), `"no-such-agent"`, "searched "+s.dir) }},
			{name: "a path", given: path("/no-such-agent"), want: want, check: names("no such file")},
			{name: "a directory", given: path(""), want: want, check: names("is a directory")},
			{name: "not executable", given: here(func(s *scene, dir string) string {
				chmod(s, s.put("agent", "#!/bin/sh\n"), 0o644)
				return dir + "/agent"
			}), want: want, check: names("not executable")},
			{name: "not executable, in PATH", given: here(func(s *scene, dir string) string { chmod(s, s.put("agent", "#!/bin/sh\n"), 0o644); return "agent" }), want: want, check: func(s *scene) { check.Has(s, s.message(), s.dir+"/agent", "not executable") }},
			{name: "a directory, in PATH", given: here(func(s *scene, dir string) string { mkdir(s, dir+"/agent"); return "agent" }), want: want, check: func(s *scene) { check.Has(s, s.message(), "searched "+s.dir) }},
			{name: "below a file", given: here(func(s *scene, dir string) string { return s.put("file", "") + "/agent" }), want: want, check: names("not a directory")},
			{name: "a symlink to nowhere", given: here(func(s *scene, dir string) string { link(s, "nowhere", dir+"/agent"); return dir + "/agent" }), want: want, check: names("no such file")},
			{name: "a symlink to itself", given: here(func(s *scene, dir string) string { link(s, "agent", dir+"/agent"); return dir + "/agent" }), want: want, check: names("too many levels")},
			{name: "a device", given: program("/dev/null"), want: want, check: names("not executable")},
			{name: "a very long name", given: program("/" + strings.Repeat("x", 300)), want: want, check: names("too long")},
			{name: "no PATH", given: all(program("sh"), env("PATH=")), want: want, check: says(`"sh"`, "no absolute directory")},
			{name: "a PATH that is relative", given: all(program("sh"), env("PATH=.:bin::../bin")), want: want, check: says(`"sh"`, "no absolute directory")},
			{name: "an argument that is too long", given: func(s *scene) { s.command.Args = []string{strings.Repeat("x", 200<<10)} }, want: want, check: says("too long")},
			{name: "nothing", given: program(""), want: "not started: config at config", check: says("Path is empty")},
			{name: "a name with a NUL", given: program("a\x00b"), want: "not started: config at config", check: says("NUL")},
		}},
	}
}

func chmod(s *scene, path string, mode os.FileMode) { s.must(os.Chmod(path, mode)) }
func mkdir(s *scene, path string)                   { s.must(os.Mkdir(path, 0o755)) }
func link(s *scene, to, path string)                { s.must(os.Symlink(to, path)) }

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// directoryRow is about where an agent works.
func directoryRow() row {
	const tells = "e05-directories"
	const refused = "not started: config at config"
	// at makes what is asked for as the directory.
	at := func(dir func(s *scene) string) func(*scene) {
		return func(s *scene) { s.request.Dir = dir(s) }
	}
	// works checks that process, session and PWD are in the directory.
	works := func(dir func(s *scene) string) func(*scene) {
		return func(s *scene) {
			s.Helper()
			want := dir(s)
			check.Equal(s, "where it works", s.text(), fmt.Sprintf("process %s; session %s; PWD %s", want, want, want))
			check.Equal(s, "where it says it does", s.result.Dir, want)
		}
	}
	own := func(s *scene) string { return s.dir }
	below := func(name string) func(*scene) string {
		return func(s *scene) string { return filepath.Join(s.dir, name) }
	}
	made := func(name string) func(*scene) string {
		return func(s *scene) string { mkdir(s, filepath.Join(s.dir, name)); return filepath.Join(s.dir, name) }
	}
	caller, _ := os.Getwd()
	caller, _ = filepath.EvalSymlinks(caller)
	return row{
		id: "E5", does: "a directory that is a symlink, `.`, missing, or a file", noSDK: "a matter of the start",
		errand: "a symlink is resolved once, for process and session; a relative one is refused in a request and made absolute for a provider; the others are refused",
		forms: []form{
			{script: tells, given: at(func(s *scene) string { link(s, ".", s.dir+"/link"); return s.dir + "/link" }), check: works(own)},
			{name: "a request's .", given: at(func(*scene) string { return "." }), want: refused, check: says(`"."`, "not absolute")},
			{name: "a provider's .", script: tells, given: func(s *scene) { s.command.Dir = "." }, check: works(func(*scene) string { return caller })},
			{name: "a provider's goes first", script: tells, given: func(s *scene) { s.command.Dir, s.request.Dir = s.dir, "/" }, check: works(own)},
			{name: "a provider's is missing", given: func(s *scene) { s.command.Dir = "no-such-directory" }, want: refused, check: says("no such file")},
			{name: "the parent's", script: tells, given: func(s *scene) { s.request.Dir, s.request.ParentDir = "", s.dir }, check: works(own)},
			{name: "the request's before the parent's", script: tells, given: func(s *scene) { s.request.ParentDir = "/" }, check: works(own)},
			{name: "a relative one of the parent", given: func(s *scene) { s.request.Dir, s.request.ParentDir = "", "." }, want: refused, check: says("not absolute")},
			{name: "none", given: at(func(*scene) string { return "" }), want: refused, check: says("no directory")},
			{name: "missing", given: at(below("missing")), want: refused, check: says("/missing", "no such file")},
			{name: "a file", given: at(func(s *scene) string { return s.put("file", "") }), want: refused, check: says("/file", "not a directory")},
			{name: "below a file", given: at(func(s *scene) string { return s.put("file", "") + "/dir" }), want: refused, check: says("not a directory")},
			{name: "a symlink to a file", given: at(func(s *scene) string { s.put("file", ""); link(s, "file", s.dir+"/link"); return s.dir + "/link" }), want: refused, check: says("not a directory")},
			{name: "a symlink to nowhere", given: at(func(s *scene) string { link(s, "nowhere", s.dir+"/link"); return s.dir + "/link" }), want: refused, check: says("no such file")},
			{name: "a symlink to itself", given: at(func(s *scene) string { link(s, "link", s.dir+"/link"); return s.dir + "/link" }), want: refused},
			{name: "one that cannot be entered", given: at(func(s *scene) string {
				if os.Getuid() == 0 || runtime.GOOS == "windows" {
					s.Skip("this user may enter any directory")
				}
				dir := made("closed")(s)
				chmod(s, dir, 0)
				return dir
			}), want: refused, check: says("cannot be entered")},
			{name: "symlinks in the middle, and dots", script: tells, given: at(func(s *scene) string {
				made("real")(s)
				made("real/deep")(s)
				link(s, "real/deep", s.dir+"/link")
				return s.dir + "/link/../deep/./"
			}), check: works(below("real/deep"))},
			{name: "a name of blanks and more", script: tells, given: at(made(" a dir's \"näme\" $HOME 目 ")), check: works(below(" a dir's \"näme\" $HOME 目 "))},
			{name: "a name with a line end", script: tells, given: at(made("two\nlines")), check: works(below("two\nlines"))},
		},
	}
}

// secretRow is about secrets that an agent has, or has seen, and repeats.
func secretRow() row {
	// The agent has a value of ours that is held back, and one of its own.
	given := env("CANARY="+withheld["GITHUB_TOKEN"], "MY_API_KEY=canary-mine-0123456789")
	// told has what is told meanwhile kept and checked too.
	told := func(s *scene) {
		var mu sync.Mutex
		var events []string
		s.listen(func(e subagent.Event) {
			if e.Type == subagent.EventUpdate {
				return // the agent's own words
			}
			text, _ := json.Marshal(e)
			mu.Lock()
			defer mu.Unlock()
			events = append(events, string(text))
		})
		s.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			check.Lacks(s, strings.Join(events, "\n"), canary)
		})
	}
	quiet := all(noCanary, func(s *scene) {
		s.Helper()
		known := s.result
		if s.err != nil {
			known = s.err.Partial
		}
		text, _ := json.Marshal(known)
		check.Has(s, string(text)+s.message(), "[redacted]")
	})
	secret := func(name, src, want string) form {
		return form{name: name, script: strings.NewReplacer("CANARY", "$env.CANARY", "MINE", "$env.MY_API_KEY").Replace(src), given: all(given, told), want: want, check: quiet}
	}
	first := form{script: "e06-canary", given: all(given, told), want: "error: agent at session/prompt; no text; 1 updates; 1 lines of noise; exit status 0", check: all(quiet, func(s *scene) {
		check.Equal(s, "stderr", s.result.StderrTail, "the key is [redacted]\n")
		check.Equal(s, "noise", s.result.Noise.First[0], "the key is [redacted]")
		check.Equal(s, "title", *s.result.ToolCalls[0].Title, "use [redacted]")
		check.Equal(s, "data", string(s.result.Error.Data), `{"key":"[redacted]"}`)
	})}
	split := secret("in pieces", `on session/prompt; stderr "key: MINE"; raw "{\"level\": \"info\", \"key\": \"MINE"; wait 20ms; stderr "MINE\n"; raw "\"}\n"; noise "MINE MINE"; text ok`, `completed; "ok"; 1 updates; 2 lines of noise; exit status 0`)
	return row{id: "E6", does: "repeats a secret on stderr, in noise, in a title and in an error's data", forms: []form{
		first,
		split,
		secret("letter by letter", "on session/prompt; stderr \"can\"; stderr \"ary-\"; wait 20ms; stderr \"mine-012345\"; wait 20ms; stderr \"6789\\n\"; text ok", `completed; "ok"; 1 updates; exit status 0`),
		secret("within JSON", `on session/prompt; noise "{\"error\": \"{\\\"key\\\": \\\"CANARY\\\"}\"}"; text ok`, `completed; "ok"; 1 updates; 1 lines of noise; exit status 0`),
		secret("in a tool call and its permission", "on session/prompt; permission c1 \"curl -H CANARY\" kind=execute input={\"command\": \"curl -H MINE\", \"MINE\": [\"CANARY\"]}; option no reject_once \"No\"; end; text ok", `completed; "ok"; 1 updates; denied; exit status 0`),
		secret("in a plan and a mode", "on session/prompt; plan \"use CANARY\"; mode MINE; text ok", `completed; "ok"; 3 updates; exit status 0`),
		secret("in a stop reason", `on session/prompt; text ok; reply {"stopReason": "CANARY"}`, `error: protocol at session/prompt; "ok"; 1 updates; exit status 0`),
		secret("in _meta", `on session/prompt; text ok; stop end_turn {"_meta": {"key": "CANARY", "MINE": 1}}`, `completed; "ok"; 1 updates; exit status 0`),
		secret("in its name", `on initialize; answer {"agentInfo": {"name": "agent MINE", "version": "CANARY"}}`, "completed; no text; exit status 0"),
		secret("before it dies", "on session/prompt; stderr \"fatal: bad key CANARY\\n\"; exit 1", "error: exit at session/prompt; no text; exit status 1"),
		secret("before it starts", "stderr \"fatal: bad key CANARY\\n\"; noise MINE; exit 1", exited),
		secret("in the error of a start", `on session/new; fail -32603 "bad key CANARY" {"key": "MINE"}`, "not started: agent at session/new"),
		secret("in its version", `on initialize; reply {"protocolVersion": "CANARY"}`, "not started: version at initialize"),
		secret("in what it offers", `on session/new; fail -32000 "log in with CANARY" {"authMethods": [{"id": "MINE"}]}`, "not started: auth_required at session/new"),
		{name: "in its arguments", script: "on session/prompt; text ok", given: all(given, told, under(`: canary-mine-0123456789; exec "$0" "$@"`)), want: `completed; "ok"; 1 updates; exit status 0`, check: quiet},
		{name: "at the cut of the tail", given: all(given, told, func(s *scene) { s.opts.StderrTail = 64 }), script: "on session/prompt; stderr \"" + strings.Repeat("x", 100) + "$env.MY_API_KEY" + strings.Repeat("y", 50) + "\\n\"; text ok", want: `completed; "ok"; 1 updates; exit status 0`, check: all(noCanary, func(s *scene) {
			check.Lacks(s, s.result.StderrTail, "canary", "mine-0", "0123456789")
		})},
		{name: "and in its answer, which is its own", script: "on session/prompt; text \"$env.CANARY\"", given: given, check: func(s *scene) {
			check.Equal(s, "output", s.result.Output, withheld["GITHUB_TOKEN"])
		}},
	}}
}

// heritageRow is about what else of this process an agent could get.
func heritageRow() row {
	return row{
		id: "E7", does: "inherited descriptors, a PWD that is not the directory, a relative command with another directory", noSDK: "a matter of the start",
		errand: "descriptors 0 to 2 and the life-line only; PWD is the directory; the command is the caller's",
		forms: []form{
			{script: "e07-descriptors", given: strayDescriptors(1), check: onlyOurs},
			{name: "several descriptors", script: "e07-descriptors", given: strayDescriptors(20), check: onlyOurs},
			{name: "descriptors of a child", script: `on session/prompt; spawn; write fds "$fds"; end; wait children; read fds; text $answer`, given: strayDescriptors(3), check: func(s *scene) {
				// It has asked for none, so those it has are from us.
				check.Has(s, s.text(), "0 /dev/null\n1 /dev/null\n2 /dev/null\n3 pipe:")
				check.Equal(s, "descriptors", strings.Count(s.text(), "\n"), 3)
			}},
			{name: "PWD is something else", script: "e05-directories", given: env("PWD=/elsewhere"), check: func(s *scene) { check.Has(s, s.text(), "process "+s.dir+"; session "+s.dir+"; PWD "+s.dir) }},
			{name: "PWD is empty", script: "e05-directories", given: env("PWD="), check: func(s *scene) { check.Has(s, s.text(), "PWD "+s.dir) }},
			{name: "PWD is inherited", script: "on session/prompt; text $env.PWD", given: inherit(envscrub.Policy{Mode: envscrub.None}), check: func(s *scene) { check.Equal(s, "PWD", s.text(), s.dir) }},
			{name: "a relative command", script: "on session/prompt; text $pwd", given: func(s *scene) {
				// A path that leads to the agent from here, and nowhere from there.
				here, err := os.Getwd()
				s.must(err)
				link(s, s.command.Path, s.dir+"/agent")
				s.command.Path, err = filepath.Rel(here, s.dir+"/agent")
				s.must(err)
				dir := s.dir + "/other"
				mkdir(s, dir)
				s.request.Dir = dir
			}, check: func(s *scene) {
				check.Equal(s, "directory", s.text(), s.dir+"/other")
				check.Equal(s, "program", filepath.Clean(*s.result.Agent.Path), s.dir+"/agent")
			}},
			{name: "./agent, which is there but not here", given: func(s *scene) { s.put("agent", "#!/bin/sh\n"); s.command.Path = "./agent" }, want: "not started: spawn at spawn", check: says(`"./agent"`, "no such file")},
			{name: "a name that is there, but not in PATH", given: func(s *scene) { s.put("agent", "#!/bin/sh\n"); s.command.Path = "agent"; env("PATH=.:/no/such/dir")(s) }, want: "not started: spawn at spawn", check: says(`"agent"`, "searched /no/such/dir")},
			{name: "a name in the PATH that it gets", script: "on session/prompt; text $pwd", given: func(s *scene) {
				link(s, s.command.Path, s.dir+"/agent")
				s.command.Path = "agent"
				env("PATH=/no/such/dir:" + s.dir)(s)
			}, check: func(s *scene) { check.Equal(s, "program", *s.result.Agent.Path, s.dir+"/agent") }},
		},
	}
}

// onlyOurs checks the descriptors that the agent has told of.
func onlyOurs(s *scene) {
	s.Helper()
	lines := strings.Split(s.text(), "\n")
	want := 3
	if runtime.GOOS == "linux" {
		want = 4
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, fmt.Sprintf("%d pipe:", i)) {
			s.Errorf("descriptor %d: %s", i, line)
		}
	}
	check.Equal(s, "descriptors", len(lines), want)
}
