package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/stopreason"
)

// patience is how long an agent may take to tell that its model fails, usual how long
// anything else may take on a machine that is busy.
const (
	patience = time.Minute
	usual    = 2 * time.Minute
)

// word is what an agent is asked to write, and to say; the model server says it anyway.
const word = "PONG"

// wroteFile is the name of the file that it is to write into its directory.
const wroteFile = "hello.txt"

// testCase is one way to drive an agent: a column of the document.
type testCase struct {
	title      string
	prompt     string // {dir} is the agent's directory
	permission string
	interrupt  bool
	wrongKey   bool
	modelOnly  bool // it makes sense only for an agent that asks a model
	// timeout is --timeout, 0 for the usual one.
	timeout time.Duration
	// tell is what the agent did, for the document; the error is that it does not what
	// it is known to do right, which is looked at where a.ok says so.
	tell func(*agent, *place, *outcome) (string, error)
}

var cases = []testCase{
	{title: "prompt", prompt: "Answer with the one word " + word + ".", permission: "reject", modelOnly: true, tell: tellAnswer},
	{title: "request allowed", prompt: writePrompt, permission: "allow", tell: tellAllowed},
	{title: "request rejected", prompt: writePrompt, permission: "reject", tell: tellRejected},
	{title: "cancel in mid turn", prompt: "Count slowly from 1 to 500, in words.", permission: "reject", interrupt: true, tell: tellCancel},
	{title: "cancel while it asks", prompt: writePrompt, permission: pending, interrupt: true, tell: tellPending},
	{title: "wrong key", prompt: "Answer with the one word " + word + ".", permission: "reject", wrongKey: true, modelOnly: true, timeout: patience, tell: tellFailure},
	{title: "model fails (500)", prompt: "Fail with 500.", permission: "reject", modelOnly: true, timeout: patience, tell: tellFailure},
}

const writePrompt = "Write a file {dir}/" + wroteFile + " with the text " + word + "."

// drive runs one case offline, in a place of its own.
func (c *testCase) drive(ctx context.Context, errand string, a *agent, root string) (cell string, o *outcome, err error) {
	if c.modelOnly && !a.model {
		return "-", nil, nil
	}
	err = a.at(ctx, root, c.wrongKey, func(p *place) error {
		t := &task{
			prompt: strings.ReplaceAll(c.prompt, "{dir}", p.dir), permission: c.permission, interrupt: c.interrupt,
			env: a.envAt(p), flags: a.pass(), agent: append([]string{"--"}, a.commandAt(p)...),
			dir: p.dir, temp: p.temp, timeout: cmp.Or(c.timeout, usual),
		}
		if o, err = t.run(ctx, errand); err != nil {
			return err
		}
		cell, err = c.tell(a, p, o)
		return a.known(err)
	})
	return cell, o, err
}

// known is the error of what an agent is known to do right.
func (a *agent) known(err error) error {
	if !a.ok {
		return nil
	}
	return err
}

// ended is how the turn ended, in a few words that are the same every time.
func ended(o *outcome) string {
	switch {
	case o.Error != nil && o.Error.Kind == client.KindTimeout:
		return "no end within a minute"
	case o.Error != nil && o.Error.Code != nil:
		return fmt.Sprintf("error `%s` (%d)", o.Error.Kind, *o.Error.Code)
	case o.Error != nil:
		return fmt.Sprintf("error `%s`", o.Error.Kind)
	case o.StopReason != nil:
		return "`" + *o.StopReason + "`"
	}
	return "no answer"
}

// completed is the error of a turn that did not end well.
func completed(o *outcome) error {
	if o.Stop != stopreason.Completed {
		return fmt.Errorf("stop %q, error %v; want completed", o.Stop, o.Error)
	}
	return nil
}

func tellAnswer(_ *agent, _ *place, o *outcome) (string, error) {
	cell, err := ended(o), completed(o)
	if !strings.Contains(o.Output, word) {
		cell += ", without the text"
		err = errors.Join(err, fmt.Errorf("output %q does not say %s", o.Output, word))
	}
	return cell, err
}

// says is the error of an example whose answer does not say what it should.
func says(o *outcome, text string) error {
	if !strings.Contains(o.Output, text) {
		return fmt.Errorf("output %q does not say %q", o.Output, text)
	}
	return nil
}

// asked is whether it asked before it acted.
func asked(o *outcome) string {
	if len(o.Permissions) == 0 {
		return "asks nothing"
	}
	return "asks"
}

// written says whether the file is there, with the text.
func written(p *place) bool {
	text, err := os.ReadFile(filepath.Join(p.dir, wroteFile))
	return err == nil && strings.TrimSpace(string(text)) == word
}

func tellAllowed(a *agent, p *place, o *outcome) (string, error) {
	err := completed(o)
	if len(o.Permissions) == 0 {
		err = errors.Join(err, errors.New("it asked for no permission"))
	}
	cell := asked(o)
	switch {
	case !a.model:
		err = errors.Join(err, says(o, exampleAllowed))
	case written(p):
		cell += ", writes"
	default:
		cell += ", writes nothing"
		err = errors.Join(err, errors.New("the file is not there after an allow"))
	}
	return cell + ", " + ended(o), err
}

func tellRejected(a *agent, p *place, o *outcome) (string, error) {
	var err error
	if len(o.Permissions) == 0 {
		err = errors.New("it asked for no permission")
	}
	cell := asked(o)
	switch {
	case !a.model:
		err = errors.Join(err, says(o, exampleRejected))
	case written(p):
		cell += ", **writes**"
		err = errors.Join(err, errors.New("the file is there after a reject"))
	default:
		cell += ", writes nothing"
	}
	return cell + ", " + ended(o), err
}

func tellCancel(_ *agent, _ *place, o *outcome) (string, error) {
	if !o.interrupted {
		return "says nothing before the end, " + ended(o), errors.New("it was not in the middle of a turn")
	}
	cell := ended(o)
	if reason(o) != stopreason.Cancelled {
		return cell, fmt.Errorf("stop reason %s, want cancelled", cell)
	}
	return cell, nil
}

func tellPending(_ *agent, p *place, o *outcome) (string, error) {
	if !o.interrupted {
		return "asks nothing", errors.New("it asked for no permission")
	}
	if written(p) {
		return ended(o) + ", **writes**", errors.New("the file is there without a permission")
	}
	return ended(o), nil
}

// tellFailure is a model that fails: an agent may tell it in any way.
func tellFailure(_ *agent, _ *place, o *outcome) (string, error) {
	cell := ended(o)
	switch {
	case o.Stop != stopreason.Completed:
	case o.Empty:
		cell += ", without a word"
	default:
		cell += ", the error as text"
	}
	return cell, nil
}

// tellEnd is how the agent's process ended.
func tellEnd(o *outcome) (string, error) {
	cell := fmt.Sprintf("%s, %s", o.Exit, o.Exit.Rung)
	if o.Exit.Code == nil || *o.Exit.Code != 0 || o.Exit.Rung != client.RungEOF {
		return cell, fmt.Errorf("it ended with %s, want exit status 0 after EOF", cell)
	}
	return cell, nil
}

// took is for people who wait.
func took(start time.Time) string { return fmt.Sprintf("%.1f s", time.Since(start).Seconds()) }
