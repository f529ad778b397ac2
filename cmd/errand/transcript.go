package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/visible"
)

// transcriptIncomplete is how a warning begins where something is missing in a transcript,
// the library's too.
const transcriptIncomplete = "the transcript is not complete"

// openTranscript opens the file of --transcript and empties it: it is of one run. others are
// the files of other flags.
func (t *task) openTranscript(name string, con *console, others ...string) (*recordFile, error) {
	if err := t.mayEmpty(name, con, others...); err != nil {
		return nil, fmt.Errorf("--transcript: %w", err)
	}
	f, err := openRecord("--transcript", transcriptIncomplete, name, con.out)
	if err != nil {
		return nil, err
	}
	if err := f.empty(); err != nil {
		return nil, errors.Join(fmt.Errorf("--transcript: %w", err), f.Close())
	}
	return f, nil
}

// openTranscript opens the file of --transcript, when there is nothing else to be refused.
func (f *runFlags) openTranscript(t *task, con *console) (*recordFile, error) {
	if !f.transcriptSet {
		return nil, nil
	}
	return t.openTranscript(f.transcript, con, f.files()...)
}

// files are those of flags that a transcript has no business in, and what may be the files of
// the program that is asked.
func (f *runFlags) files() []string {
	words, _ := splitWords(f.permissionCommand) // whoever starts it says what is wrong with it
	return slices.Concat([]string{f.audit, f.policy}, f.envFiles, words)
}

// writer returns what a run is recorded with; nil without a file.
func (a *recordFile) writer() *transcript.Writer {
	if a == nil {
		return nil
	}
	return transcript.NewWriter(a)
}

// makeTranscripts makes the directory of fan's --transcript, for its owner only, and sees to
// it that the files that it is for can be.
func (f *fanFlags) makeTranscripts(tasks []*fanTask, con *console) error {
	if !f.transcriptSet {
		return nil
	}
	if f.transcript == "" {
		return errors.New("--transcript is empty")
	}
	if err := os.MkdirAll(f.transcript, 0o700); err != nil {
		return fmt.Errorf("--transcript: %w", err)
	}
	if f.journalSet {
		dir, err := os.Stat(f.transcript)
		if j, _ := os.Stat(f.journal); err == nil && j != nil && os.SameFile(dir, j) {
			return fmt.Errorf("--transcript: %s is the --journal", f.transcript)
		}
	}
	for _, t := range tasks {
		if err := t.checkTranscript(f, con); err != nil {
			return err
		}
	}
	return nil
}

// checkTranscript says why a task cannot be recorded in its file, nil if it can. That has a
// name of our own: a link of that name is not ours.
func (t *fanTask) checkTranscript(f *fanFlags, con *console) error {
	name := filepath.Join(f.transcript, t.transcriptName())
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--transcript: %s is no regular file", name)
	}
	if err := t.mayEmpty(name, con, append(f.files(), f.prompts)...); err != nil {
		return fmt.Errorf("--transcript: %w", err)
	}
	return nil
}

// transcriptName is the file of a task in the directory of fan's --transcript.
func (t *fanTask) transcriptName() string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || visible.Line(string(r)) != string(r) {
			return '_'
		}
		return r
	}, t.agent.name)
	return fmt.Sprintf("%04d-%s.ndjson", t.index, strings.ToValidUTF8(name[:min(len(name), 100)], ""))
}

// fanRecord is what a task is recorded in.
type fanRecord struct {
	file *recordFile // nil where it could not be opened
	err  error
}

// startRecord opens the file of a task. Where that cannot be, there is a warning: the agent
// runs, as the others do.
func (p *fanProvider) startRecord() *transcript.Writer {
	flags, t := p.fan.flags, p.task
	if !flags.transcriptSet {
		return nil
	}
	var r fanRecord
	if r.err = t.checkTranscript(flags, p.fan.con); r.err == nil {
		r.file, r.err = t.openTranscript(filepath.Join(flags.transcript, t.transcriptName()), p.fan.con)
	}
	t.record.Store(&r)
	return r.file.writer()
}

// endRecord closes the file of a task and says what is missing in it; nothing where nothing
// is.
func (t *fanTask) endRecord() string {
	switch r := t.record.Load(); {
	case r == nil:
		return ""
	case r.err != nil:
		return fmt.Sprintf("%s: %v", transcriptIncomplete, r.err)
	default:
		return r.file.end()
	}
}
