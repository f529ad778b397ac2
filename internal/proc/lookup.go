package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// CheckDir returns the canonical form of dir, in which a child is started: absolute,
// without symlinks. The error is an [*Error] where dir is relative or empty, does
// not exist, is not a directory or cannot be entered. Nothing is spawned.
func CheckDir(dir string) (string, error) {
	refuse := func(err error) (string, error) {
		return "", &Error{What: "directory", Name: dir, Err: bare(err)}
	}
	if dir == "" {
		return refuse(errEmpty)
	}
	if !filepath.IsAbs(dir) {
		return refuse(errNotAbsolute)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return refuse(err)
	}
	if info, err := os.Stat(real); err != nil {
		return refuse(err)
	} else if !info.IsDir() {
		return refuse(errNotDir)
	}
	if err := canExecute(real); err != nil {
		return refuse(fmt.Errorf("cannot be entered: %w", err))
	}
	return real, nil
}

// LookPath returns the absolute file that a child with the environment env is
// started from. A name with a slash in it is taken against this process's directory.
// A bare name is looked up in the PATH of env; its relative and empty elements are
// skipped, because they would mean another place in the child's directory than
// here. The error is an [*Error] that says what was searched. Nothing is spawned.
func LookPath(name string, env []string) (string, error) {
	refuse := func(searched []string, err error) (string, error) {
		return "", &Error{What: "command", Name: name, Searched: searched, Err: bare(err)}
	}
	switch {
	case name == "":
		return refuse(nil, errEmpty)
	case strings.ContainsRune(name, 0):
		return refuse(nil, errNUL)
	case hasSeparator(name):
		path, err := absolute(name)
		if err != nil {
			return refuse(nil, err)
		}
		file, err := program(path, env)
		if err != nil && path != name {
			err = fmt.Errorf("%s: %w", path, bare(err))
		}
		if err != nil {
			return refuse(nil, err)
		}
		return file, nil
	}
	cause := exec.ErrNotFound
	searched := []string{}
	path, _ := lookup(env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || slices.Contains(searched, dir) {
			continue
		}
		searched = append(searched, dir)
		file, err := program(filepath.Join(dir, name), env)
		if err == nil {
			return file, nil
		}
		// What is there and cannot be run explains more than "not found" does.
		_, dangles := errors.AsType[*danglingError](err)
		if (dangles || errors.Is(err, fs.ErrPermission)) && cause == exec.ErrNotFound {
			cause = fmt.Errorf("%s: %w", filepath.Join(dir, name), bare(err))
		}
	}
	return refuse(searched, cause)
}

func hasSeparator(name string) bool {
	return strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator)
}

// absolute makes path absolute against this process's directory. Where it goes up
// it is not cleaned: after a symlink ".." is not what the text says.
func absolute(path string) (string, error) {
	if !strings.Contains(path, "..") || filepath.Separator != '/' {
		return filepath.Abs(path)
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := os.Getwd()
	return dir + "/" + path, err
}

// checkProgram refuses a file that cannot be executed.
func checkProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		if target, linkErr := os.Readlink(path); linkErr == nil {
			return &danglingError{target, bare(err)}
		}
		return err
	}
	if info.IsDir() {
		return errIsDir
	}
	if err := canExecute(path); err != nil {
		return fmt.Errorf("is not executable: %w", err)
	}
	return nil
}

// danglingError is for a symbolic link that leads to nothing.
type danglingError struct {
	target string
	err    error
}

func (e *danglingError) Error() string {
	return fmt.Sprintf("is a symbolic link to %q: %v", e.target, e.err)
}

func (e *danglingError) Unwrap() error { return e.err }

// bare takes the path off an error of package os; ours name the thing themselves.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
