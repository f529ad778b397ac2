package owndir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// tries is how often removing is tried while something is at work there still.
	tries = 3
	// batch is how many names of a directory are held at once.
	batch = 1024
)

// Remove removes the directory and all that is in it, also what is not writable, as Go's
// module cache is. An error says what is left; a directory that is not where it was made is
// one, and then nothing is touched. It ends with ctx.
func (d *Dir) Remove(ctx context.Context) error {
	// Above it there is a directory, or this would not be the one: to open that does not block.
	if err := d.Check(); err != nil {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	defer parent.Close()
	for range tries {
		if err = d.removeFrom(ctx, parent); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

func (d *Dir) removeFrom(ctx context.Context, parent *os.Root) error {
	name := filepath.Base(d.path)
	info, err := parent.Lstat(name)
	if err := d.same(info, err); err != nil {
		return err
	}
	return removeDir(ctx, parent, name, info)
}

// remove removes what is called name in dir.
func remove(ctx context.Context, dir *os.Root, name string) error {
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, statErr := dir.Lstat(name)
	if statErr != nil || !info.IsDir() {
		return err
	}
	return removeDir(ctx, dir, name, info)
}

// removeDir removes the directory that is called name in parent, and is the one of info:
// what has taken its place in between is left alone.
func removeDir(ctx context.Context, parent *os.Root, name string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o700 != 0o700 {
		if err := parent.Chmod(name, 0o700); err != nil {
			return err
		}
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if now, err := dir.Stat("."); err != nil || !os.SameFile(info, now) {
		return errors.Join(err, &fs.PathError{Op: "remove", Path: name, Err: errors.New("it has become another one")})
	}
	if err := empty(ctx, dir); err != nil {
		return err
	}
	dir.Close() // where what is open cannot be removed
	return parent.Remove(name)
}

// empty removes what is in dir, as far as it can be.
func empty(ctx context.Context, dir *os.Root) error {
	for {
		names, err := some(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if failed := remove(ctx, dir, name); err == nil {
				err = failed
			}
		}
		if err != nil || len(names) < batch {
			return err
		}
	}
}

// some are the first names in dir. It is opened for them each time, since what is removed
// may move others.
func some(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(batch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
