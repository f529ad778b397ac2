package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// obedient is a function provider that does what the first word of its prompt says:
// answer, fail or hang, as subagenttest has it.
func obedient(t testing.TB, name string) subagent.Provider {
	t.Helper()
	p, err := subagent.NewFunc(name, func(ctx context.Context, req subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		text := req.Prompt[0].Text.Text
		update(acp.UpdateAgentMessageText(text))
		switch word, _, _ := strings.Cut(text, " "); word {
		case "fail":
			return "", errors.New("it was to fail")
		case "panic":
			panic("it was to panic")
		case "hang":
			<-ctx.Done()
			return acp.StopReasonCancelled, nil
		}
		return acp.StopReasonEndTurn, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tasks are of one provider, a prompt each.
func tasks(t testing.TB, p subagent.Provider, prompts ...string) []subagent.Task {
	t.Helper()
	dir := t.TempDir()
	tasks := make([]subagent.Task, len(prompts))
	for i, text := range prompts {
		tasks[i] = subagent.Task{Provider: p, Request: subagent.Request{Dir: dir, Prompt: subagent.Text(text)}}
	}
	return tasks
}

// bounded is the test's context, within the time that means a hang.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	return ctx
}

// summary is a result in a few words: its outcome, the kind of its error, and its text.
func summary(res *subagent.Result) string {
	kind := client.ErrorKind("-")
	if res.Error != nil {
		kind = res.Error.Kind
	}
	return strings.TrimSpace(fmt.Sprint(res.Stop, " ", kind, " ", res.Output))
}

func summaries(results []*subagent.Result) []string {
	out := make([]string, len(results))
	for i, res := range results {
		out[i] = summary(res)
	}
	return out
}

func TestGather(t *testing.T) {
	p := obedient(t, "p")
	list := tasks(t, p, "answer a", "fail b", "panic c", "answer d", "")
	list = append(list, subagent.Task{Request: list[0].Request})
	got := summaries(subagent.Gather(bounded(t), list, nil))
	want := []string{
		"completed - answer a", "error agent fail b", "error agent panic c", "completed - answer d", "error config", "error config",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	check.Equal(t, "of no tasks", len(subagent.Gather(bounded(t), nil, nil)), 0)
}

func TestFanOutFirst(t *testing.T) {
	list := tasks(t, obedient(t, "p"), "hang a", "hang b", "answer c", "hang d", "hang e")
	n := 0
	for i, res := range subagent.FanOut(bounded(t), list, &subagent.FanOutOptions{Limit: 3, Want: 1}) {
		n++
		want := stopreason.Aborted
		if i == 2 {
			want = stopreason.Completed
		}
		check.Equal(t, fmt.Sprint("stop of ", i), res.Stop, want)
	}
	check.Equal(t, "results", n, len(list))
}
