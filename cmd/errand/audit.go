package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// auditIncomplete is how the library's warning begins where lines of the audit are
// missing.
const auditIncomplete = "the audit is not complete"

// openAudit opens the file of --audit, for its owner only where it is new. Lines of
// several runs may go to one file: each is written at its end, in one piece. The end of
// ctx ends the wait for the reader of a pipe.
func openAudit(ctx context.Context, file string) (*os.File, error) {
	switch file {
	case "":
		return nil, errors.New("--audit is empty")
	case "-":
		return nil, errors.New("--audit takes a file: stdout has the answer")
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	// Ends when the file is open; where a pipe has no reader, with the program.
	go func() {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		done <- opened{f, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case o := <-done:
		if o.err != nil {
			return nil, fmt.Errorf("--audit: %w", o.err)
		}
		return o.file, nil
	}
}
