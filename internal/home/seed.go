package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Seed is a file or a directory that is copied into a home.
type Seed struct {
	// From is what is copied: a regular file, or a directory with all that is in it. It
	// is absolute. If it is a link, what that leads to is copied.
	From string
	// To is where: a path in the home, with slashes. A directory may be copied to ".",
	// which is the home itself.
	To string
}

// Check returns an error if no home could be made like this. It makes one and removes it.
func Check(parent string, seeds []Seed) error {
	h, err := Make(context.Background(), parent, seeds)
	if err != nil {
		return err
	}
	return h.Remove()
}

// copy copies the seed into a home that was made in parent.
func (s Seed) copy(ctx context.Context, home *os.Root, parent string) error {
	to := path.Clean(s.To)
	if s.To == "" || slices.Contains(strings.Split(s.To, "/"), "..") || !filepath.IsLocal(filepath.FromSlash(to)) {
		return errors.New("it is no path within a home")
	}
	if !filepath.IsAbs(s.From) {
		return fmt.Errorf("%q is not absolute", s.From)
	}
	from, err := filepath.EvalSymlinks(s.From)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		if err := home.MkdirAll(path.Dir(to), 0o700); err != nil {
			return err
		}
		return copyFile(ctx, home, to, from, info)
	case !info.IsDir():
		return fmt.Errorf("%s is neither a regular file nor a directory", s.From)
	case within(parent, from):
		return fmt.Errorf("homes are made in %s, which is in %s", parent, s.From)
	}
	return copyTree(ctx, home, to, from)
}

func copyTree(ctx context.Context, home *os.Root, to, from string) error {
	return filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		to := path.Join(to, filepath.ToSlash(rel))
		switch info.Mode().Type() {
		case 0:
			return copyFile(ctx, home, to, at, info)
		case fs.ModeDir:
			return home.MkdirAll(to, 0o700)
		case fs.ModeSymlink:
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			// Through one that leads out of the home the user's own files would be the run's.
			if !staysIn(rel, target) {
				return fmt.Errorf("%s is a link that leads out of %s", at, from)
			}
			return home.Symlink(target, to)
		}
		return fmt.Errorf("%s is neither a regular file nor a directory nor a link", at)
	})
}

// copyFile copies what the user may do with a file, and nothing for others.
func copyFile(ctx context.Context, home *os.Root, to, from string, info fs.FileInfo) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	mode := info.Mode().Perm() & 0o700
	out, err := home.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, until{ctx, in}); err != nil {
		return err
	}
	return out.Chmod(mode)
}

// until is a reader up to where its context ends.
type until struct {
	ctx context.Context
	io.Reader
}

func (r until) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// staysIn reports whether a link at rel, in a tree without links that lead out of it, does
// not either.
func staysIn(rel, target string) bool {
	down := false
	for element := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		switch element {
		case "..":
			if down {
				return false // behind another link that may be anywhere
			}
		case ".":
		default:
			down = true
		}
	}
	return !filepath.IsAbs(target) && filepath.IsLocal(filepath.Join(filepath.Dir(rel), target))
}

// within reports whether path is dir or in it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
