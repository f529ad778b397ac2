package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// target is where a path led when it was looked at. What is decided on is held open, for
// a decision can take minutes: what is read is that file, and what is written comes to be
// in that directory, whatever takes the place of their names. Who found it closes it.
type target struct {
	w     *Workspace
	path  string      // as it was given
	rel   string      // in the workspace, without links
	dir   *os.Root    // the directory of the file or, where that is missing, the last above it
	steps []string    // from dir to the file: directories that are missing, and its name
	info  fs.FileInfo // what is there; nil for nothing
	file  *os.File    // for reading; nil where err says why not
	err   error
}

// find looks where a path leads. That there is nothing, or nothing that can be read, is no
// error of it.
func (w *Workspace) find(path string) (*target, error) {
	rel, err := w.locate(path)
	if err != nil {
		return nil, err
	}
	t := &target{w: w, path: path, rel: rel, steps: split(rel)}
	last := len(t.steps) - 1
	dir, deep, err := w.enter(t.steps[:last])
	if t.dir, t.steps = dir, t.steps[deep:]; dir == nil {
		return nil, err
	}
	if t.err = err; err == nil {
		t.info, t.file, t.err = openRegular(dir, t.steps[0], os.O_RDONLY)
	}
	return t, nil
}

// enter opens a directory, and says how deep it came. Where there is no such directory it
// is the last one on the way to it, and an error; of other errors it is nil.
func (w *Workspace) enter(path []string) (dir *os.Root, deep int, err error) {
	if dir, err = w.root.OpenRoot("."); err != nil {
		return nil, 0, err
	}
	for i, name := range path {
		next, err := openBelow(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			return dir, i, err
		}
		dir.Close()
		if err != nil {
			return nil, i, err
		}
		dir = next
	}
	return dir, len(path), nil
}

func (t *target) close() {
	t.dir.Close()
	if t.file != nil {
		t.file.Close()
	}
}

// at is the path that is decided on, absolute.
func (t *target) at() string { return filepath.Join(t.w.dir, t.rel) }

// errChanged is for what is another thing than it was when it was looked at.
var errChanged = problem(FileChanged, "it changed meanwhile")

// openBelow opens a directory in dir, and follows no link to it.
func openBelow(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, escaped(err)
	}
	there, err := next.Stat(".")
	if err == nil && !os.SameFile(info, there) {
		err = errChanged
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// openRegular opens a file in dir if it is a regular one, and follows no link to it. It
// does not wait, for somebody at the other end of a FIFO say, and no device is opened if
// it was there when we looked. It returns what is known of the file also where it fails.
func openRegular(dir *os.Root, name string, flag int) (fs.FileInfo, *os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return info, nil, irregular(info)
	}
	f, err := dir.OpenFile(name, flag|openNow, 0)
	if err != nil {
		return info, nil, escaped(err)
	}
	there, err := f.Stat()
	if err == nil && !os.SameFile(info, there) {
		err = errChanged // it is what we looked at, and so no link, nor anything that is not regular
	}
	if err != nil {
		f.Close()
		return info, nil, err
	}
	return info, f, nil
}

func irregular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return problem(FileNoText, "it is a directory")
	case info.Mode()&fs.ModeSymlink != 0:
		return errChanged // locate has found none
	}
	return problem(FileNoText, "it is not a regular file")
}

// text returns lines of the file, as readLines does.
func (t *target) text(ctx context.Context, skip, most int) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	text, err := readLines(ctx, io.NewSectionReader(t.file, 0, math.MaxInt64), skip, most, t.w.opts.MaxBytes)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(text) {
		// JSON has no place for it, and what is replaced on the way out would be
		// written back so.
		return "", problem(FileNoText, "it is not UTF-8 text")
	}
	return string(text), nil
}

// read is text with a place in memory.
func (t *target) read(ctx context.Context, skip, most int) (string, error) {
	done, err := t.w.begin(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return t.text(ctx, skip, most)
}

// unchanged reports, as an error, whether the path leads elsewhere by now, or something
// else is there.
func (t *target) unchanged() error {
	if rel, err := t.w.locate(t.path); err != nil || rel != t.rel {
		return errChanged
	}
	all := split(t.rel)
	dir, _, err := t.w.enter(all[:len(all)-len(t.steps)])
	if dir != nil {
		defer dir.Close()
	}
	if err != nil || !sameDir(dir, t.dir) {
		return errChanged
	}
	info, err := t.dir.Lstat(filepath.Join(t.steps...))
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.info == nil:
		return nil
	case err != nil || t.info == nil || !os.SameFile(info, t.info):
		return errChanged
	}
	return nil
}

func sameDir(a, b *os.Root) bool {
	one, err := a.Stat(".")
	other, err2 := b.Stat(".")
	return err == nil && err2 == nil && os.SameFile(one, other)
}

// shown is the text that a write would take the place of, as it is shown to who decides.
type shown struct {
	text *string // nil for a new file
	seen bool    // it is the file's, and not why that cannot be shown
}

func (t *target) show(ctx context.Context) shown {
	text, err := t.read(ctx, 0, -1)
	switch {
	case err == nil:
		return shown{&text, true}
	case t.info == nil:
		return shown{}
	}
	text = "(what is there cannot be shown: " + reason(fileError("read", t.path, err)) + ")"
	return shown{text: &text}
}

// still reports, as an error, whether it is not what was shown that a write would take the
// place of.
func (t *target) still(ctx context.Context, was shown) error {
	if err := t.unchanged(); err != nil {
		return err
	}
	switch {
	case was.text == nil:
		return nil
	case was.seen:
		text, err := t.text(ctx, 0, -1)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || text != *was.text {
			return errChanged
		}
		return nil
	}
	// Nobody has seen the text: that its size and time are the same has to do.
	info, err := t.dir.Lstat(t.steps[0])
	if err != nil || info.Size() != t.info.Size() || !info.ModTime().Equal(t.info.ModTime()) {
		return errChanged
	}
	return nil
}
