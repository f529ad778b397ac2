package faults

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/subagent"
)

// homesRow is about runs of one agent that are in each other's way.
func homesRow() row {
	const eight = "1 2 3 4 5 6 7 8"
	homes := func(seed ...subagent.HomeFile) func(*scene) {
		return func(s *scene) {
			mkdir(s, s.dir+"/homes")
			s.opts.Home = &subagent.Home{Parent: s.dir + "/homes", Seed: seed}
		}
	}
	shared := func(s *scene) {
		mkdir(s, s.dir+"/home")
		env("HOME=" + s.dir + "/home")(s)
	}
	// removed checks that nothing is left of the homes.
	removed := func(s *scene) {
		s.Helper()
		left, err := os.ReadDir(s.dir + "/homes")
		s.must(err)
		if len(left) > 0 {
			s.Errorf("homes are left: %v", left)
		}
	}
	// outputs checks that all have completed and returns what they said.
	outputs := func(s *scene) (texts []string) {
		s.Helper()
		for i, r := range s.results {
			check.Equal(s, fmt.Sprint("outcome of ", i), r.Stop, "completed")
			homeGone(s, r)
			texts = append(texts, r.Output)
		}
		return texts
	}
	own := func(s *scene) {
		s.Helper()
		seen := map[string]bool{}
		for _, text := range outputs(s) {
			home, ok := strings.CutPrefix(text, "my home is "+s.dir+"/homes/")
			if !ok || seen[home] || strings.Contains(home, "/") {
				s.Errorf("%q; want a home in %s that nobody else has", text, s.dir)
			}
			seen[home] = true
		}
		check.Equal(s, "homes", len(seen), 8)
	}
	// onlyOne is the fault: who has the lock goes on when the others have failed.
	onlyOne := func(s *scene) {
		s.Helper()
		last := len(s.results) - 1
		check.Equal(s, "the others", each(s.results[:last]), "7 times error: exit at initialize; no text; exit status 1")
		check.Equal(s, "the one", s.results[last].Stop, "completed")
	}
	const port = `listen "$env.PORT"
		on session/prompt; text "done: $prompt"`
	return row{
		id: "F4", does: "eight runs of one agent share HOME, locks and ports", noSDK: notOne,
		errand: "with ACPOptions.Home each has a HOME, XDG directories and TMPDIR of its own, which are removed afterwards; ports stay shared",
		forms: []form{
			{script: "f04-shares-home", given: homes(), do: meeting(eight), check: all(own, removed)},
			{name: "without", given: shared, script: `lock "$env.HOME/.agent.lock"
				on session/prompt; wait file go; text "done: $prompt"`, do: untilOneIsLeft(eight), check: onlyOne},
			{name: "everything that HOME stands for", given: homes(), script: `
				on session/prompt
				  lock "$env.XDG_CONFIG_HOME/lock"; lock "$env.XDG_DATA_HOME/lock"; lock "$env.XDG_STATE_HOME/lock"
				  lock "$env.XDG_CACHE_HOME/lock"; lock "$env.XDG_RUNTIME_DIR/lock"; lock "$env.TMPDIR/lock"
				  text "my home is $env.HOME"`, do: meeting(eight), check: all(own, removed)},
			{name: "with settings to begin with", script: `
				on session/prompt
				  read "$env.HOME/.agent/settings"
				  write "$env.HOME/.agent/settings" "$prompt was here"
				  text "$answer"`, given: func(s *scene) {
				homes(subagent.HomeFile{From: s.put("settings", "as they are"), To: ".agent/settings"})(s)
			}, do: meeting(eight), check: all(removed, func(s *scene) {
				for _, text := range outputs(s) {
					check.Equal(s, "settings", text, "as they are")
				}
				check.Equal(s, "the user's", s.file("settings"), "as they are")
			})},
			{name: "however they end", given: homes(), script: `
				write "$env.HOME/a" x; write "$env.TMPDIR/b" x
				on session/prompt "crash"; raise KILL
				on session/prompt "exit"; exit 3
				on session/prompt "helper"; spawn session; ignore TERM; write ready; repeat forever; append "$env.HOME/c" x; wait 10ms; end; end; wait file ready; exit 3
				on session/prompt "cancel"; text "so far"; wait forever`,
				do: batch("crash exit helper crash exit nothing refused cancel", nil, func(s *scene, list []subagent.Task) {
					list[6].Provider = s.following(`write "$env.HOME/x" x; on session/new; fail -32603 no`)
					list[7].Provider = givesUp{list[7].Provider}
				}), check: all(removed, func(s *scene) {
					s.Helper()
					check.Equal(s, "how they ended", each(s.results), `error: exit at session/prompt; no text; signal SIGKILL
2 times error: exit at session/prompt; no text; exit status 3
error: exit at session/prompt; no text; signal SIGKILL
error: exit at session/prompt; no text; exit status 3
completed; no text; exit status 0
error: agent at session/new; no text; exit status 0
aborted; "so far"; 1 updates; exit status 0`)
					for _, r := range s.results {
						homeGone(s, r)
					}
				})},
			{name: "a port", given: all(homes(), freePort), script: port + "; wait file go", do: untilOneIsLeft(eight), check: all(onlyOne, removed)},
			{name: "a port, one at a time", given: freePort, script: port, do: batch(eight, &subagent.FanOutOptions{Limit: 1}, nil), check: func(s *scene) {
				check.Equal(s, "what they said", strings.Join(outputs(s), " "), strings.TrimSpace(numbered("done: %d ", 8)))
			}},
		},
	}
}

// homeGone checks that a run does not warn of its home. Of others' processes that cannot be
// looked at it may.
func homeGone(s *scene, r *subagent.Result) {
	s.Helper()
	check.Lacks(s, strings.Join(r.Warnings, "\n"), "the home of the run", "could not be ended")
}

// meeting carries out a task for each word. None of them ends before all have said
// something: they are there at the same time.
func meeting(words string) func(*scene) {
	return func(s *scene) {
		list := s.tasks(words)
		var there atomic.Int64
		all := make(chan struct{})
		for i := range list {
			arrive := sync.OnceFunc(func() {
				if int(there.Add(1)) == len(list) {
					close(all)
				}
			})
			list[i].Request.Events = func(e subagent.Event) {
				// A run that fails says nothing; nobody is to wait for it.
				if e.Type == subagent.EventUpdate || e.Type == subagent.EventEnd {
					arrive()
					<-all
				}
			}
		}
		s.gather(list, &subagent.FanOutOptions{Limit: subagent.NoLimit})
	}
}

// untilOneIsLeft carries out a task for each word, and writes the file go when all but one
// of them are over. The results are in the order in which they came.
func untilOneIsLeft(words string) func(*scene) {
	return func(s *scene) {
		list := s.tasks(words)
		ctx, cancel := s.bounded()
		defer cancel()
		for _, res := range subagent.FanOut(ctx, list, nil) {
			if s.results = append(s.results, res); len(s.results) == len(list)-1 {
				s.write("go")
			}
		}
	}
}

// freePort gives the agent the address of a port that nobody listens on.
func freePort(s *scene) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	defer l.Close()
	env("PORT=" + l.Addr().String())(s)
}
