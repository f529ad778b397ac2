package script

import (
	"strings"
)

// The order of things.

var controlStatements = []*statement{
	{
		usage: "repeat N|forever ... end",
		doc:   "Follows the block N times or without end; `$i` counts from 1.",
		run:   runRepeat,
	},
	{
		usage: "background ... end",
		doc:   "Follows the block beside what comes after it, also beyond the section's end.",
		run:   runBackground,
	},
	{
		usage:   "if LEFT is|is-not|contains RIGHT ... end",
		doc:     "Follows the block, or the part of it after `else`.",
		run:     runIf,
		clauses: []string{"else"},
	},
	{
		usage:  "else",
		doc:    "Divides the block of `if`.",
		within: "if",
	},
	{
		usage: "set NAME [TEXT] [size=SIZE]",
		doc:   "Sets a variable for all sections.",
		run:   runSet,
	},
	{
		usage: "exit CODE",
		doc:   "Ends the agent with this status, at once.",
		run:   runExit,
	},
}

func runRepeat(t *task, c *call) error {
	times := -1
	if t.text(c, "N|forever") != "forever" {
		var err error
		if times, err = t.number(c, "N|forever"); err != nil {
			return err
		}
	}
	for i := 1; times < 0 || i <= times; i++ {
		t.local("i", i)
		if err := t.follow(c.clauses[0].body); err != nil {
			return err
		}
	}
	return nil
}

func runBackground(t *task, c *call) error {
	forked := t.fork()
	t.r.mu.Lock()
	t.turn.background++
	t.r.mu.Unlock()
	go func() { // ends with the block, a cancel of the turn, or the agent
		_ = t.r.report(forked.follow(c.clauses[0].body))
		t.r.mu.Lock()
		defer t.r.mu.Unlock()
		t.turn.background--
		t.r.signal()
	}()
	return nil
}

func runIf(t *task, c *call) error {
	left, right := t.text(c, "LEFT"), t.text(c, "RIGHT")
	var holds bool
	switch t.text(c, "is|is-not|contains") {
	case "is":
		holds = left == right
	case "is-not":
		holds = left != right
	case "contains":
		holds = strings.Contains(left, right)
	}
	switch {
	case holds:
		return t.follow(c.clauses[0].body)
	case len(c.clauses) > 1:
		return t.follow(c.clauses[1].body)
	}
	return nil
}

func runSet(t *task, c *call) error {
	text, err := t.sized(c)
	if err != nil {
		return err
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.vars[c.word("NAME")] = marshal(text)
	return nil
}

func runExit(t *task, c *call) error {
	code, err := t.number(c, "CODE")
	if err != nil {
		return err
	}
	t.r.exit(code)
	return errEnded
}
