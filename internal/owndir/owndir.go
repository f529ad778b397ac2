package owndir

import (
	"errors"
	"fmt"
	"os"
)

// Dir is a directory made by [Make].
type Dir struct {
	path string
	made os.FileInfo // so that it is known again
}

// Make makes a directory in parent, whose name begins with prefix. Nobody but the user can
// enter it. A relative parent makes its path relative.
func Make(parent, prefix string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &Dir{path, made}, nil
}

// Path is where it was made.
func (d *Dir) Path() string { return d.path }

// Check returns an error if it is not there any more.
func (d *Dir) Check() error { return d.same(os.Lstat(d.path)) }

func (d *Dir) same(now os.FileInfo, err error) error {
	if err == nil && os.SameFile(d.made, now) {
		return nil
	}
	return fmt.Errorf("%s is not there any more: it was moved, removed or replaced", d.path)
}
