package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// Write makes content the whole text of the file at path, which must be absolute; what
// is missing of the directories before it is made. At every moment there is the old file
// or the new one, whole. A file that was there keeps its mode bits and, where we may set
// it, its owner; other hard links to it keep the old text. A symbolic link is followed.
// An error is a *FileError.
//
// See https://agentclientprotocol.com/protocol/file-system#writing-files.
func (w *Workspace) Write(ctx context.Context, path, content string) error {
	if err := w.write(ctx, path, content); err != nil {
		return fileError("write", path, err)
	}
	return nil
}

func (w *Workspace) write(ctx context.Context, path, content string) error {
	t, err := w.find(path)
	if err != nil {
		return err
	}
	defer t.close()
	return t.write(ctx, content, func() error { return nil })
}

// write makes content the text of the file. last is asked when all is done but to put the
// new file into its place.
func (t *target) write(ctx context.Context, content string, last func() error) (err error) {
	switch {
	case !t.w.opts.Write:
		return problem(FileReadOnly, "the workspace is read-only")
	case len(content) > t.w.opts.MaxBytes:
		return problem(FileTooLarge, "%d bytes are more than %d", len(content), t.w.opts.MaxBytes)
	case !utf8.ValidString(content):
		return problem(FileNoText, "the text is not UTF-8")
	case t.rel == "." || os.IsPathSeparator(t.path[len(t.path)-1]):
		return problem(FileNoText, "it is a directory")
	}
	done, err := t.w.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	undo, err := t.makeDirs()
	if err == nil {
		err = t.replace(newTemp(), content, func() error {
			if err := ctx.Err(); err != nil {
				return err // nobody wants it any more
			}
			return last()
		})
	}
	undo(err != nil)
	return err
}

// makeDirs makes what is missing of the directory that the file is in, and enters it.
// What it returns is to be called at the end, and removes the directories again where the
// file has not come to be.
func (t *target) makeDirs() (undo func(bool), err error) {
	top, path, made := t.dir, "", []string{}
	undo = func(failed bool) {
		for _, dir := range slices.Backward(made) {
			if failed {
				top.Remove(dir) // unless somebody has put something into it
			}
		}
		if top != t.dir {
			top.Close()
		}
	}
	for len(t.steps) > 1 {
		name := t.steps[0]
		path = filepath.Join(path, name)
		if err := t.dir.Mkdir(name, 0o777); err == nil {
			made = append(made, path)
		} else if !errors.Is(err, fs.ErrExist) {
			return undo, err
		}
		next, err := openBelow(t.dir, name)
		if err != nil {
			return undo, err
		}
		if t.dir != top {
			t.dir.Close()
		}
		t.dir, t.steps = next, t.steps[1:]
	}
	return undo, nil
}

// newTemp is a name that nobody can guess.
func newTemp() string { return ".errand-" + rand.Text() + ".tmp" }

// replace puts a new file, first made as temp, into the place of the one that may be there.
func (t *target) replace(temp, content string, last func() error) (err error) {
	parent, name := t.dir, t.steps[0]
	// Opened, and not only looked at: a new file in its place would get round its mode.
	old, was, err := openRegular(parent, name, os.O_WRONLY)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		was.Close()
	}
	f, err := parent.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return escaped(err)
	}
	defer func() {
		if err != nil {
			parent.Remove(temp)
		}
	}()
	defer f.Close()
	if old != nil {
		keepOwner(f, old)
		// After the owner: a change of that may clear bits. Setuid and the like are not
		// kept, as the system would not keep them.
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if _, err := f.WriteString(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := last(); err != nil {
		return err
	}
	return parent.Rename(temp, name)
}
