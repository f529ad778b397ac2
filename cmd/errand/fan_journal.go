package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/errand-acp/errand/internal/journal"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// fanJournal is the journal of --journal. nil is none, to which nothing is added.
type fanJournal struct {
	*journal.Journal
	old []*subagent.Result // by task: the last that was in it; nil where there was none

	mu   sync.Mutex // guards what is below
	lost int        // lines that could not be written
	why  error
}

// openJournal opens the journal that the flags name, a new one or with --resume the one
// that is there.
func (x *fan) openJournal() error {
	var tasks []journal.Task
	for _, t := range x.tasks {
		digest, err := x.digest(t)
		if err != nil {
			return err
		}
		tasks = append(tasks, journal.Task{Name: t.name, Digest: digest})
	}
	open := journal.Create
	if x.flags.resume {
		open = journal.Resume
	}
	j, err := open(x.flags.journal, tasks)
	switch {
	case errors.Is(err, journal.ErrExists):
		return fmt.Errorf("--journal: %w; --resume goes on with it", err)
	case errors.Is(err, journal.ErrTasks):
		return fmt.Errorf("--journal: %w; --resume goes on with the same agents, prompts, directories, names and permissions only", err)
	case err != nil:
		return fmt.Errorf("--journal: %w", err)
	}
	x.journal = &fanJournal{Journal: j, old: make([]*subagent.Result, len(tasks))}
	for i := range tasks {
		if x.journal.old[i], err = lastResult(j.Run(i)); err != nil {
			return errors.Join(fmt.Errorf("--journal: %w", err), j.Close())
		}
	}
	return nil
}

// digest stands for what makes a task the task that it is: what is asked of which agent,
// where, and what it may do. How long it may take, and what its variables hold, is no part
// of that; nor is any secret.
func (x *fan) digest(t *fanTask) (string, error) {
	var names []string
	for _, entry := range t.agent.command.Env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	f := x.flags
	text, err := json.Marshal(struct {
		Command, Env, Map                 []string
		Request                           subagent.Request
		Permission, PermissionCommand, FS string
		Policy                            *permission.Rules
		Terminal, Worktree, Uncommitted   bool
	}{
		t.words(), names, f.pathMap, subagent.Request{Prompt: t.prompt, Dir: t.dir, MaxDepth: t.maxDepth},
		f.permission, t.redact(f.permissionCommand), f.fs, t.rules, f.terminal, f.worktree, f.uncommitted,
	})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// lastResult reads the last result of a run, nil where it has none.
func lastResult(r *journal.Run) (*subagent.Result, error) {
	var last *subagent.Result
	for line, err := range r.Lines() {
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(line, []byte(`"type":"end"`)) {
			continue // mostly; what is left is looked at
		}
		var e subagent.Event
		if json.Unmarshal(line, &e) == nil && e.Type == subagent.EventEnd && e.Result != nil && e.Result.SchemaVersion == subagent.SchemaVersion {
			last = e.Result
		}
	}
	return last, nil
}

// last is the last result that there was of a task when the journal was opened.
func (j *fanJournal) last(i int) *subagent.Result {
	if j == nil {
		return nil
	}
	return j.old[i]
}

// add adds an event of a run.
func (j *fanJournal) add(i int, line string) {
	if j != nil {
		j.wrote(j.Run(i).Append([]byte(strings.TrimSuffix(line, "\n"))))
	}
}

// end adds the last one.
func (j *fanJournal) end(i int, line string) {
	if j != nil {
		j.wrote(j.Run(i).End([]byte(strings.TrimSuffix(line, "\n"))))
	}
}

func (j *fanJournal) wrote(err error) {
	if err == nil || errors.Is(err, fs.ErrClosed) { // of a killed run that is not waited for
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost++; j.why == nil {
		j.why = err
	}
}

// close closes the journal, and says what is missing from it; nothing where nothing is.
func (j *fanJournal) close() string {
	j.wrote(j.Journal.Close())
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost == 0 {
		return ""
	}
	return fmt.Sprintf("the journal is not complete: %d lines are lost: %v", j.lost, j.why)
}
