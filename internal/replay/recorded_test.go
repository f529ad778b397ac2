package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// parent is a program that hands tasks to agents, and what it does with them.
type parent struct {
	options subagent.ACPOptions
	prompt  string
	dir     string
	// watch, if set, is called when the session exists, to cancel, say.
	watch func(subagent.Run, context.CancelFunc)
}

var graces = client.Graces{Cancel: tooLong, EOF: tooLong, Term: tooLong}

func newParent(t *testing.T) *parent {
	return &parent{
		options: subagent.ACPOptions{Permission: permission.Allow(), Graces: graces, StartTimeout: tooLong, Timeout: tooLong},
		prompt:  "hi", dir: t.TempDir(),
	}
}

// outcome is what came of it: a result, or an error where it did not start.
type outcome struct {
	res *subagent.Result
	err error
}

// run hands the task to an agent.
func (p *parent) run(t *testing.T, path string, args []string, record *transcript.Writer) outcome {
	t.Helper()
	provider, err := subagent.NewACP("agent", client.Command{Path: path, Args: args, Env: []string{"GORACE=atexit_sleep_ms=0"}}, &p.options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*tooLong)
	defer cancel()
	_ = os.Remove(filepath.Join(p.dir, "a.txt")) // of the run before
	turn, stop := context.WithCancel(ctx)
	defer stop()
	run, err := provider.Start(turn, subagent.Request{Dir: p.dir, Prompt: subagent.Text(p.prompt), Transcript: record})
	if err != nil {
		return outcome{err: err}
	}
	if p.watch != nil {
		p.watch(run, stop)
	}
	if _, err := run.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return outcome{res: run.Close()}
}

// recorded is what comes of it with the scripted agent, and the recording of that.
func (p *parent) recorded(t *testing.T, src string) (outcome, *transcript.Transcript) {
	t.Helper()
	var file buffer
	path, args := script.Command(t, src)
	w := transcript.NewWriter(&file)
	res := p.run(t, path, args, w)
	if err := w.Err(); err != nil {
		t.Fatalf("the recording is not complete: %v", err)
	}
	all, err := transcript.Read(strings.NewReader(file.String()))
	if err != nil || len(all) != 1 || all[0].Cut {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	return res, all[0]
}

// replayed is what comes of it with the replay, as a process.
func (p *parent) replayed(t *testing.T, tr *transcript.Transcript, args ...string) outcome {
	t.Helper()
	file := filepath.Join(t.TempDir(), "talk.ndjson")
	var b bytes.Buffer
	if _, err := tr.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return p.run(t, self, append([]string{asReplay, file}, args...), nil)
}

// inShort is an outcome without what differs from run to run: times, ids of runs, the
// command, and what depends on who is faster.
func (o outcome) inShort(t *testing.T) any {
	t.Helper()
	if o.err != nil {
		return o.err.Error()
	}
	text, err := json.Marshal(o.res)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runId", "startedAt", "timing"} {
		delete(m, name)
	}
	agent := m["agent"].(map[string]any)
	delete(agent, "command")
	delete(agent, "path")
	permissions, _ := m["permissions"].([]any)
	for _, p := range permissions {
		delete(p.(map[string]any), "ms")
	}
	// An error may come before the last of stderr has been read.
	if e, ok := m["error"].(map[string]any); ok && m["stderrTail"] != "" {
		delete(e, "message")
	}
	files, _ := m["files"].([]any)
	for _, f := range files {
		delete(f.(map[string]any), "ms")
	}
	// An agent that ends by itself may have been gone when its stdin was closed, or not.
	if exit, ok := m["exit"].(map[string]any); ok && exit["rung"] == "exit" {
		exit["rung"] = "eof"
	}
	sortBy(permissions, "toolCallId")
	calls, _ := m["toolCalls"].([]any)
	sortBy(calls, "id")
	return m
}

func sortBy(list []any, name string) {
	slices.SortStableFunc(list, func(a, b any) int {
		return cmp.Compare(fmt.Sprint(a.(map[string]any)[name]), fmt.Sprint(b.(map[string]any)[name]))
	})
}

// notReplayed are the example scripts whose recordings are left out here, and why.
var notReplayed = map[string]string{
	"t08-stderr-without-newline": "a recording keeps the beginning of a long line, and not that it had no end",
	"t21-closes-stdout":          "that an agent closed its stdout and lived on is not recorded",
	"o03-between-turns":          "whether what comes after the turn is heard depends on chance",
	"p06-no-options":             "whether its last question is answered before the end of the turn depends on chance",

	"t02-eleven-megabytes":      "large",
	"t03-update-over-limit":     "large",
	"t04-response-over-limit":   "large",
	"p07-three-thousand":        "many",
	"t01-burst":                 "many",
	"t05-burst-then-exit":       "many",
	"honest-slow":               "it waits for a clock of the parent, as those below",
	"l01-launcher":              "",
	"l03-appends-on-and-on":     "",
	"l05-three-levels":          "",
	"l06-parent-dies":           "",
	"l08-silent-authenticate":   "",
	"l08-silent-initialize":     "",
	"l08-silent-session":        "",
	"l11-no-response":           "",
	"l12-long-tool-call":        "",
	"l17-stops-itself":          "",
	"l18-streams-slowly":        "",
	"p01-pending-at-cancel":     "",
	"p11-asks-after-cancel":     "",
	"s05-cancelled-by-error":    "",
	"s05-end-turn-after-cancel": "",
	"t10-stops-reading":         "",
	"t24-reads-again":           "",
}

// deaf are the graces for the agents that do not end at the end of their stdin, or at
// SIGTERM: short for what the agent never hears, and for nothing else, as the machine may be
// busy.
var deaf = map[string]client.Graces{
	"l07-flushes-on-term":      {EOF: 100 * time.Millisecond, Term: tooLong},
	"l07-ignores-eof":          {EOF: 100 * time.Millisecond, Term: tooLong},
	"l07-ignores-eof-and-term": {EOF: 100 * time.Millisecond, Term: 100 * time.Millisecond},
	"t22-closes-stdin":         {EOF: 100 * time.Millisecond, Term: tooLong},
	// It does end, and its helper does not.
	"l04-helper-stays": {EOF: 10 * time.Second, Term: tooLong},
}

// What the parent makes of an agent it makes of its replay, whatever that agent does wrong.
func TestReplayIsLikeTheAgent(t *testing.T) {
	files, err := filepath.Glob("../../testdata/scripted-agent/scripts/*.script")
	if err != nil || len(files) < 80 {
		t.Fatalf("%d example scripts, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".script")
		if _, out := notReplayed[name]; out {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := newParent(t)
			if deaf, ok := deaf[name]; ok {
				p.options.Graces = deaf
			}
			want, tr := p.recorded(t, string(src))
			got := p.replayed(t, tr)
			if diff := gocmp.Diff(want.inShort(t), got.inShort(t)); diff != "" {
				t.Errorf("(-recorded +replayed):\n%s\n%.5000s", diff, tr)
			}
		})
	}
}

// onText calls do once the agent has said something.
func onText(do func(run subagent.Run, cancel context.CancelFunc)) func(subagent.Run, context.CancelFunc) {
	return func(run subagent.Run, cancel context.CancelFunc) {
		done := false
		for u := range run.Updates() {
			if u.Value.AgentMessageChunk != nil && !done {
				done = true
				do(run, cancel)
			}
		}
	}
}

const writes = `
on session/prompt
  text "I am in $cwd. "
  tool c1 "Write it" kind=edit path=$cwd/a.txt
  permission c1 "Write it" kind=edit path=$cwd/a.txt
    option yes allow_once "Yes"
    option no reject_once "No"
    when allowed
      request fs/write_text_file {"sessionId": "$session", "path": "$cwd/a.txt", "content": "hello"}
      tool-update c1 status=completed
      text "Done."
    when other
      text "Not done."
  end
  stop end_turn`

func TestParents(t *testing.T) {
	tests := []struct {
		name, script string
		parent       func(*parent)
	}{
		{"allows", writes, func(*parent) {}},
		{"rejects", writes, func(p *parent) { p.options.Permission = permission.Reject() }},
		{"serves files", writes, func(p *parent) { p.options.Files = client.FilesWrite }},
		{"cancels", "on session/prompt\n text half\n wait cancel\n text rest\n stop cancelled", func(p *parent) {
			p.watch = onText(func(_ subagent.Run, cancel context.CancelFunc) { cancel() })
		}},
		{"cancels an agent that has ended its turn by then", "on session/prompt\n text half\n wait cancel\n stop end_turn", func(p *parent) {
			p.watch = onText(func(run subagent.Run, _ context.CancelFunc) { run.Cancel() })
		}},
		{"cancels and kills", "ignore TERM\non eof\n wait forever\non session/prompt\n text half\n wait forever\non session/cancel\n wait forever", func(p *parent) {
			p.options.Graces = client.Graces{Cancel: 100 * time.Millisecond, EOF: 100 * time.Millisecond, Term: 100 * time.Millisecond}
			p.watch = onText(func(_ subagent.Run, cancel context.CancelFunc) { cancel() })
		}},
		{"sees a crash", "on session/prompt\n text half\n stderr \"panic: oh\\n\"\n exit 2", func(*parent) {}},
		{"sees a signal", "on session/prompt\n text half\n raise KILL", func(*parent) {}},
		{"sees another signal", "on session/prompt\n text half\n raise TERM", func(*parent) {}},
		{"ends it by SIGTERM", "on eof\n wait forever\non signal TERM\n stderr \"bye\\n\"\n exit 4", func(p *parent) { p.options.Graces.EOF = 100 * time.Millisecond }},
		{"closes the session", "on session/close\n text closed", func(*parent) {}},
		{"sees a burst", "on session/prompt\n burst 2000 \"x\"\n stop end_turn", func(*parent) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newParent(t)
			tt.parent(p)
			want, tr := p.recorded(t, tt.script)
			if want.err != nil {
				t.Fatal(want.err)
			}
			for _, args := range [][]string{nil, {lenient}} {
				got := p.replayed(t, tr, args...)
				if diff := gocmp.Diff(want.inShort(t), got.inShort(t)); diff != "" {
					t.Errorf("%q (-recorded +replayed):\n%s\n%.5000s", args, diff, tr)
				}
			}
			// A golden file is a recording too, and one is as good in another directory.
			golden := tr.Normalize(transcript.IDs(), transcript.Times(), transcript.Versions(), transcript.Path(canonical(t, p.dir), "$DIR"), transcript.Command("agent"))
			p.dir = t.TempDir()
			got := p.replayed(t, golden)
			if got.err != nil {
				t.Fatal(got.err)
			}
			if got.res.Stop != want.res.Stop || !strings.HasPrefix(got.res.Output, strings.ReplaceAll(want.res.Output, canonical(t, want.res.Dir), canonical(t, p.dir))) {
				t.Errorf("of the golden file: stop %s, output %.100q, error %v, stderr %q", got.res.Stop, got.res.Output, got.res.Error, got.res.StderrTail)
			}
		})
	}
}

// The signals of a crash end the replay as they end a program in C.
func TestSignals(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the runtime makes an exit status of some")
	}
	p := newParent(t)
	_, tr := p.recorded(t, "on session/prompt\n text half\n exit 3")
	for _, signal := range []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGTERM", "SIGKILL", "SIGUSR1", "SIGPIPE"} {
		crashed := *tr
		crashed.Entries = slices.Clone(tr.Entries)
		crashed.Entries[len(tr.Entries)-1].End = &transcript.End{Signal: &signal, Rung: "exit"}
		got := p.replayed(t, &crashed)
		if got.err != nil {
			t.Fatal(got.err)
		}
		if exit := got.res.Exit; exit.Signal == nil || *exit.Signal != signal || got.res.Output != "half" {
			t.Errorf("%s: exit %+v, output %q", signal, exit, got.res.Output)
		}
	}
}

func canonical(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// never decides nothing, as long as it can.
type never struct{}

func (never) Decide(ctx context.Context, _ permission.Request) permission.Decision {
	<-ctx.Done()
	return permission.Decision{}
}

// A parent that has changed is caught, and a lenient replay lets it pass.
func TestChangedParents(t *testing.T) {
	tests := []struct {
		name   string
		parent func(*parent)
		want   string
	}{
		{"another prompt", func(p *parent) { p.prompt = "other" }, `session/prompt differs from the recording (entry 5) at params.prompt[0].text: recorded "hi", got "other"`},
		{"another decision", func(p *parent) { p.options.Permission = permission.Reject() }, `the answer to session/request_permission differs from the recording (entry 9) at result.outcome.optionId: recorded "yes", got "no"`},
		{"another capability", func(p *parent) { p.options.Files = client.FilesWrite }, `initialize differs from the recording (entry 1) at params.clientCapabilities.fs.readTextFile: recorded nothing, got true`},
		{"a cancel", func(p *parent) {
			p.watch = onText(func(run subagent.Run, _ context.CancelFunc) { run.Cancel() })
			p.options.Permission = never{}
		}, `the notification session/cancel came where the recording has the answer to session/request_permission (entry 9)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newParent(t)
			_, tr := p.recorded(t, writes)
			tt.parent(p)
			got := p.replayed(t, tr)
			text := fmt.Sprint(got.err)
			if got.res != nil {
				text = got.res.StderrTail
				if got.res.Stop.Success() || got.res.Exit.Code == nil || *got.res.Exit.Code != 1 {
					t.Errorf("stop %s, exit %+v", got.res.Stop, got.res.Exit)
				}
			}
			if !strings.Contains(text, "errand replay: "+tt.want) {
				t.Errorf("got  %q\nwant %q", text, tt.want)
			}
			if got := p.replayed(t, tr, lenient); got.err != nil || got.res.Error != nil {
				t.Errorf("lenient: %v, %+v", got.err, got.res)
			}
		})
	}
}
