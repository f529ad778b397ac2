package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/subagent"
)

// Several runs in one scene.

// acp is the provider of the scene's agent.
func (s *scene) acp() subagent.Provider { return s.providerOf(s.command) }

// following is that of an agent which is like the scene's but follows another script.
func (s *scene) following(src string) subagent.Provider {
	s.Helper()
	cmd := s.command
	cmd.Path, cmd.Args = script.Command(s, src)
	return s.providerOf(cmd)
}

func (s *scene) providerOf(cmd client.Command) subagent.Provider {
	s.Helper()
	p, err := subagent.NewACP("scripted", cmd, &s.opts)
	s.must(err)
	return p
}

// tasks are those of the scene's agent, one for each word, which is its prompt.
func (s *scene) tasks(words string) []subagent.Task {
	s.Helper()
	p := s.acp()
	s.prompts = strings.Fields(words)
	var list []subagent.Task
	for _, word := range s.prompts {
		req := s.request
		req.Prompt = subagent.Text(word)
		list = append(list, subagent.Task{Provider: p, Request: req})
	}
	return list
}

// bounded is the test's context within the time that means a hang. What hangs is aborted
// by a timeout then, which no form wants.
func (s *scene) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.Context(), hang)
}

// gather carries the tasks out and keeps their results.
func (s *scene) gather(list []subagent.Task, o *subagent.FanOutOptions) {
	ctx, cancel := s.bounded()
	defer cancel()
	s.results = subagent.Gather(ctx, list, o)
}

// batch carries out a task for each word, after change was made to them.
func batch(words string, o *subagent.FanOutOptions, change func(s *scene, list []subagent.Task)) func(*scene) {
	return func(s *scene) {
		list := s.tasks(words)
		if change != nil {
			change(s, list)
		}
		s.gather(list, o)
	}
}

// each are summaries of several results, a line each; what is the same again is counted.
func each(results []*subagent.Result) string {
	var lines []string
	for i, last := 0, ""; i < len(results); i++ {
		line, n := (&scene{result: results[i]}).summary(), 1
		if line == last {
			fmt.Sscanf(lines[len(lines)-1], "%d times ", &n)
			lines[len(lines)-1] = fmt.Sprintf("%d times %s", n+1, line)
			continue
		}
		lines, last = append(lines, line), line
	}
	return strings.Join(lines, "\n")
}

// completed checks a result of a run that has said this, and nothing else.
func (s *scene) completed(r *subagent.Result, words string) {
	s.Helper()
	if r == nil {
		s.Errorf("no result, want %q", words)
		return
	}
	check.Equal(s, words, (&scene{result: r}).summary(), fmt.Sprintf("completed; %q; 1 updates; exit status 0", words))
}

// aborted checks a result of a run that the caller has cancelled.
func (s *scene) aborted(what string, r *subagent.Result) {
	s.Helper()
	if r == nil {
		s.Errorf("%s: no result", what)
		return
	}
	check.Equal(s, what, r.Stop, "aborted")
	if r.Error != nil || !errors.Is(r.Err(), context.Canceled) {
		s.Errorf("%s: error %v, %v", what, r.Error, r.Err())
	}
}
