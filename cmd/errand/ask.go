package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/errand-acp/errand/permission"
)

// asker puts the agent's permission requests to whoever sits at the terminal, one after
// the other: the callback of permission.Ask.
type asker struct {
	con      *console
	screen   *screen
	turn     chan struct{} // full while a question is open
	patience time.Duration // how long an answer may take, once the question is shown
	cancels  string        // what Ctrl-C does
}

// questionTTY is the terminal as a question needs it. It is for one goroutine, and of no use
// after the end of the context that it was opened with: what waits then returns.
type questionTTY interface {
	// claim waits until no other run asks on the terminal.
	claim() error
	write(text string) error
	// discard throws away what was typed so far.
	discard() error
	// line reads a line. The error is io.EOF where the typist has ended the input.
	line() (string, error)
	// width is in columns, 0 if it is not known.
	width() int
	close()
}

// asker returns one that asks on the terminal: the one that stdin and stderr are, else the
// one that controls this program, so that stdin may bring the prompt and stderr go to a
// file. Without either it is a mistake in configuration. What it asks is shown on the
// screen that it is given by on.
func (con *console) asker() (*asker, error) {
	tty, err := openTTY(context.Background(), con)
	if err != nil {
		return nil, fmt.Errorf("--permission ask needs a terminal to ask on: %w", err)
	}
	tty.close()
	return &asker{con: con, turn: make(chan struct{}, 1), patience: permission.DefaultTimeout, cancels: "cancels the run"}, nil
}

// on says which screen has to make room for the questions. It is for the time before the
// first of them.
func (a *asker) on(s *screen) { a.screen = s }

// ask is permission.Ask's Func.
func (a *asker) ask(ctx context.Context, q permission.Question) (permission.Answer, error) {
	option, whole, err := a.inTurn(ctx, q)
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.DeadlineExceeded) {
		a.screen.note("a question of the agent's could not be asked, and was rejected: " + err.Error())
	}
	return permission.Answer{QuestionID: q.ID, OptionID: option, Partial: !whole}, err
}

// inTurn asks when no other question is open. The terminal is opened for each one, so that
// nothing of it is left where a question ends early.
func (a *asker) inTurn(ctx context.Context, q permission.Question) (option string, whole bool, err error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tty, err := openTTY(ctx, a.con)
	if err != nil {
		return "", false, err
	}
	defer tty.close()
	if err := tty.claim(); err != nil {
		return "", false, err
	}
	if ctx.Err() != nil { // which the others need not have looked at
		return "", false, context.Cause(ctx)
	}
	defer time.AfterFunc(a.patience, func() { cancel(context.DeadlineExceeded) }).Stop()
	q.Expires = time.Now().Add(a.patience)
	if given, ok := ctx.Deadline(); ok && given.Before(q.Expires) {
		q.Expires = given
	}
	defer a.screen.hold(ctx, a.con)()
	option, whole, err = a.put(tty, q)
	switch {
	case ctx.Err() != nil:
		// What was typed of an answer is none to whoever reads next.
		tty.discard()
		tty.write("\n" + takenBack(ctx))
		return "", false, context.Cause(ctx)
	case errors.Is(err, io.EOF):
		tty.write("\nerrand: no answer: rejected\n")
	}
	return option, whole, err
}

func takenBack(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return "errand: no answer in time: rejected\n"
	}
	return "errand: the question is off: cancelled, or taken back by the agent\n"
}

// put shows the question and reads until one of the keys that it offers comes. What was
// typed before the words that ask for it is thrown away: it is no answer to what nobody had
// read yet. whole says that nothing was left out.
func (a *asker) put(tty questionTTY, q permission.Question) (option string, whole bool, err error) {
	width := tty.width()
	replies := repliesTo(q)
	text, whole := questionText(q, replies, a.screen.agent, a.screen.scribe.redact, width)
	if !whole && q.Standing {
		q.Standing = false
		replies = repliesTo(q)
		text, _ = questionText(q, replies, a.screen.agent, a.screen.scribe.redact, width)
	}
	if err := tty.write(text); err != nil {
		return "", false, err
	}
	for {
		if err := tty.discard(); err != nil {
			return "", false, err
		}
		left := max(time.Second, time.Until(q.Expires).Round(time.Second))
		if err := tty.write(fmt.Sprintf("Answer %s within %v; Ctrl-C %s: ", keys(replies), left, a.cancels)); err != nil {
			return "", false, err
		}
		line, err := tty.line()
		if err != nil {
			return "", false, err
		}
		typed := strings.ToLower(strings.TrimSpace(line))
		for _, r := range replies {
			if r.key != "" && r.key == typed {
				return r.option, whole, nil
			}
		}
		if err := tty.write("That is none of them. "); err != nil {
			return "", false, err
		}
	}
}
