package subagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/canary"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// canaries are secrets of every sort. No eight bytes of one stand anywhere else.
var canaries = map[string]string{
	"a word":               "qxjvkzwypmhgtrbd",
	"eight bytes":          "Qz7_pL0x",
	"a token":              "sk-ant-api03-Zq8wXv7Tn2Lk4Jh6Gf9Ds1Aq",
	"quotes":               `pq"wx\zv'kj"yt` + "`mn",
	"a slash":              "zq/wxv+kjh=yt/mnbv/",
	"not ASCII":            "zqwäöxvkß€jhyt🔑mnb",
	"for HTML":             "zq<wxv>&kjhyt\u2028mnb",
	"control characters":   "zqw\x01xvk\x1bjhyt\x7fmnb",
	"regular expression":   "zq.*w[xv]{2}$^|kjh(yt)?",
	"a tab and blanks":     " zqwx vkjh\tytmn ",
	"percent":              "zqw%41xv%kjhyt%2",
	"several lines":        "zqwxvkjhyt\nmnbplkjfdsa\r\nqwzxcvtrgb\n",
	"a key":                "-----BEGIN PRIVATE KEY-----\nMIIEvZqwXvkJhytMnbPlkJfdSaQwZxcVtrGb1\nZbKcwggSjAgXvkJhytMnbPlkJfdSaQwZxcVt\n-----END PRIVATE KEY-----\n",
	"a key that is quoted": `"-----BEGIN PRIVATE KEY-----\nMIIEvZqwXvkJhytMnbPlkJfdSaQwZxcVtrGb1\n-----END PRIVATE KEY-----\n"`,
	"itself twice":         "zqwxvkjhzqwxvkjh",
}

// placing is a way for a secret to be in a run's environment.
type placing func(t *testing.T, cmd *client.Command, secret string)

// placings are those for any secret.
var placings = map[string]placing{
	"held back": func(t *testing.T, _ *client.Command, secret string) { t.Setenv("ERRAND_CANARY_TOKEN", secret) },
	"explicit":  func(_ *testing.T, cmd *client.Command, secret string) { cmd.Env = append(cmd.Env, "X_API_KEY="+secret) },
	"set by policy": func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Inherit.Set = []string{"X_API_KEY=" + secret}
	},
	"both, replaced": func(t *testing.T, cmd *client.Command, secret string) {
		t.Setenv("X_API_KEY", secret)
		cmd.Env = append(cmd.Env, "X_API_KEY=another")
	},
	"let through": func(t *testing.T, cmd *client.Command, secret string) {
		t.Setenv("ERRAND_CANARY_TOKEN", secret)
		cmd.Inherit.Pass = []string{"ERRAND_CANARY_*"}
	},
	"not scrubbed": func(t *testing.T, cmd *client.Command, secret string) {
		t.Setenv("ERRAND_CANARY_TOKEN", secret)
		cmd.Inherit.Mode = envscrub.None
	},
	"strict": func(t *testing.T, cmd *client.Command, secret string) {
		t.Setenv("ERRAND_CANARY_TOKEN", secret)
		cmd.Inherit.Mode = envscrub.Strict
	},
	"dropped": func(t *testing.T, cmd *client.Command, secret string) {
		t.Setenv("ERRAND_CANARY", secret)
		cmd.Inherit.Drop = []string{"ERRAND_CANARY"}
	},
	"in an argument too": func(t *testing.T, cmd *client.Command, secret string) {
		t.Setenv("ERRAND_CANARY_TOKEN", secret)
		cmd.Args[len(cmd.Args)-1] += "\n# --key=" + secret // which the script takes for a comment
	},
}

// placingsOfSome are those for secrets of a certain form.
var placingsOfSome = []struct {
	name, secret string
	place        placing
}{
	{"a harmless name", "sk-ant-api03-Zq8wXv7Tn2Lk4Jh6Gf9Ds1Aq", func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Env = append(cmd.Env, "GREETING="+secret)
	}},
	{"within other text", "sk-ant-api03-Zq8wXv7Tn2Lk4Jh6Gf9Ds1Aq", func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Env = append(cmd.Env, "GREETING=use "+secret+" please")
	}},
	{"the second of two", "sk-ant-api03-Zq8wXv7Tn2Lk4Jh6Gf9Ds1Aq", func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Env = append(cmd.Env, "GREETING=ghp_0123456789abcdefghij0123456789abcdef "+secret)
	}},
	{"a URL's password", "zqwxvkjhytmnb", func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Env = append(cmd.Env, "SERVICE=https://me:"+secret+"@host.example/path")
	}},
	{"the second URL's password", "zqwxvkjhytmnb", func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Env = append(cmd.Env, "SERVICES=https://me:another-password@host.example,https://me:"+secret+"@host.example")
	}},
	{"a proxy's password", "zqwxvkjhytmnb", func(t *testing.T, _ *client.Command, secret string) {
		t.Setenv("HTTPS_PROXY", "http://me:"+secret+"@proxy.example:8080")
	}},
	{"a URL's password, encoded there", "zqw@xvk/jhyt#mnb", func(_ *testing.T, cmd *client.Command, _ string) {
		cmd.Env = append(cmd.Env, "SERVICE=https://me:zqw%40xvk%2Fjhyt%23mnb@host.example/path")
	}},
	{"a field", "zqwxvkjhytmnb", func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Env = append(cmd.Env, "STORE=Server=x;Password="+secret+";Timeout=3")
	}},
	{"the second field", "zqwxvkjhytmnb", func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Env = append(cmd.Env, `CONFIG={"password":"another-password","client_secret":"`+secret+`"}`)
	}},
	{"a header", "zqwxvkjhytmnb0123456789", func(_ *testing.T, cmd *client.Command, secret string) {
		cmd.Env = append(cmd.Env, "GREETING=Bearer "+secret)
	}},
}

// mark is what tells that a place was there to be redacted.
const mark = "[redacted]"

// birdcage is one run with a secret in its environment that the agent knows, and all
// that was shown of it.
type birdcage struct {
	t       *testing.T
	secret  string
	scene   *scene
	cmd     client.Command
	opts    subagent.ACPOptions
	stderr  lockedBuffer // what Options.Stderr got
	logText lockedBuffer
	logJSON lockedBuffer
	talk    lockedBuffer // the transcript

	mu     sync.Mutex // guards events: they are told on goroutines of the run
	events []subagent.Event
}

type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newBirdcage makes one of an agent that follows src, in which $c is the secret, and $c1
// and $c2 are its halves: the script itself must not tell it, it is an argument.
func newBirdcage(t *testing.T, secret string, place placing, src string) *birdcage {
	t.Helper()
	var script strings.Builder
	for name, text := range map[string]string{"c": secret, "c1": secret[:len(secret)/2], "c2": secret[len(secret)/2:]} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&script, "read %q; set %s \"$answer\"\n", file, name)
	}
	b := &birdcage{t: t, secret: secret, scene: &scene{Traces: traces.New(t)}}
	b.cmd = command(t, script.String()+src)
	both := slog.NewMultiHandler(
		slog.NewTextHandler(&b.logText, &slog.HandlerOptions{Level: slog.LevelDebug}),
		slog.NewJSONHandler(&b.logJSON, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.opts = subagent.ACPOptions{Stderr: &b.stderr, Logger: slog.New(both), Graces: shortGraces, Permission: permission.Allow()}
	place(t, &b.cmd, secret)
	return b
}

// run carries the task out and looks through everything that came of it but the agent's
// own words. It returns the result, also of a run that did not start.
func (b *birdcage) run() *subagent.Result {
	b.t.Helper()
	b.scene.provider = provider(b.t, b.cmd, &b.opts)
	req := b.scene.request("go")
	req.Transcript = transcript.NewWriter(&b.talk)
	req.Events = func(e subagent.Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.events = append(b.events, e)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), hang)
	defer cancel()
	run, err := b.scene.provider.Start(ctx, req)
	if err != nil {
		b.clean("the error", err)
		e, ok := errors.AsType[*subagent.Error](err)
		if !ok || e.Partial == nil {
			b.t.Fatalf("error %#v, want a *subagent.Error with what is known", err)
		}
		b.shown()
		return b.look("the partial result", e.Partial)
	}
	b.look("the outcome", outcome(b.t, run))
	res := b.look("the result", closed(b.t, run))
	b.shown()
	return res
}

// look looks through a result.
func (b *birdcage) look(what string, res *subagent.Result) *subagent.Result {
	b.t.Helper()
	cp := *res
	cp.Output, cp.Messages = "", nil // the agent's own words
	b.clean(what, cp)
	doc, err := json.Marshal(cp)
	if err != nil {
		b.t.Fatal(err)
	}
	b.clean(what+" as JSON", doc)
	b.clean("its error", res.Err())
	return res
}

// shown looks through what was shown while it ran.
func (b *birdcage) shown() {
	b.t.Helper()
	b.clean("Stderr", b.stderr.String())
	b.clean("the log", b.logText.String())
	b.clean("the log as JSON", b.logJSON.String())
	b.clean("the transcript", b.talk.String())
	for _, talk := range conversations(b.t, b.talk.String(), 1) {
		b.clean("the transcript, read", talk)
		check.Equal(b.t, "its recording was cut off", talk.Cut, false)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Result != nil {
			cp := *e.Result
			cp.Output, cp.Messages = "", nil
			e.Result = &cp
		}
		e.Update = nil
		b.clean(fmt.Sprintf("the %s event", e.Type), e)
	}
}

func (b *birdcage) clean(what string, v any) {
	b.t.Helper()
	if found := canary.Find(b.secret, v); found != nil {
		b.t.Errorf("%d times, first in %s%s", len(found), what, found[0])
	}
}

// aviary is an agent that puts the secret wherever there is a place for it, and
// completes its turn.
const aviary = `
stderr "at the start $c\n"
noise "at the start $c"
on initialize
  answer {"agentInfo": {"name": "agent $c", "version": "$c"}, "authMethods": [{"id": "$c", "name": "$c"}], "_meta": {"$c": "$c"}}
on session/new
  answer {"modes": {"currentModeId": "mode $c", "availableModes": []}, "models": {"currentModelId": "model $c", "availableModels": []}}
on session/prompt
  stderr "in the turn $c\n"
  send {"level": "info", "msg": "$c", "nested": {"$c": ["$c"]}}
  request "x/$c" {"x": "$c"}
  request terminal/create {"x": "$c"} id="id-$c"
  notify "x/$c" {"x": "$c"}
  update {"sessionUpdate": "kind $c", "x": "$c"}
  plan "use $c"
  update {"sessionUpdate": "plan", "entries": [{"content": "a $c", "priority": "p $c", "status": "s $c"}]}
  update {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 1, "currency": "$c"}}
  update {"sessionUpdate": "current_mode_update", "currentModeId": "mode $c"}
  update {"sessionUpdate": "config_option_update", "configOptions": [{"id": "model", "category": "model", "currentValue": "model $c"}]}
  update {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "with $c", "kind": "kind $c", "status": "status $c"}
  update {"sessionUpdate": "tool_call_update", "toolCallId": "c2", "title": "again $c", "rawInput": {"k": "$c"}}
  request session/request_permission {"sessionId": "$session", "toolCall": {"toolCallId": "c3", "title": "may I $c", "kind": "kind $c", "rawInput": {"$c": ["$c", {"k": "$c"}]}}, "options": [{"optionId": "yes", "name": "$c", "kind": "allow_once"}, {"optionId": "odd", "name": "$c", "kind": "kind $c"}]}
  text "here it is: $c"
  stop "reason $c" {"_meta": {"deep": [{"k $c": "$c"}], "$c": 1}}
`

// A secret is in nothing that is shown, wherever the agent puts it, however it came into
// the environment, and whatever it is made of.
func TestCanaryPlaces(t *testing.T) {
	check := func(t *testing.T, secret string, place placing) {
		b := newBirdcage(t, secret, place, aviary)
		res := b.run()
		if res.Agent.Name == nil {
			t.Fatalf("it did not start: %v", res.Err())
		}
		// Each place was there: something was taken out of it.
		places := map[string]string{
			"agent.name": *res.Agent.Name, "agent.version": *res.Agent.Version, "model": *res.Model, "mode": *res.Mode,
			"stopReason": *res.StopReason, "error": res.Error.Message, "stderrTail": res.StderrTail, "Stderr": b.stderr.String(),
			"noise": res.Noise.First[0], "noise in JSON": res.Noise.First[1], "currency": res.Usage.Cost.Currency,
			"plan": res.Plan[0].Content, "priority": res.Plan[0].Priority, "plan's status": res.Plan[0].Status,
			"title": *res.ToolCalls[0].Title, "kind": *res.ToolCalls[0].Kind, "status": res.ToolCalls[0].Status,
			"second title": *res.ToolCalls[1].Title, "permission's title": *res.Permissions[0].Title, "permission's kind": *res.Permissions[0].Kind,
			"rawInput": fmt.Sprint(res.Permissions[0].RawInput), "option's kind": res.Permissions[0].Options[1].Kind, "meta": fmt.Sprint(res.Meta),
			"log": b.logText.String(), "log as JSON": b.logJSON.String(), "transcript": b.talk.String(),
		}
		for place, text := range places {
			if !strings.Contains(text, mark) {
				t.Errorf("%s has nothing to redact: %q", place, text)
			}
		}
		// And the agent's own words are as it said them.
		if want := "here it is: " + strings.ToValidUTF8(secret, "\uFFFD"); res.Output != want {
			t.Errorf("output %q, want %q", res.Output, want)
		}
	}
	for name, secret := range canaries {
		t.Run(name, func(t *testing.T) { check(t, secret, placings["held back"]) })
	}
	for name, place := range placings {
		t.Run(name, func(t *testing.T) {
			check(t, canaries["a word"], place)
			check(t, canaries["quotes"], place)
		})
	}
	for _, tt := range placingsOfSome {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.secret, tt.place) })
	}
}

// The same where it ends in an error, of every kind that holds words of the agent's.
func TestCanaryErrors(t *testing.T) {
	for name, src := range map[string]string{
		"exits at initialize":        `on initialize; stderr "no: $c\n"; noise "no: $c"; exit 3`,
		"exits, unfinished":          `on initialize; stderr "no: $c"; raw "no: $c"; exit 3`,
		"refuses initialize":         `on initialize; fail -32603 "no: $c" {"$c": ["$c", "{\"k\":\"$c\"}"]}`,
		"answers with an odd error":  `on initialize; reply error -32603 "no: $c" "just $c"`,
		"is no agent":                `on initialize; reply ["$c"]`,
		"has another version":        `on initialize; reply {"protocolVersion": "v $c"}`,
		"wants a login":              `on session/new; fail -32000 "log in with $c" {"authMethods": [{"id": "m $c", "name": "$c"}]}`,
		"gives no session":           `on session/new; reply {"sessionId": null, "x": "$c"}`,
		"fails the turn":             `on session/prompt; fail 401 "no: $c" "no: $c"`,
		"dies in the turn":           `on session/prompt; stderr "no: $c\n"; raise KILL`,
		"ends oddly":                 `on session/prompt; stop "$c"`,
		"answers with another shape": `on session/prompt; reply {"stopReason": {"$c": "$c"}}`,
		"closes stdout":              `on session/prompt; noise "no: $c"; stderr "no: $c\n"; stdout close; wait forever`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"a word", "eight bytes", "quotes", "not ASCII", "control characters", "a key"} {
				secret := canaries[kind]
				b := newBirdcage(t, secret, placings["explicit"], src)
				res := b.run()
				if res.Error == nil {
					t.Fatalf("%s: it did not fail", kind)
				}
				doc, err := json.Marshal(res)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(doc), mark) {
					t.Errorf("%s: there was nothing to redact: %s", kind, doc)
				}
			}
		})
	}
}

// The same where the secret is part of a path: of the program's, of the directories it is
// looked for in, of its interpreter.
func TestCanaryPaths(t *testing.T) {
	for _, kind := range []string{"a word", "eight bytes", "quotes", "not ASCII", "control characters", "a tab and blanks"} {
		secret := canaries[kind]
		dir := filepath.Join(t.TempDir(), secret)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := func(name, text string, mode os.FileMode) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), mode); err != nil {
				t.Fatal(err)
			}
			return path
		}
		for name, path := range map[string]string{
			"missing":              filepath.Join(dir, "nothing"),
			"a directory":          dir,
			"not in PATH":          "nothing",
			"not executable":       file("plain", "x", 0o600),
			"no program":           file("text", "x", 0o700),
			"interpreter":          file("script", "#!"+filepath.Join(dir, "nothing")+"\n", 0o700),
			"env's command":        file("env", "#!/usr/bin/env nothing\n", 0o700),
			"ends at once":         file("ends", "#!/bin/sh\nexit 3\n", 0o700),
			"says where it stands": file("says", "#!/bin/sh\necho \"$0\"; echo \"$0\" >&2; exit 3\n", 0o700),
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				if strings.ContainsAny(secret, "\x01\"") && runtime.GOOS != "linux" {
					t.Skip("names are not any bytes here")
				}
				b := newBirdcage(t, secret, placings["explicit"], "")
				b.cmd.Path, b.cmd.Args = path, nil
				b.cmd.Env = append(b.cmd.Env, "PATH="+dir)
				b.run()
			})
		}
	}
}

// The same however the agent's writes divide it, and wherever a limit of ours cuts it: no
// eight bytes of it are left.
func TestCanaryCuts(t *testing.T) {
	const secret = "qxjvkzwypmhgtrbdQXJVKZWYPMHGTRBD9" // its length is no power of two
	bytewise := func(statement, text string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			fmt.Fprintf(&b, "%s %q\n", statement, string(c))
		}
		return b.String()
	}
	// around has as many lines as are kept of noise, in which a cut after limit bytes falls
	// before the secret, into it, and behind it.
	around := func(statement string, limit int) string {
		var b strings.Builder
		for _, at := range []int{0, 1, 8, 9, 20, 32, 33, 40} {
			fmt.Fprintf(&b, "set pad x size=%dB\n%s \"${pad}$c and more\\n\"\n", limit-at, statement)
		}
		return b.String()
	}
	const many = "set many \"$c\"\nrepeat 12\nset many \"$many$many\"\nend\n" // 132 KiB, and as redacted one mark

	for name, src := range map[string]string{
		"stderr, a byte at a time":    bytewise("stderr", "a "+secret+" b "+secret+"\n"),
		"stderr, two writes":          `stderr "a $c1"; wait 20ms; stderr "$c2\n"`,
		"stderr, unfinished":          bytewise("stderr", "a "+secret+secret[:20]),
		"stderr, lines":               around("stderr", 500),
		"stderr, lines that are cut":  around("stderr", 1<<10/8), // a line's head: an eighth of StderrTail, below
		"stderr, the end of a line":   "set pad x size=3KiB\n" + strings.ReplaceAll(around("stderr", 100), " and more", "${pad}$c"),
		"stderr, more than is kept":   "repeat 400\nstderr \"x$c\\n\"\nend\n" + "repeat 100\nstderr \"$c\"\nend",
		"stderr, a long line":         `set pad x size=64KiB; stderr "$pad$c$pad$c$pad\n"`,
		"stderr, very often":          many + `stderr "$many"`,
		"noise, a byte at a time":     bytewise("raw", "a "+secret+"\n"),
		"noise, two writes":           `raw "a $c1"; wait 20ms; raw "$c2\n"`,
		"noise, unfinished":           "on initialize\n" + bytewise("raw", "a "+secret+secret[:20]) + "exit 1",
		"noise, cut":                  around("raw", 512),
		"noise, more than is read":    many + strings.ReplaceAll(around("raw", 64), "$c", "$many"),
		"noise, larger than messages": many + strings.ReplaceAll(around("raw", 200), "$c", "$many$many$many$many"),
		"updates that are too large":  many + `on session/prompt; noise "$c"; tool c1 "$many$many$many$many"; text "$many$many$many$many"; stop end_turn`,
		"a title":                     many + `on session/prompt; tool c1 "$many"; stop end_turn`,
		"a message that is cut":       `on session/prompt; set pad x size=1970B; fail -32603 "$pad$c$c"`,
		"a message of many":           many + `on session/prompt; fail -32603 "$many" {"k": ["$many"]}`,
		"a last line that is cut":     "on session/prompt\n" + around("stderr", 280) + "exit 1",
		"an odd stop reason":          `on session/prompt; set pad x size=280B; stop "$pad$c$c"`,
		"a bad answer":                `on session/new; set pad x size=270B; reply {"x": "$pad$c$c"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBirdcage(t, secret, placings["explicit"], src)
			b.opts.StderrTail, b.opts.MaxMessageBytes = 1<<10, 512<<10
			res := b.run()
			res.Agent.Command = nil // the script may have been redacted
			doc, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(doc)+b.stderr.String(), mark) {
				t.Errorf("there was nothing to redact: %s; stderr: %.300q", doc, b.stderr.String())
			}
		})
	}
}

// The same where a warning quotes the id of a tool call, which is the agent's choice and
// may be long. The ids themselves stand in the result as the agent sent them.
func TestCanaryToolCallID(t *testing.T) {
	const secret = "qxjvkzwypmhgtrbdQXJVKZWYPMHGTRBD9"
	for _, at := range []int{0, 60, 68, 80, 92, 260, 268, 280, 292} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			b := newBirdcage(t, secret, placings["explicit"], fmt.Sprintf(`
				on session/prompt
				set pad x size=%dB
				request session/request_permission {"sessionId": "$session", "toolCall": {"toolCallId": "$pad$c"}, "options": [{"optionId": "a", "name": "A", "kind": "allow_once"}, {"optionId": "b", "name": "B", "kind": "allow_once"}]}
				stop end_turn`, at))
			b.scene.provider = provider(t, b.cmd, &b.opts)
			var told []string
			req := b.scene.request("go")
			req.Events = func(e subagent.Event) { told = append(told, e.Warning) }
			res := b.scene.do(req)
			if warned := strings.Join(res.Warnings, "\n"); !strings.Contains(warned, "several options of one kind") || at < 280 && !strings.Contains(warned, mark) {
				t.Errorf("there was nothing to redact: %q", warned)
			}
			b.clean("the warnings", res.Warnings)
			b.clean("the warnings that were told", told)
		})
	}
}
