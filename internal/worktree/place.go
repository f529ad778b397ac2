package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/errand-acp/errand/internal/owndir"
)

// place is the directory that trees are made in, and what we need ourselves: never in the
// one of a tree, where a program prepares what it likes.
type place struct {
	path string
	is   fs.FileInfo
}

// place returns the one of a tree of repo.
func (o Options) place(repo *repository) (*place, error) {
	parent := o.Parent
	if parent == "" {
		parent = os.TempDir()
	}
	if !filepath.IsAbs(parent) {
		return nil, refuse("the directory for work trees %q is not absolute", parent)
	}
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return nil, refuse("the directory for work trees: %w", err)
	}
	if below, err := filepath.Rel(repo.top, parent); err == nil && filepath.IsLocal(below) {
		return nil, refuse("the directory for work trees %s lies in the work tree %s, which is not to be touched: name another one", parent, repo.top)
	}
	is, err := os.Lstat(parent)
	if err != nil {
		return nil, refuse("the directory for work trees: %w", err)
	}
	return &place{parent, is}, nil
}

// make makes a directory there, unless a program has put something else in its place.
func (p *place) make() (*owndir.Dir, error) {
	if now, err := os.Lstat(p.path); err != nil || !os.SameFile(p.is, now) {
		return nil, errors.Join(fmt.Errorf("the directory for work trees %s was moved, removed or replaced", p.path), err)
	}
	return owndir.Make(p.path, "errand-worktree-")
}
