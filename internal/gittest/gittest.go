// Package gittest makes git repositories for tests, and looks at what becomes of them.
//
//	repo := gittest.New(t)
//	repo.Write("a", "text").Commit("first")
//	before := repo.Snapshot()
//	// …
//	repo.Untouched(before)
package gittest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Repo is a repository of a test.
type Repo struct {
	testing.TB
	// Dir is the top of its work tree, canonical.
	Dir string
}

// New makes an empty repository. Without git the test is skipped, which says so.
func New(t testing.TB, flags ...string) *Repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: there is no git here, and this needs it")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &Repo{TB: t, Dir: filepath.Join(dir, "project")}
	if err := os.Mkdir(r.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r.Git(append([]string{"init", "-q", "-b", "main"}, flags...)...)
	r.Git("config", "user.name", "A U Thor")
	r.Git("config", "user.email", "author@example.org")
	return r
}

// At is the same test with another work tree.
func (r *Repo) At(dir string) *Repo { return &Repo{TB: r.TB, Dir: dir} }

// Git runs git in the work tree and returns what it prints, without the last line break.
func (r *Repo) Git(args ...string) string {
	r.Helper()
	out, err := r.TryGit(args...)
	if err != nil {
		r.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// TryGit is Git for what may fail.
func (r *Repo) TryGit(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.Dir
	cmd.Env = Env()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return strings.TrimSuffix(out.String(), "\n"), err
}

// Env is the environment for git in tests: none of the machine's settings count.
func Env() []string {
	env := []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			env = append(env, v)
		}
	}
	return env
}

// Path is that of a file in the work tree.
func (r *Repo) Path(name string) string { return filepath.Join(r.Dir, name) }

// Write writes a file.
func (r *Repo) Write(name, text string) *Repo {
	r.Helper()
	if err := os.MkdirAll(filepath.Dir(r.Path(name)), 0o777); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(r.Path(name), []byte(text), 0o666); err != nil {
		r.Fatal(err)
	}
	return r
}

// Read reads a file.
func (r *Repo) Read(name string) string {
	r.Helper()
	text, err := os.ReadFile(r.Path(name))
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

// Link makes a symlink.
func (r *Repo) Link(name, to string) *Repo {
	r.Helper()
	os.Remove(r.Path(name))
	if err := os.Symlink(to, r.Path(name)); err != nil {
		r.Fatal(err)
	}
	return r
}

// Mode changes a file's mode.
func (r *Repo) Mode(name string, mode fs.FileMode) *Repo {
	r.Helper()
	if err := os.Chmod(r.Path(name), mode); err != nil {
		r.Fatal(err)
	}
	return r
}

// Remove removes a file, or a directory with what is in it.
func (r *Repo) Remove(name string) *Repo {
	r.Helper()
	if err := os.RemoveAll(r.Path(name)); err != nil {
		r.Fatal(err)
	}
	return r
}

// Commit commits everything.
func (r *Repo) Commit(message string) *Repo {
	r.Helper()
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", message)
	return r
}

// Snapshot is every file in the work tree and the git directory, by its name: its mode and
// what is in it.
func (r *Repo) Snapshot() map[string]string {
	r.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(r.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(r.Dir, path)
		text := ""
		switch {
		case info.Mode().IsRegular():
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(raw)
		case info.Mode()&fs.ModeSymlink != 0:
			if text, err = os.Readlink(path); err != nil {
				return err
			}
		}
		files[name] = fmt.Sprintf("%v %q", info.Mode(), text)
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return files
}

// Files is a Snapshot of the work tree without the git directory.
func (r *Repo) Files() map[string]string {
	r.Helper()
	files := r.Snapshot()
	for name := range files {
		if name == "." || name == ".git" || strings.HasPrefix(name, ".git"+string(filepath.Separator)) {
			delete(files, name)
		}
	}
	return files
}

// Untouched checks that everything is as it was.
func (r *Repo) Untouched(before map[string]string) {
	r.Helper()
	if diff := cmp.Diff(before, r.Snapshot()); diff != "" {
		r.Errorf("the repository was touched (-before +after):\n%s", diff)
	}
}
