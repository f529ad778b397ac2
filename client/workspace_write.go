package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	switch {
	case !w.opts.Write:
		return problem(FileReadOnly, "the workspace is read-only")
	case len(content) > w.opts.MaxBytes:
		return problem(FileTooLarge, "%d bytes are more than %d", len(content), w.opts.MaxBytes)
	case !utf8.ValidString(content):
		return problem(FileNoText, "the text is not UTF-8")
	}
	done, err := w.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	rel, err := w.locate(path)
	if err != nil {
		return err
	}
	if rel == "." || os.IsPathSeparator(path[len(path)-1]) {
		return problem(FileNoText, "it is a directory")
	}
	above, name := filepath.Split(rel)
	above = filepath.Clean(above)
	if err := w.root.MkdirAll(above, 0o777); err != nil {
		return escaped(err)
	}
	// From here on the directory is the one that is open, wherever its name leads.
	parent, err := w.root.OpenRoot(above)
	if err != nil {
		return escaped(err)
	}
	defer parent.Close()
	old, err := writable(parent, name)
	if err != nil {
		return err
	}
	return replace(ctx, parent, name, old, content)
}

// writable returns what is known of a file that is there and may be written, nil where
// there is none.
func writable(parent *os.Root, name string) (fs.FileInfo, error) {
	if info, err := parent.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, problem(FileFailed, "it changed meanwhile") // locate had found none
	}
	// Opened, and not only looked at: a new file in its place would get round its mode.
	f, err := openRegular(parent, name, os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// replace puts a new file in the place of old, which may be nil.
func replace(ctx context.Context, parent *os.Root, name string, old fs.FileInfo, content string) (err error) {
	temp := ".errand-" + rand.Text() + ".tmp"
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
	if err := ctx.Err(); err != nil {
		return err // nobody wants it any more
	}
	return parent.Rename(temp, name)
}
