package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/errand-acp/errand/internal/owndir"
)

// Home is a directory made by [Make]. Its methods are not for several goroutines at once.
type Home struct {
	dir *owndir.Dir
}

// prefix begins the names of homes.
const prefix = "errand-home-"

// Make makes a home in parent, empty for [os.TempDir], and copies seeds into it, in their
// order. Nobody but the user can enter it. If it fails, or ctx ends before it is done, nothing is
// left.
func Make(ctx context.Context, parent string, seeds []Seed) (_ *Home, err error) {
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
	dir, err := owndir.Make(parent, prefix)
	if err != nil {
		return nil, err
	}
	h := &Home{dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Remove())
		}
	}()
	root, err := os.OpenRoot(h.Dir())
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
		if err := s.copy(ctx, root, parent); err != nil {
			return nil, fmt.Errorf("seed %q: %w", s.To, err)
		}
	}
	return h, nil
}

// Dir is the home, absolute and without symlinks.
func (h *Home) Dir() string { return h.dir.Path() }

// place is a directory of a home that an environment variable leads to.
type place struct{ variable, path string }

// Env are the variables by which programs find the home and what is in it, KEY=VALUE.
func (h *Home) Env() []string {
	env := homeEnv(h.Dir())
	for _, p := range places() {
		env = append(env, p.variable+"="+filepath.Join(h.Dir(), filepath.FromSlash(p.path)))
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
func (h *Home) Remove() error { return h.dir.Remove(context.Background()) }
