package main

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"
)

// auditIncomplete is how a warning begins where lines of the audit are missing, the
// library's too.
const auditIncomplete = "the audit is not complete"

// auditFile is the file of --audit.
type auditFile struct {
	*os.File
	began   int64 // the file's size when it was opened
	written atomic.Int64
}

// openAudit opens the file of --audit, for its owner only where it is new. Lines of
// several runs may go to one file: each is written at its end, in one piece. It is a
// regular file or a device such as /dev/null, and not stdout: what else there is may have
// no reader, or another use.
func openAudit(name string, stdout *os.File) (*auditFile, error) {
	switch name {
	case "":
		return nil, errors.New("--audit is empty")
	case "-":
		return nil, errors.New("--audit takes a file: stdout has the answer")
	}
	// Before it is opened, which may do something to what is no file.
	if info, err := os.Stat(name); err == nil && !auditable(info) {
		return nil, fmt.Errorf("--audit: %s is no regular file", name)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--audit: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("--audit: %w", err)
	case !auditable(info) || term.IsTerminal(int(f.Fd())):
		err = fmt.Errorf("--audit: %s is no regular file", name)
	case info.Mode().IsRegular() && sameFile(f, stdout):
		err = fmt.Errorf("--audit: %s is stdout, which has the answer", name)
	default:
		return &auditFile{File: f, began: info.Size()}, nil
	}
	f.Close()
	return nil, err
}

// auditable reports whether a write to a file cannot wait for somebody to read.
func auditable(info os.FileInfo) bool {
	return info.Mode().IsRegular() || info.Mode()&os.ModeCharDevice != 0
}

// Write implements io.Writer.
func (a *auditFile) Write(text []byte) (int, error) {
	n, err := a.File.Write(text)
	a.written.Add(int64(n))
	return n, err
}

// end closes the file, and says what became of it if somebody who looks for the audit does
// not find all that was written; else it is empty. What could not be written is in the
// result.
func (a *auditFile) end() string {
	defer a.Close()
	mine, err := a.Stat()
	if err != nil || !mine.Mode().IsRegular() {
		return ""
	}
	switch there, err := os.Stat(a.Name()); {
	case err != nil || !os.SameFile(mine, there):
		return fmt.Sprintf("%s: %s is not the file any more that was opened", auditIncomplete, a.Name())
	case mine.Size() < a.began+a.written.Load():
		return fmt.Sprintf("%s: %s is shorter than what was written to it", auditIncomplete, a.Name())
	}
	return ""
}
