package client

import (
	"os"
	"testing"
	"time"
)

// What follows is for tests that have to be in the middle of something.

// WriteAs is Write with a known name of the temporary file.
func (w *Workspace) WriteAs(temp, path, content string) error {
	t, err := w.find(path)
	if err != nil {
		return err
	}
	defer t.close()
	return t.replace(temp, content, func() error { return nil })
}

// Enter opens a directory as it does on the way to a file.
func (w *Workspace) Enter(path ...string) (*os.Root, error) {
	dir, _, err := w.enter(path)
	return dir, err
}

// OpenHere opens a file of the workspace's own directory as it does at the end of the way.
func (w *Workspace) OpenHere(name string) (*os.File, error) {
	_, f, err := openRegular(w.root, name, os.O_RDONLY)
	return f, err
}

// Over reports whether nothing more is begun for the agent, or no more terminals are kept.
func (a *Agent) Over() (acts, terminals bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.actsOver, a.terminalsOver
}

// HeldBack reports whether the agent waits to be recorded.
func (a *Agent) HeldBack() bool {
	a.recorder.mu.Lock()
	defer a.recorder.mu.Unlock()
	return a.recorder.waiting > 0
}

// PatientRecording has recordings wait as long as a test may take. It is for a test that is
// not parallel.
func PatientRecording(t testing.TB) {
	stall, patience, grace := recordStall, recordPatience, recordGrace
	recordStall, recordPatience, recordGrace = time.Hour, time.Hour, time.Hour
	t.Cleanup(func() { recordStall, recordPatience, recordGrace = stall, patience, grace })
}
