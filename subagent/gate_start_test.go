package subagent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// With LimitOptions.Starts one agent of a command has its session before the next is
// started; the runs go on beside each other.
func TestStartsOfProcesses(t *testing.T) {
	t.Parallel()
	dir := canonical(t, t.TempDir())
	log := filepath.Join(dir, "log")
	src := fmt.Sprintf(`
		append %[1]q begin
		on session/new; append %[1]q end
		on session/prompt; wait file %[2]q`, log, filepath.Join(dir, "go on"))
	limits := newLimits(t, subagent.LimitOptions{Starts: 1})
	p := scripted(t, src, nil)
	failing := scripted(t, fmt.Sprintf(`append %[1]q begin; append %[1]q end; exit 1`, log), nil)
	var list []subagent.Task
	for range 4 {
		list = append(list, tasks(t, p, "go")...)
		list = append(list, tasks(t, failing, "go")...)
	}
	// They are all at work at once: none ends before the last has come to its prompt.
	prompted := make(chan struct{}, len(list))
	for i := range list {
		list[i].Request.Events = func(e subagent.Event) {
			if e.Type == subagent.EventStart {
				prompted <- struct{}{}
			}
		}
	}
	go func() { // ends when all have started
		for range 4 {
			<-prompted
		}
		if err := os.WriteFile(filepath.Join(dir, "go on"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	for i, res := range subagent.Gather(bounded(t), list, &subagent.FanOutOptions{Limit: subagent.NoLimit, Limits: limits}) {
		want := stopreason.Completed
		if i%2 == 1 {
			want = stopreason.Error
		}
		check.Equal(t, fmt.Sprint("stop of ", i), res.Stop, want)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "starts", string(text), strings.Repeat("begin\nend\n", 8))
}

// The spares of a pool under limits wait for other starts as runs do.
func TestStartsOfSpares(t *testing.T) {
	t.Parallel()
	log := filepath.Join(canonical(t, t.TempDir()), "log")
	p := pool(t, fmt.Sprintf(`
		append %[1]q begin
		on session/new; append %[1]q end
		on session/prompt; stop end_turn`, log), nil, &subagent.PoolOptions{Recent: 4, Spares: 2})
	limited := newLimits(t, subagent.LimitOptions{Starts: 1}).Provider(p)
	var list []subagent.Task
	for range 4 { // each in a directory of its own
		list = append(list, tasks(t, limited, "go")...)
	}
	for i, res := range subagent.Gather(bounded(t), list, nil) {
		check.Equal(t, fmt.Sprint("stop of ", i), res.Stop, stopreason.Completed)
	}
	ready(t, p, 8)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "starts", string(text), strings.Repeat("begin\nend\n", 12))
}
