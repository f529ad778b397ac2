package subagent_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// nothingIn checks that a directory is empty.
func nothingIn(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", dir, left, err)
	}
}

// homeVariable is the one by which an agent finds its home.
func homeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// F4: eight runs of one agent at once, each with its own settings, lock and temporary
// files, of which nothing is left, and nothing is changed in the user's home.
func TestHomeOfEachRun(t *testing.T) {
	users := t.TempDir()
	t.Setenv(homeVariable(), users)
	seed := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(seed, []byte("settings"), 0o644); err != nil {
		t.Fatal(err)
	}
	parent := canonical(t, t.TempDir())
	temp := "TMPDIR"
	if runtime.GOOS == "windows" {
		temp = "TEMP"
	}
	p := scripted(t, `on session/prompt
  read "$env.`+homeVariable()+`/.agent/settings.json"
  write "$env.`+homeVariable()+`/.agent/lock" "$prompt"
  write "$env.`+temp+`/socket" "$prompt"
  text "$answer $env.`+homeVariable()+`"
  wait file go-on`, &subagent.ACPOptions{
		Home: &subagent.Home{Parent: parent, Seed: []subagent.HomeFile{{From: seed, To: ".agent/settings.json"}}},
	})
	nothingIn(t, parent) // that it can be done was checked
	dir := t.TempDir()
	homes := make([]string, 8)
	var said sync.WaitGroup
	runs := make([]subagent.Run, len(homes))
	for i := range homes {
		run, err := p.Start(t.Context(), subagent.Request{Prompt: subagent.Text("go"), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { run.Close() })
		runs[i] = run
		said.Go(func() {
			for u := range run.Updates() {
				if text, ok := u.Text(); ok {
					homes[i] = strings.TrimPrefix(text, "settings ")
					return
				}
			}
		})
	}
	said.Wait()
	seen := map[string]bool{}
	for _, home := range homes {
		if seen[home] || filepath.Dir(home) != parent {
			t.Errorf("the homes are %q, each is to be another directory in %s", homes, parent)
		}
		seen[home] = true
		if info, err := os.Stat(home); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", home, info, err)
		}
		if text, err := os.ReadFile(filepath.Join(home, ".agent", "lock")); err != nil || string(text) != "go" {
			t.Errorf("its lock: %q, %v", text, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		res := closed(t, waited(t, run))
		ended(t, res, stopreason.Completed, "")
		check.Equal(t, "warnings", strings.Join(res.Warnings, "; "), "")
	}
	nothingIn(t, parent)
	nothingIn(t, users)
	if text, err := os.ReadFile(seed); err != nil || string(text) != "settings" {
		t.Errorf("the seed is %q now, %v", text, err)
	}
}

// However a run ends, or does not begin, nothing is left of its home.
func TestHomeIsRemoved(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		path   string
		kind   client.ErrorKind // of the start
		stop   stopreason.Outcome
	}{
		"no such program":      {path: "no-such-agent", kind: client.KindSpawn},
		"a crash at the start": {script: `on start; write "$env.HOME/x"; exit 3`, kind: client.KindExit},
		"no session":           {script: `on session/new; write "$env.HOME/x"; fail -32603 "no"`, kind: client.KindAgent},
		"a crash in the turn":  {script: `on session/prompt; write "$env.HOME/x"; raise KILL`, stop: stopreason.Error},
		"a turn cut short":     {script: `on session/prompt; write "$env.HOME/x"; write begun; wait forever`, stop: stopreason.Aborted},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("HOME is another variable")
			}
			parent := t.TempDir()
			s := play(t, "", nil)
			cmd := command(t, s.Recording(tt.script))
			if tt.path != "" {
				cmd.Path = tt.path
			}
			s.provider = provider(t, cmd, &subagent.ACPOptions{Home: &subagent.Home{Parent: parent}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			run, err := s.provider.Start(ctx, s.request("go"))
			if tt.kind != "" {
				asError(t, err, tt.kind)
			} else if err != nil {
				t.Fatal(err)
			} else {
				if tt.stop == stopreason.Aborted {
					s.Await("begun")
					cancel()
				}
				waited(t, run)
				check.Equal(t, "stop", closed(t, run).Stop, tt.stop)
			}
			nothingIn(t, parent)
		})
	}
}

func TestHomeRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	name := homeVariable()
	for what, tt := range map[string]struct {
		home subagent.Home
		env  []string
		says string
	}{
		"a seed that is not there": {home: subagent.Home{Seed: []subagent.HomeFile{{From: file + "x", To: "a"}}}, says: "filex"},
		"a seed that is no file":   {home: subagent.Home{Seed: []subagent.HomeFile{{From: os.DevNull, To: "a"}}}, says: "regular file"},
		"a place outside":          {home: subagent.Home{Seed: []subagent.HomeFile{{From: file, To: "../a"}}}, says: "within a home"},
		"no place":                 {home: subagent.Home{Seed: []subagent.HomeFile{{From: file}}}, says: "within a home"},
		"a parent that is a file":  {home: subagent.Home{Parent: file}, says: "file"},
		"another home":             {env: []string{name + "=/home/me"}, says: name},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := subagent.NewACP("a", client.Command{Path: "agent", Env: tt.env}, &subagent.ACPOptions{Home: &tt.home})
			check.Has(t, asError(t, err, client.KindConfig).Message, "Home", tt.says)
		})
	}
}

// A seed is checked when the provider is made, and may be gone when a run is started.
func TestHomeThatCannotBeMade(t *testing.T) {
	seed := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(seed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	s := play(t, "", &subagent.ACPOptions{Home: &subagent.Home{Parent: parent, Seed: []subagent.HomeFile{{From: seed, To: "seed"}}}})
	if err := os.Remove(seed); err != nil {
		t.Fatal(err)
	}
	check.Has(t, s.refused(t.Context(), s.request("go"), client.KindSpawn).Message, "home of the run", seed)
	s.NotStarted()
	nothingIn(t, parent)
}

// What is copied into a home is a part of the start, and bounded as that is.
func TestHomeThatTakesTooLong(t *testing.T) {
	seed := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(seed, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	s := play(t, "", &subagent.ACPOptions{
		StartTimeout: time.Nanosecond,
		Home:         &subagent.Home{Parent: parent, Seed: []subagent.HomeFile{{From: seed, To: "seed"}}},
	})
	check.Has(t, s.refused(t.Context(), s.request("go"), client.KindStartupTimeout).Message, "home of the run")
	s.NotStarted()
	nothingIn(t, parent)
}

// The policy is told what ~ is to the agent, and where the user's own home is.
func TestHomeOfThePolicy(t *testing.T) {
	users := t.TempDir()
	t.Setenv(homeVariable(), users)
	var asked permission.Request
	policy := permission.PolicyFunc(func(_ context.Context, req permission.Request) permission.Decision {
		asked = req
		return permission.Decision{}
	})
	const src = `on session/prompt; permission call-1 "Read" kind=read path="~/.ssh/id"
    option allow allow_once "yes"
    when other
    text "$env.HOME"
  end`
	s := play(t, src, &subagent.ACPOptions{Permission: policy, Home: &subagent.Home{}})
	res := s.run("go")
	if runtime.GOOS != "windows" {
		check.Equal(t, "home", asked.Home, res.Output)
	}
	check.Equal(t, "the user's", asked.UserHome, users)

	s = play(t, src, &subagent.ACPOptions{Permission: policy})
	s.run("go")
	check.Equal(t, "home without one of its own", asked.Home, users)
	check.Equal(t, "the user's then", asked.UserHome, "")
}
