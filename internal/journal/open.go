package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// openDir opens a directory that is one itself, and not by a symbolic link.
func openDir(dir string) (*os.Root, error) {
	dir = filepath.Clean(dir) // a slash at its end would lead through a link
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("%s is no directory", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	// Between the two somebody may have put another one in its place.
	if opened, err := root.Stat("."); err != nil || !os.SameFile(named, opened) {
		return nil, errors.Join(fmt.Errorf("%s is not the directory any more that it was", dir), err, root.Close())
	}
	return root, nil
}

// openFile opens a regular file of the journal's. An os.Root follows no link out of it,
// this none at all; and it does not wait for the other end of a pipe.
func openFile(root *os.Root, name string, flag int) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, notRegular(root, name)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := root.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	named, nameErr := root.Lstat(name)
	if err != nil || nameErr != nil || !os.SameFile(opened, named) {
		return nil, errors.Join(notRegular(root, name), f.Close())
	}
	return f, nil
}

func notRegular(root *os.Root, name string) error {
	return fmt.Errorf("%s in %s is no regular file", name, root.Name())
}
