package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// fanTask is a task of a fan-out. Its settings are its own.
type fanTask struct {
	*task
	index  int
	name   string // for people to tell it by; of the agent where nobody gave it one
	prompt []acp.ContentBlock
	redact func(string) string
	record atomic.Pointer[fanRecord] // set when it starts; nil without --transcript
}

// title is what people are told of a task by.
func (t *fanTask) title() string { return fmt.Sprintf("%d %s", t.index+1, t.name) }

// prepare checks everything that can be checked before anything is started. It returns a
// fan-out in any case: what is to be said of an error is said as the flags have it.
func (f *fanFlags) prepare(ctx, kill context.Context, prompts, command []string, con *console) (*fan, error) {
	x := &fan{flags: f}
	if err := f.check(); err != nil {
		return x, err
	}
	agents, noAgent := f.chooseAgents(command, os.Getenv("ERRAND_AGENT"), con.outTTY)
	if noAgent != nil && !f.promptsSet {
		return x, noAgent
	}
	var err error
	if x.settings, err = f.settings(ctx, kill, con); err != nil {
		return x, err
	}
	lines, err := f.readTasks(ctx, prompts, con)
	if err != nil {
		return x, err
	}
	if !f.promptsSet {
		for _, agent := range agents {
			if err := x.add(agent, lines[0]); err != nil {
				return x, err
			}
		}
	}
	var wrong mistakes
	for _, line := range lines {
		if !f.promptsSet {
			break
		}
		agent, err := line.choose(agents, noAgent)
		if err == nil {
			err = x.add(agent, line)
		}
		if err != nil {
			wrong.add(fmt.Errorf("--prompts %s:%d: %w", f.prompts, line.number, err))
		}
	}
	if err := wrong.err(); err != nil {
		return x, err
	}
	if x.want, err = f.wanted(len(x.tasks)); err != nil {
		return x, err
	}
	if x.settings.command != nil {
		x.settings.command.redacts(x.tasks[0].redactor())
	}
	if err := f.openAudit(x.settings, con); err != nil {
		return x, err
	}
	if err := f.makeTranscripts(x.tasks, con); err != nil {
		return x, err
	}
	if f.journalSet {
		err = x.openJournal()
	}
	return x, err
}

// provide makes the task's provider.
func (t *fanTask) provide(policy permission.Policy) error {
	t.opts.Timeout = t.timeout
	return t.task.provide(t.agent.name, policy)
}

// chooseAgents returns every --agent, and then the COMMAND; without either what
// chooseAgent makes of environment.
func (f *fanFlags) chooseAgents(command []string, environment string, terminal bool) ([]choice, error) {
	var agents []choice
	for _, name := range f.agents {
		c, err := presetChoice("--agent", name)
		if err != nil {
			return nil, err
		}
		agents = append(agents, c)
	}
	if len(agents) > 0 && !f.command {
		return agents, nil
	}
	c, err := (&runFlags{command: f.command}).chooseAgent(command, environment, terminal)
	if err != nil {
		return nil, err
	}
	return append(agents, c), nil
}

// readTasks returns the lines of --prompts, or the one prompt as such a line.
func (f *fanFlags) readTasks(ctx context.Context, prompts []string, con *console) ([]promptLine, error) {
	if !f.promptsSet {
		if err := onePrompt(prompts, f.command || len(f.agents) > 0); err != nil {
			return nil, err
		}
		text, err := readPrompt(ctx, prompts, con)
		if err != nil {
			return nil, err
		}
		return []promptLine{{prompt: subagent.Text(text)}}, nil
	}
	if len(prompts) > 0 {
		return nil, errors.New("a PROMPT and --prompts exclude each other")
	}
	text, err := interruptible(ctx, func() ([]byte, error) {
		if f.prompts != "-" {
			return readBounded(f.prompts, maxPrompts)
		}
		text, err := io.ReadAll(io.LimitReader(patient(con.in), maxPrompts+1))
		if err == nil && len(text) > maxPrompts {
			err = fmt.Errorf("stdin has more than %d MiB", maxPrompts>>20)
		}
		return text, err
	})
	if err != nil {
		return nil, fmt.Errorf("--prompts: %w", err)
	}
	return parsePrompts(f.prompts, text)
}

// choose returns the agent that a line names, or else the one that there is for all. none
// is why there is no such one.
func (line *promptLine) choose(agents []choice, none error) (choice, error) {
	switch {
	case line.agent == nil && none != nil:
		return choice{}, none
	case line.agent == nil && len(agents) > 1:
		return choice{}, errors.New(`it has to say which "agent" is meant: there are several`)
	case line.agent == nil:
		return agents[0], nil
	}
	for _, c := range agents {
		if c.name == *line.agent {
			return c, nil
		}
	}
	return presetChoice("agent", *line.agent)
}

// add makes a task of a line for an agent.
func (x *fan) add(agent choice, line promptLine) (err error) {
	own := *x.settings
	own.labels = maps.Clone(own.labels)
	maps.Copy(own.labels, line.labels)
	if line.timeout != nil {
		if own.timeout, err = parseDuration("timeout", *line.timeout, true); err != nil {
			return err
		}
	}
	dir, err := x.flags.directory()
	if line.dir != nil {
		if *line.dir == "" {
			return errors.New("dir is empty")
		}
		if dir, err = client.AbsDir(*line.dir); err != nil {
			err = fmt.Errorf("dir: %s", reason(err))
		}
	}
	if err != nil {
		return err
	}
	if x.flags.worktree && !inRepository(dir) {
		return fmt.Errorf("--worktree: %s is not in a git repository", dir)
	}
	t, err := x.flags.task(&own, agent, dir)
	if err != nil {
		return err
	}
	redact := t.redact()
	ft := &fanTask{task: t, index: len(x.tasks), name: redact(line.name), prompt: line.prompt, redact: redact}
	if ft.name == "" {
		ft.name = t.agent.name
	}
	x.tasks = append(x.tasks, ft)
	return ft.provide(nil) // refuses what cannot be started, before there is a journal
}

// inRepository reports whether git would find a repository from dir on. What else may be
// wrong with it the run says.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}

// notes are the warnings that all tasks have together, each once.
func (x *fan) notes() []string {
	var notes []string
	for _, t := range x.tasks {
		for _, note := range t.agent.notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}
