package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
)

// touch is an agent that says by a file that it was started.
const touch = "#!/bin/sh\n: > \"$SENTINEL\"\n"

// Whatever is wrong with the command line is said, with status 2, before anything is
// started; with --json in a result too.
func TestBadUsage(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	sentinel := filepath.Join(dir, "started")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(bin, "gemini")
	if err := os.WriteFile(agent, []byte(touch), 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain")
	badEnv := filepath.Join(dir, "bad.env")
	for file, text := range map[string]string{plain: "", badEnv: "A=1\nsekret\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gemini := func(args ...string) []string { return append([]string{"--agent", "gemini", "hi"}, args...) }

	tests := []struct {
		name  string
		args  []string
		stdin string
		env   string
		want  string // on stderr, and in the result's error
	}{
		{name: "unknown agent", args: []string{"--agent", "gemeni", "hi"}, want: `--agent: there is no agent "gemeni"`},
		{name: "empty agent", args: []string{"--agent", "", "hi"}, want: `--agent: there is no agent ""`},
		{name: "a path as --agent", args: []string{"--agent", agent, "hi"}, want: "-- COMMAND"},
		{name: "agent and command", args: gemini("--", agent), want: "--agent and a COMMAND"},
		{name: "nothing after the dashes", args: []string{"hi", "--"}, want: "no COMMAND after --"},
		{name: "empty command", args: []string{"hi", "--", ""}, want: "no COMMAND after --"},
		{name: "no agent in a job", args: []string{"hi"}, want: "no agent: name one"},
		{name: "unknown agent in the environment", args: []string{"hi"}, env: "ERRAND_AGENT=gemeni", want: `$ERRAND_AGENT: there is no agent "gemeni"`},
		{name: "json and events", args: gemini("--events"), want: "--json and --events"},
		{name: "two prompts", args: gemini("there"), want: "there are 2 prompts; put quotes around a prompt"},
		{name: "a command without dashes", args: []string{"hi", agent}, want: `if "` + agent + `" is the agent's command, -- is missing before it`},
		{name: "a command that is not there without dashes", args: []string{"hi", "./no-agent", "acp"}, want: `there are 3 prompts: if "./no-agent" is`},
		{name: "a name without dashes", args: []string{"hi", "gemini"}, want: `if "gemini" is the agent's command, -- is missing before it`},
		{name: "words without dashes", args: []string{"fix", "the", "parser"}, want: "there are 3 prompts; put quotes"},
		{name: "empty prompt", args: []string{"--agent", "gemini", ""}, want: "the PROMPT is empty"},
		{name: "blank prompt", args: []string{"--agent", "gemini", " \n\t"}, want: "the PROMPT is empty"},
		{name: "empty stdin", args: []string{"--agent", "gemini"}, want: "the PROMPT is empty"},
		{name: "empty stdin by name", args: []string{"--agent", "gemini", "-"}, want: "the PROMPT is empty"},
		{name: "a prompt that is no text", args: []string{"--agent", "gemini"}, stdin: "a\xff", want: "not UTF-8"},
		{name: "empty dir", args: gemini("--dir", ""), want: "--dir is empty"},
		{name: "missing dir", args: gemini("--dir", filepath.Join(dir, "nowhere")), want: filepath.Join(dir, "nowhere")},
		{name: "a file as dir", args: gemini("--dir", plain), want: plain},
		{name: "unknown permission", args: gemini("--permission", "yes"), want: `--permission "yes"`},
		{name: "empty permission", args: gemini("--permission", ""), want: `--permission ""`},
		{name: "permission ask", args: gemini("--permission", "ask"), want: "--permission ask needs a terminal"},
		{name: "unknown sweep", args: gemini("--sweep", "all"), want: `--sweep "all"`},
		{name: "variable that is not set", args: gemini("--env", "NOT_SET_HERE"), want: "NOT_SET_HERE is not set here"},
		{name: "variable without a name", args: gemini("--env", "=sekret"), want: "--env, number 1: the name is empty"},
		{name: "second variable", args: gemini("--env", "A=1", "--env", "B C=sekret"), want: "--env, number 2: there is a space"},
		{name: "missing env file", args: gemini("--env-file", filepath.Join(dir, "no.env")), want: filepath.Join(dir, "no.env")},
		{name: "a directory as env file", args: gemini("--env-file", dir), want: dir},
		{name: "malformed env file", args: gemini("--env-file", badEnv), want: badEnv + `:2: there is no "="`},

		{name: "A27 zero grace", args: gemini("--eof-grace", "0"), want: "--eof-grace 0: must be more than 0"},
		{name: "A27 no unit", args: gemini("--term-grace", "5"), want: `--term-grace "5": want a duration`},
		{name: "A27 out of range", args: gemini("--cancel-grace", "1000h"), want: "--cancel-grace: 1000h0m0s"},
		{name: "negative timeout", args: gemini("--timeout", "-1s"), want: "--timeout: -1s is outside the usable range (more than 0, at most 24h0m0s), or 0 for never"},
		{name: "empty timeout", args: gemini("--timeout", ""), want: `--timeout "": want a duration`},
		{name: "negative start timeout", args: gemini("--start-timeout", "-1ns"), want: "--start-timeout: -1ns"},
		{name: "garbled idle timeout", args: gemini("--idle-timeout", "soon"), want: `--idle-timeout "soon": want a duration`},
	}
	errand := func(t *testing.T, stdin, env string, args ...string) outcome {
		p := newProgram(t)
		p.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "SENTINEL=" + sentinel, env}
		p.Stdin = strings.NewReader(stdin)
		return p.run(append([]string{"run"}, args...)...)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := errand(t, tt.stdin, tt.env, append([]string{"--json"}, tt.args...)...)
			if got.status != statusUsage {
				t.Errorf("status %d, want %d", got.status, statusUsage)
			}
			has(t, "stderr", got.stderr, "errand: ", tt.want)
			res := got.result(t)
			if res.Stop != stopreason.Error || res.Error == nil || res.Error.Kind != client.KindConfig || res.Error.Step != client.StepConfig {
				t.Fatalf("stop %q, error %+v, want a configuration error", res.Stop, res.Error)
			}
			has(t, "the result's error", res.Error.Message, tt.want)
			if strings.Contains(got.stderr+got.stdout, "sekret") {
				t.Errorf("a value is shown:\n%s%s", got.stderr, got.stdout)
			}
			if exists(sentinel) {
				os.Remove(sentinel)
				t.Error("the agent was started")
			}
		})
	}
	t.Run("without --json there is nothing on stdout", func(t *testing.T) {
		got := errand(t, "", "", gemini("--eof-grace", "0")...)
		if got.status != statusUsage || got.stdout != "" {
			t.Errorf("status %d, stdout %q", got.status, got.stdout)
		}
	})

	// The table proves nothing if the agent could not have been started.
	errand(t, "", "", gemini()...)
	if !exists(sentinel) {
		t.Error("the agent does not run even when everything is right")
	}
}

// What cannot be parsed at all has no result, only a message.
func TestBadCommandLine(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"run", "--no-such-flag", "hi"}, "unknown flag: --no-such-flag"},
		{[]string{"run", "- a bullet"}, "a PROMPT that begins with a dash is piped in"},
		{[]string{"run", "hi", "./agent", "--acp"}, "the agent's own flags stand after --"},
		{[]string{"run", "--json=perhaps"}, "--json"},
		{[]string{"run", "hi", "--agent"}, "--agent"},
		{[]string{"rum", "hi"}, `no command "rum"`},
		{[]string{"schema", "nothing"}, "audit, check, event, fan, fan-event, permission, permission-reply, policy, request, result, transcript"},
		{[]string{"agents", "x"}, "agents"},
		{[]string{"version", "x"}, "version"},
		{[]string{"demo", "/nonexistent.script"}, "/nonexistent.script"},
		{[]string{"demo", "a", "b"}, "demo"},
		{[]string{"demo", "-e", "", "a"}, "-e and a FILE"},
		{[]string{"demo", "-e", "txt"}, `-e:1: there is no statement "txt"`},
		{nil, "Usage:"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			got := newProgram(t).run(tt.args...)
			if got.status != statusUsage || got.stdout != "" {
				t.Errorf("status %d, stdout %q; want %d and nothing", got.status, got.stdout, statusUsage)
			}
			has(t, "stderr", got.stderr, tt.want)
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {"run", "--help"}, {"fan", "--help"}, {"demo", "-h"}, {"replay", "-h"}, {"transcript", "-h"}, {"agents", "-h"}, {"schema", "-h"}, {"version", "-h"}} {
		got := newProgram(t).run(args...)
		if got.status != statusOK || got.stderr != "" || !strings.Contains(got.stdout, "Usage:") {
			t.Errorf("%q: status %d, stderr %q, stdout %q", args, got.status, got.stderr, got.stdout)
		}
		// Others can read a command line: no example may write a secret into one.
		if regexp.MustCompile(`--env [A-Z_]+=`).MatchString(strings.ReplaceAll(got.stdout, "--env KEY=VALUE", "")) {
			t.Errorf("%q shows a secret in an argument", args)
		}
	}
}

// The examples of the help that need no agent of somebody else's are so.
func TestHelpExamples(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "errand")); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"fan", "--help"}, {"demo", "--help"}, {"transcript", "--help"}} {
		_, examples, _ := strings.Cut(newProgram(t).run(args...).stdout, "Examples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		for line := range strings.Lines(examples) {
			if !strings.Contains(line, " demo ") {
				continue
			}
			ran++
			cmd := newProgram(t).command()
			cmd.Path, cmd.Args = sh, []string{"sh", "-c", line}
			cmd.Env = append(cmd.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if out, err := cmd.Output(); len(out) == 0 {
				t.Errorf("%s%v: %s", line, err, &stderr)
			}
		}
	}
	if ran != 6 {
		t.Errorf("%d examples were run, want 6", ran)
	}
}
