//go:build unix

package owndir_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/owndir"
)

// made makes a directory, and one beside it that is nobody's business: with the rights 0500
// and a file.
func made(t *testing.T) (dir *owndir.Dir, outside string) {
	t.Helper()
	dir, err := owndir.Make(t.TempDir(), "own-")
	if err != nil {
		t.Fatal(err)
	}
	outside = filepath.Join(filepath.Dir(dir.Path()), "outside")
	for _, err := range []error{
		os.Mkdir(outside, 0o700), os.WriteFile(filepath.Join(outside, "file"), nil, 0o400), os.Chmod(outside, 0o500),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		info, err := os.Lstat(outside)
		if err != nil || info.Mode() != fs.ModeDir|0o500 {
			t.Errorf("what is outside: %v, %v", info, err)
		}
		os.Chmod(outside, 0o700)
		if _, err := os.Lstat(filepath.Join(outside, "file")); err != nil {
			t.Error(err)
		}
	})
	return dir, outside
}

// left is how much is in the directory that it was made in, beside what is outside.
func left(t *testing.T, dir *owndir.Dir) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir.Path()))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) - 1
}

// Whatever is there goes, and what it leads to stays.
func TestRemove(t *testing.T) {
	for name, put := range map[string]func(path, outside string) error{
		"nothing":           func(string, string) error { return nil },
		"a link":            func(path, outside string) error { return os.Symlink(outside, filepath.Join(path, "link")) },
		"a link to nothing": func(path, _ string) error { return os.Symlink("nothing", filepath.Join(path, "link")) },
		"a link to a file": func(path, outside string) error {
			return os.Symlink(filepath.Join(outside, "file"), filepath.Join(path, "link"))
		},
		"a pipe": func(path, _ string) error { return syscall.Mkfifo(filepath.Join(path, "pipe"), 0o600) },
		"more than is held at once": func(path, _ string) error {
			for i := range 2100 {
				if err := os.WriteFile(filepath.Join(path, strconv.Itoa(i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		"very deep": func(path, _ string) error {
			root, err := os.OpenRoot(path)
			for range 300 {
				if err != nil {
					return err
				}
				err = root.Mkdir("directory-with-a-long-name", 0o700)
				if err != nil {
					return err
				}
				next, openErr := root.OpenRoot("directory-with-a-long-name")
				root.Close()
				root, err = next, openErr
			}
			return root.Close()
		},
		"without rights": func(path, _ string) error {
			return errors.Join(os.MkdirAll(filepath.Join(path, "a/b"), 0o700), os.Chmod(filepath.Join(path, "a/b"), 0), os.Chmod(filepath.Join(path, "a"), 0o100), os.Chmod(path, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := made(t)
			check.Equal(t, "put", put(dir.Path(), outside), nil)
			check.Equal(t, "removed", dir.Remove(t.Context()), nil)
			check.Equal(t, "left", left(t, dir), 0)
		})
	}
}

// What is another one than was made stays, and is told of.
func TestRemoveWhatIsAnother(t *testing.T) {
	for name, put := range map[string]func(path, outside string) error{
		"nothing":      func(string, string) error { return nil },
		"a link":       func(path, outside string) error { return os.Symlink(outside, path) },
		"a link to it": func(path, _ string) error { return os.Symlink(path+"-aside", path) },
		"a directory":  func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"a pipe":       func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"a file":       func(path, _ string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := made(t)
			aside := dir.Path() + "-aside" // so that its number is not given to another one
			check.Equal(t, "moved", os.Rename(dir.Path(), aside), nil)
			check.Equal(t, "put", put(dir.Path(), outside), nil)
			before := left(t, dir)
			check.Has(t, dir.Check().Error(), "moved, removed or replaced")
			check.Has(t, dir.Remove(t.Context()).Error(), "moved, removed or replaced")
			check.Equal(t, "left", left(t, dir), before)
		})
	}
}

func TestRemoveEnds(t *testing.T) {
	dir, _ := made(t)
	check.Equal(t, "a file", os.WriteFile(filepath.Join(dir.Path(), "file"), nil, 0o600), nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := dir.Remove(ctx); !errors.Is(err, why) {
		t.Errorf("error %v, want that of the context", err)
	}
	check.Equal(t, "left", left(t, dir), 1)
}
