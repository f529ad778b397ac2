package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
	"github.com/errand-acp/errand/subagent/subagenttest"
)

// pool returns a pool of agents that follow the script, which the test closes.
func pool(t testing.TB, src string, o *subagent.ACPOptions, po *subagent.PoolOptions) *subagent.Pool {
	t.Helper()
	return poolOf(t, command(t, src), o, po)
}

func poolOf(t testing.TB, cmd client.Command, o *subagent.ACPOptions, po *subagent.PoolOptions) *subagent.Pool {
	t.Helper()
	var opts subagent.ACPOptions
	if o != nil {
		opts = *o
	}
	if opts.Graces == (client.Graces{}) {
		opts.Graces = client.Graces{Cancel: hang, Close: hang, EOF: hang, Term: hang, Kill: hang}
	}
	p, err := subagent.NewPool("scripted", cmd, &opts, po)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// ready waits until so many spares are ready.
func ready(t testing.TB, p *subagent.Pool, n int) {
	t.Helper()
	until(t, fmt.Sprintf("%d spares", n), func() bool { return p.Spares() == n })
}

// until waits for something.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(hang); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("never came to be: %s", what)
		}
	}
}

// in delegates a task in a directory.
func in(t testing.TB, p subagent.Provider, dir string) *subagent.Result {
	t.Helper()
	res, err := subagent.Delegate(bounded(t), p, subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// prewarmed says that the pool has a spare for each start.
type prewarmed struct {
	*subagent.Pool
	t    *testing.T
	mu   *sync.Mutex // held for a start: there is one directory at a time
	seen *int        // guarded by it
}

func (p prewarmed) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := subagent.Delegate(context.Background(), p.Pool, subagent.Request{Dir: req.Dir, Prompt: subagent.Text("answer x")}); err == nil {
		ready(p.t, p.Pool, 1)
	}
	run, err := p.Pool.Start(ctx, req)
	if err == nil {
		*p.seen++
	}
	return run, err
}

func TestPoolContract(t *testing.T) {
	t.Parallel()
	for name, warm := range map[string]bool{"without a spare": false, "with one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subagenttest.Run(t, func(t *testing.T) subagent.Provider {
				p := pool(t, contractScript, &subagent.ACPOptions{Graces: shortGraces}, &subagent.PoolOptions{Recent: 1})
				if !warm {
					return p
				}
				return prewarmed{p, t, new(sync.Mutex), new(int)}
			})
		})
	}
}

func TestNewPoolRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		cmd  client.Command
		o    subagent.PoolOptions
		says string
	}{
		"no command":       {client.Command{}, subagent.PoolOptions{}, "Path"},
		"less than none":   {client.Command{Path: "a"}, subagent.PoolOptions{Spares: -1}, "Spares"},
		"a negative age":   {client.Command{Path: "a"}, subagent.PoolOptions{MaxAge: -1}, "MaxAge"},
		"a missing one":    {client.Command{Path: "a"}, subagent.PoolOptions{Dirs: []string{filepath.Join(dir, "missing")}}, "missing"},
		"an empty one":     {client.Command{Path: "a"}, subagent.PoolOptions{Dirs: []string{""}}, "empty"},
		"none at all":      {client.Command{Path: "a"}, subagent.PoolOptions{Recent: -1}, "no directory"},
		"one beside their": {client.Command{Path: "a", Dir: dir}, subagent.PoolOptions{Dirs: []string{t.TempDir()}}, "Command.Dir"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := subagent.NewPool("a", tt.cmd, nil, &tt.o)
			check.Has(t, asError(t, err, client.KindConfig).Message, tt.says)
			if p != nil {
				t.Error("there is a pool all the same")
			}
		})
	}
}

// A spare is an ordinary run that has waited: its id is the one in its environment, it
// counts from its start, and there is a new one for the next.
func TestSpareIsForOneRun(t *testing.T) {
	t.Parallel()
	dir := canonical(t, t.TempDir())
	p := pool(t, `on session/prompt; text "$env.ERRAND_RUN $pid $cwd $session"`, nil, &subagent.PoolOptions{Dirs: []string{dir}})
	seen := map[string]bool{}
	for range 4 {
		ready(t, p, 1)
		before := time.Now()
		res := in(t, p, dir)
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "prewarmed", res.Prewarmed, true)
		said := strings.Fields(res.Output)
		if !strings.HasSuffix(":"+said[0], ":"+res.RunID) {
			t.Errorf("run %s of a process that says it is of %s", res.RunID, said[0])
		}
		check.Equal(t, "cwd", said[2], dir)
		check.Equal(t, "session", said[3], *res.SessionID)
		if seen[said[1]] {
			t.Errorf("process %s is used twice", said[1])
		}
		seen[said[1]] = true
		took := float64(time.Since(before)) / float64(time.Millisecond)
		if res.StartedAt.Before(before) || res.Timing.StartMs > took || res.Timing.TotalMs > took {
			t.Errorf("started at %v, %+v; it was asked for at %v and took %v ms", res.StartedAt, res.Timing, before, took)
		}
	}
}

// As many at once as there are spares, each its own; the next is started as any other.
func TestMoreRunsThanSpares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := pool(t, `on session/prompt; text "$pid"; wait file go-on`, nil, &subagent.PoolOptions{Dirs: []string{dir}, Spares: 3})
	ready(t, p, 3)
	runs := make([]subagent.Run, 6)
	for i := range runs {
		run, err := p.Start(t.Context(), subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		runs[i] = run
	}
	if err := os.WriteFile(filepath.Join(dir, "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pids, warm := map[string]bool{}, 0
	for _, run := range runs {
		res := closed(t, waited(t, run))
		ended(t, res, stopreason.Completed, "")
		pids[res.Output] = true
		if res.Prewarmed {
			warm++
		}
	}
	check.Equal(t, "processes", len(pids), len(runs))
	if warm < 3 {
		t.Errorf("%d runs were prewarmed, there were 3 spares", warm)
	}
	ready(t, p, 3)
}

// What an agent says and asks before there is a run is that run's.
func TestWhatASpareSays(t *testing.T) {
	t.Parallel()
	const src = `on session/new
  answer {}
  commands "plan: make a plan" session=session-1
  mode quick session=session-1
` + "  permission early \"Look around\" kind=read session=session-1\n    option yes allow_once Yes\n    option no reject_once No\n    when allowed\n      append asked yes\n  end" + `
  write said
on session/prompt; text "done"`
	dir := t.TempDir()
	p := pool(t, src, &subagent.ACPOptions{Permission: permission.Allow()}, &subagent.PoolOptions{Dirs: []string{dir}})
	ready(t, p, 1)
	until(t, "what it says", func() bool { _, err := os.Stat(filepath.Join(dir, "said")); return err == nil })
	var events []subagent.Event
	req := subagent.Request{Dir: dir, Prompt: subagent.Text("go"), Labels: map[string]string{"a": "b"}, Events: func(e subagent.Event) { events = append(events, e) }}
	run, err := p.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var updates []string
	for u := range run.Updates() {
		updates = append(updates, u.Kind)
	}
	res := closed(t, run)
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "prewarmed", res.Prewarmed, true)
	check.Equal(t, "label", res.Labels["a"], "b")
	check.Equal(t, "updates", strings.Join(updates, " "), "available_commands_update current_mode_update agent_message_chunk")
	check.Equal(t, "mode", *res.Mode, "quick")
	check.Equal(t, "count", res.Counts.Updates, 3)
	check.Equal(t, "permissions", len(res.Permissions), 1)
	check.Equal(t, "decision", res.Permissions[0].Decision, permission.Allowed)
	check.Equal(t, "events", typesOf(events...), "start update update permission update end")
	check.Equal(t, "label of the start", events[0].Start.Labels["a"], "b")
	for i, e := range events {
		if e.RunID != res.RunID || e.Time.Before(res.StartedAt) || i > 0 && e.Time.Before(events[i-1].Time) {
			t.Errorf("event %d of run %s at %v, the run began at %v", i, e.RunID, e.Time, res.StartedAt)
		}
	}
}

// A spare that an agent started now would not be like is not used, and another takes its
// place.
func TestStaleSpares(t *testing.T) {
	levels := 1
	for name, tt := range map[string]struct {
		change func(t *testing.T, dir string)
		req    subagent.Request
		want   string
	}{
		"nothing":                  {func(*testing.T, string) {}, subagent.Request{}, "warm - 1/8"},
		"a variable":               {func(t *testing.T, _ string) { t.Setenv("COLOUR", "red") }, subagent.Request{}, "cold red 1/8"},
		"one that is held back":    {func(t *testing.T, _ string) { t.Setenv("COLOUR_TOKEN", "0123456789") }, subagent.Request{}, "cold - 1/8"},
		"the depth":                {func(t *testing.T, _ string) { t.Setenv("ERRAND_DEPTH", "3") }, subagent.Request{}, "cold - 4/8"},
		"the depth asked for":      {func(*testing.T, string) {}, subagent.Request{MaxDepth: &levels}, "cold - 1/2"},
		"the directory, made anew": {func(t *testing.T, dir string) { again(t, dir) }, subagent.Request{}, "cold - 1/8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("COLOUR", "-")
			dir := filepath.Join(t.TempDir(), "work")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			p := pool(t, `on session/prompt; write here; text "$env.COLOUR $env.ERRAND_DEPTH/$env.ERRAND_MAX_DEPTH"`, nil, &subagent.PoolOptions{Dirs: []string{dir}})
			ready(t, p, 1)
			tt.change(t, dir)
			tt.req.Dir, tt.req.Prompt = dir, subagent.Text("go")
			for i, cold := range []bool{strings.HasPrefix(tt.want, "cold"), false} {
				res, err := subagent.Delegate(bounded(t), p, tt.req)
				if err != nil {
					t.Fatal(err)
				}
				ended(t, res, stopreason.Completed, "")
				check.Equal(t, fmt.Sprint("prewarmed, run ", i), res.Prewarmed, !cold)
				check.Equal(t, "what it sees", res.Output, tt.want[5:])
				// In its directory of now, not in the one that was removed.
				if err := os.Remove(filepath.Join(dir, "here")); err != nil {
					t.Error(err)
				}
				want := 1
				if tt.req.MaxDepth != nil {
					want = 2 // the one without is for other requests
				}
				ready(t, p, want)
			}
		})
	}
}

// again removes a directory and makes it anew.
func again(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
}

// A spare is of the file that PATH leads to now.
func TestSpareOfAnotherFile(t *testing.T) {
	dir, first, second := t.TempDir(), canonical(t, t.TempDir()), canonical(t, t.TempDir())
	t.Setenv("PATH", strings.Join([]string{first, second, os.Getenv("PATH")}, string(os.PathListSeparator)))
	cmd := command(t, "on session/prompt; stop end_turn")
	agent := "#!/bin/sh\nexec '" + cmd.Path + "' \"$@\"\n"
	cmd.Path = "some-agent"
	install := func(in string) {
		t.Helper()
		// Renamed into place: nobody finds one that is still being written.
		made := filepath.Join(in, "new")
		if err := errors.Join(os.WriteFile(made, []byte(agent), 0o700), os.Rename(made, filepath.Join(in, cmd.Path))); err != nil {
			t.Fatal(err)
		}
	}
	install(second)
	p := poolOf(t, cmd, nil, &subagent.PoolOptions{Dirs: []string{dir}})
	run := func(want string, prewarmed bool) {
		t.Helper()
		ready(t, p, 1)
		res := in(t, p, dir)
		check.Equal(t, "prewarmed", res.Prewarmed, prewarmed)
		check.Equal(t, "file", *res.Agent.Path, filepath.Join(want, cmd.Path))
	}
	run(second, true)
	ready(t, p, 1) // of the second
	install(first)
	run(first, false)
	run(first, true)
}

// A block that the agent does not take is refused as by any other provider, and a spare is
// not offered again then.
func TestSpareThatDoesNotTakeThePrompt(t *testing.T) {
	dir := t.TempDir()
	before := leak.Snapshot()
	p := pool(t, "", nil, &subagent.PoolOptions{Dirs: []string{dir}})
	ready(t, p, 1)
	_, err := p.Start(t.Context(), subagent.Request{Dir: dir, Prompt: []acp.ContentBlock{acp.ImageBlock("aGk=", "image/png")}})
	e := asError(t, err, client.KindCapability)
	check.Has(t, e.Message, "image")
	if e.Partial == nil || e.Partial.Exit == nil || e.Partial.RunID == "" {
		t.Errorf("what is known of the run: %+v", e.Partial)
	}
	p.Close()
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}

// Nothing of a pool is left when it is closed, and it starts nothing any more. The runs that
// it has handed out go on.
func TestPoolClose(t *testing.T) {
	dir := t.TempDir()
	before := leak.Snapshot()
	p := pool(t, `on session/prompt; text "so far"; wait file go-on`, nil, &subagent.PoolOptions{Dirs: []string{dir}, Spares: 2})
	ready(t, p, 2)
	run, err := p.Start(t.Context(), subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	p.Close()
	check.Equal(t, "spares", p.Spares(), 0)
	_, err = p.Start(t.Context(), subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
	check.Has(t, asError(t, err, client.KindConfig).Error(), "scripted", "closed")
	inTree := trees(t, p, subagent.WorktreeOptions{})
	_, err = inTree.provider.Start(t.Context(), inTree.request())
	check.Has(t, asError(t, err, client.KindConfig).Error(), "scripted", "closed")
	inTree.empty()
	if err := os.WriteFile(filepath.Join(dir, "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	res := closed(t, waited(t, run))
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "output", res.Output, "so far")
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}

// Whatever is under way when a pool is closed, nothing is left of it, and whoever has got a
// run has all of it.
func TestPoolCloseMeetsStart(t *testing.T) {
	dir := t.TempDir()
	before := leak.Snapshot()
	for round := range 12 {
		p := pool(t, `on session/prompt; text "yes"`, nil, &subagent.PoolOptions{Dirs: []string{dir}, Spares: 2})
		if round%3 > 0 {
			until(t, "a spare", func() bool { return p.Spares() >= round%3 })
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				res, err := subagent.Delegate(t.Context(), p, subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
				if err != nil {
					asError(t, err, client.KindConfig)
					return
				}
				ended(t, res, stopreason.Completed, "")
				check.Equal(t, "output", res.Output, "yes")
			})
		}
		wg.Go(p.Close)
		wg.Wait()
		check.Equal(t, "spares", p.Spares(), 0)
	}
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}

// Options.Kill ends spares too, and for good.
func TestPoolIsKilled(t *testing.T) {
	dir := t.TempDir()
	kill, now := context.WithCancel(t.Context())
	before := leak.Snapshot()
	p := pool(t, "ignore TERM; on eof; wait forever", &subagent.ACPOptions{Kill: kill}, &subagent.PoolOptions{Dirs: []string{dir}, Spares: 2})
	ready(t, p, 2)
	now()
	ready(t, p, 0)
	_, err := p.Start(t.Context(), subagent.Request{Dir: dir, Prompt: subagent.Text("go")})
	asError(t, err, client.KindCancelled)
	p.Close()
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}

// Spares have homes of their own as well, and leave none.
func TestSparesHome(t *testing.T) {
	t.Parallel()
	dir, parent := t.TempDir(), t.TempDir()
	p := pool(t, `on session/prompt; text "$env.`+homeVariable()+`"`, &subagent.ACPOptions{Home: &subagent.Home{Parent: parent}}, &subagent.PoolOptions{Dirs: []string{dir}, Spares: 2})
	ready(t, p, 2)
	first, second := in(t, p, dir), in(t, p, dir)
	if first.Output == second.Output || !strings.HasPrefix(first.Output, canonical(t, parent)) {
		t.Errorf("the homes are %q and %q", first.Output, second.Output)
	}
	p.Close()
	nothingIn(t, parent)
}

// A process that is at its limit keeps no spares either.
func TestNoSparesBeyondTheDepth(t *testing.T) {
	standing(t, "2", "2")
	s := play(t, "", nil)
	p := pool(t, s.Recording(""), nil, &subagent.PoolOptions{Dirs: []string{s.Dir}})
	_, err := p.Start(t.Context(), s.request("go"))
	asError(t, err, client.KindLimit)
	p.Close()
	s.NotStarted()
}

// Spares are kept for the directories that runs were started in last, and for no more than
// that.
func TestRecentDirectories(t *testing.T) {
	t.Parallel()
	p := pool(t, `on session/prompt; text "$cwd"`, nil, &subagent.PoolOptions{Recent: 2})
	check.Equal(t, "spares of a new pool", p.Spares(), 0)
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		check.Equal(t, "prewarmed", in(t, p, dir).Prewarmed, false)
		until(t, "a spare", func() bool { return p.Spares() > 0 })
	}
	ready(t, p, 2)
	for _, dir := range dirs[1:] {
		res := in(t, p, dir)
		check.Equal(t, "prewarmed", res.Prewarmed, true)
		check.Equal(t, "directory", res.Output, canonical(t, dir))
	}
	check.Equal(t, "the one before them", in(t, p, dirs[0]).Prewarmed, false)
}

// What has become of a spare's questions is in the audit, also where it never had a run.
func TestAuditOfASpare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := &auditBuffer{}
	p := pool(t, `on session/new
  answer {}
  permission early "Look" kind=read session=session-1
    option yes allow_once Yes
    when other
      write asked
  end`, &subagent.ACPOptions{Audit: &subagent.Audit{W: out}}, &subagent.PoolOptions{Dirs: []string{dir}})
	ready(t, p, 1)
	until(t, "its question", func() bool { _, err := os.Stat(filepath.Join(dir, "asked")); return err == nil })
	p.Close()
	check.Equal(t, "lines", types(out.records(t)), "start permission end")

	quiet := &auditBuffer{}
	q := pool(t, "", &subagent.ACPOptions{Audit: &subagent.Audit{W: quiet}}, &subagent.PoolOptions{Dirs: []string{dir}})
	ready(t, q, 1)
	q.Close()
	check.Equal(t, "lines of one that did nothing", types(quiet.records(t)), "")
}

// A work tree is for one run: no spare is kept ready for it.
func TestPoolOfWorktrees(t *testing.T) {
	p := pool(t, `on session/prompt; write new "x"`, nil, nil)
	s := trees(t, p, subagent.WorktreeOptions{})
	for range 2 {
		res := s.run()
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "prewarmed", res.Prewarmed, false)
		check.Equal(t, "changes", len(res.Changes), 1)
	}
	check.Equal(t, "spares", p.Spares(), 0)
	p.Close()
	s.empty()
}
