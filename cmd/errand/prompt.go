package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/errand-acp/errand/internal/proc"
)

// maxPrompt bounds a prompt: more than the connection carries in one message need
// not be read.
const maxPrompt = 32 << 20

// onePrompt refuses more arguments than one before "--". With no agent named
// otherwise the second may be meant to be its command.
func onePrompt(args []string, named bool) error {
	if len(args) < 2 {
		return nil
	}
	const quotes = "put quotes around a prompt of several words"
	if command := args[1]; !named && isCommand(command) {
		return fmt.Errorf("there are %d prompts: if %q is the agent's command, -- is missing before it, else %s", len(args), command, quotes)
	}
	return fmt.Errorf("there are %d prompts; %s", len(args), quotes)
}

// isCommand reports whether word is a program here, or reads like the path of one.
func isCommand(word string) bool {
	_, err := proc.LookPath(word, os.Environ())
	return err == nil || strings.ContainsRune(word, '/') && !strings.ContainsRune(word, ' ')
}

// readPrompt returns the prompt: what stands before "--", or stdin where that
// says "-" or there is none.
func readPrompt(ctx context.Context, args []string, con *console) (string, error) {
	var prompt string
	switch {
	case len(args) == 1 && args[0] != "-":
		prompt = args[0]
	case len(args) == 0 && con.inTTY:
		return "", errors.New(`there is no PROMPT; give one, or pipe it in ("-" reads the terminal)`)
	default:
		text, err := interruptible(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(patient(con.in), maxPrompt+1)) })
		if err != nil {
			return "", fmt.Errorf("reading the PROMPT from stdin: %w", err)
		}
		prompt = string(text)
	}
	switch {
	case strings.TrimSpace(prompt) == "":
		return "", errors.New("the PROMPT is empty")
	case len(prompt) > maxPrompt:
		return "", fmt.Errorf("the PROMPT is longer than %d MiB", maxPrompt>>20)
	case !utf8.ValidString(prompt):
		return "", errors.New("the PROMPT is not UTF-8 text")
	}
	return prompt, nil
}

// interruptible calls read, and gives up on it when ctx ends.
func interruptible(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	// Ends with what is read, or with the program: the reading of a terminal or a pipe
	// cannot be stopped.
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case got := <-done:
		return got.text, got.err
	}
}
