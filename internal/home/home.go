package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Home is a directory made by [Make]. Its methods are not for several goroutines at once.
type Home struct {
	dir  string
	made os.FileInfo // of dir, so that it is known again
}

// prefix begins the names of homes.
const prefix = "errand-home-"

// Make makes a home in parent, empty for [os.TempDir], and copies seeds into it, in their
// order. Nobody but the user can enter it. If it fails nothing is left.
func Make(parent string, seeds []Seed) (_ *Home, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	// It is compared with paths that have been resolved.
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return nil, err
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	made, err := os.Lstat(dir)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	h := &Home{dir, made}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Remove())
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, p := range places() {
		if err := root.MkdirAll(p.path, 0o700); err != nil {
			return nil, err
		}
	}
	for _, s := range seeds {
		if err := s.copy(root, parent); err != nil {
			return nil, fmt.Errorf("seed %q: %w", s.To, err)
		}
	}
	return h, nil
}

// Dir is the home, absolute and without symlinks.
func (h *Home) Dir() string { return h.dir }

// place is a directory of a home that an environment variable leads to.
type place struct{ variable, path string }

// Env are the variables by which programs find the home and what is in it, KEY=VALUE.
func (h *Home) Env() []string {
	env := homeEnv(h.dir)
	for _, p := range places() {
		env = append(env, p.variable+"="+filepath.Join(h.dir, filepath.FromSlash(p.path)))
	}
	return env
}

// IsHome reports whether a variable is one by which programs find the home itself.
func IsHome(name string) bool {
	for _, entry := range homeEnv("") {
		if known, _, _ := strings.Cut(entry, "="); sameName(known, name) {
			return true
		}
	}
	return false
}

// Remove removes the home and all that is in it, also what is not writable. It follows no
// link out of it. An error says what is left; a home that is not where it was made is one.
func (h *Home) Remove() error {
	if err := h.same(os.Lstat(h.dir)); err != nil {
		return err
	}
	if os.RemoveAll(h.dir) == nil {
		return nil
	}
	// What is in a directory that is not writable stays, and so does what cannot be looked
	// into: Go's module cache is made of such directories.
	os.Chmod(h.dir, 0o700)
	if err := h.unlock(); err != nil {
		return err
	}
	return os.RemoveAll(h.dir)
}

// unlock gives the user all rights to the directories of the home.
func (h *Home) unlock() error {
	root, err := os.OpenRoot(h.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := h.same(root.Stat(".")); err != nil {
		return err
	}
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		// The walk calls this before it looks into a directory. Through a link that has
		// taken the place of one nothing outside is changed.
		if err == nil && d.IsDir() {
			root.Chmod(path, 0o700)
		}
		return nil // what cannot be removed in the end will be told
	})
}

// same refuses what is not the directory that was made.
func (h *Home) same(now os.FileInfo, err error) error {
	if err == nil && os.SameFile(h.made, now) {
		return nil
	}
	return fmt.Errorf("%s is not there any more: it was moved, removed or replaced", h.dir)
}
