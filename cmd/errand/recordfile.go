package main

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"
)

// recordFile is a file that a run is recorded in, by --audit or --transcript, or a check, by
// --junit.
type recordFile struct {
	*os.File
	incomplete string // how a warning begins that says that something is missing in it
	alone      bool   // it is for one run, which has emptied it
	began      int64  // the file's size when it was opened
	written    atomic.Int64
}

// openRecord opens a file that a flag names, for its owner only where it is new, and adds to
// what is in it. It is a regular file or a device such as /dev/null, and not stdout: what
// else there is may have no reader, or another use.
func openRecord(flag, incomplete, name string, stdout *os.File) (*recordFile, error) {
	switch name {
	case "":
		return nil, fmt.Errorf("%s is empty", flag)
	case "-":
		return nil, fmt.Errorf("%s takes a file: stdout has the answer", flag)
	}
	// Before it is opened, which may do something to what is no file.
	if err := refuseRecord(flag, name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", flag, err)
	case !recordable(info) || term.IsTerminal(int(f.Fd())):
		err = fmt.Errorf("%s: %s is no regular file", flag, name)
	case info.Mode().IsRegular() && sameFile(f, stdout):
		err = fmt.Errorf("%s: %s is stdout, which has the answer", flag, name)
	default:
		return &recordFile{File: f, incomplete: incomplete, began: info.Size()}, nil
	}
	return nil, errors.Join(err, f.Close())
}

// refuseRecord is the error of a file that there is and that nothing is recorded in.
func refuseRecord(flag, name string) error {
	if info, err := os.Stat(name); err == nil && !recordable(info) {
		return fmt.Errorf("%s: %s is no regular file", flag, name)
	}
	return nil
}

// recordable reports whether a write to a file cannot wait for somebody to read.
func recordable(info os.FileInfo) bool {
	return info.Mode().IsRegular() || info.Mode()&os.ModeCharDevice != 0
}

// empty takes out what is in the file, which is ours alone then.
func (a *recordFile) empty() error {
	if info, err := a.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	a.alone, a.began = true, 0
	return a.Truncate(0)
}

// Write implements io.Writer.
func (a *recordFile) Write(text []byte) (int, error) {
	n, err := a.File.Write(text)
	a.written.Add(int64(n))
	return n, err
}

// end closes the file, and says what became of it if somebody who looks for the record does
// not find all that was written; else it is empty. What could not be written is in the
// result.
func (a *recordFile) end() string {
	defer a.Close()
	mine, err := a.Stat()
	if err != nil || !mine.Mode().IsRegular() {
		return ""
	}
	switch there, err := os.Stat(a.Name()); {
	case err != nil || !os.SameFile(mine, there):
		return fmt.Sprintf("%s: %s is not the file any more that was opened", a.incomplete, a.Name())
	case mine.Size() < a.began+a.written.Load():
		return fmt.Sprintf("%s: %s is shorter than what was written to it", a.incomplete, a.Name())
	case a.alone && mine.Size() > a.written.Load():
		return fmt.Sprintf("%s: %s is not what was written to it: something else writes there, too", a.incomplete, a.Name())
	}
	return ""
}
