//go:build unix

package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/internal/leak"
)

// tree makes files in a fresh directory: a name that ends in a slash is a directory,
// one that ends in * is executable.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, executable := strings.CutSuffix(file, "*")
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o700)
		} else if executable {
			err = os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700)
		} else {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLookPath(t *testing.T) {
	root := tree(t, "a/", "a/tool*", "b/", "b/tool*", "b/other*", "c/", "c/plain", "c/dir/", "d/", "d/plain*", "here*")
	t.Chdir(root)
	at := func(name string) string { return filepath.Join(root, name) }
	path := func(elements ...string) []string { return []string{"PATH=" + strings.Join(elements, ":")} }
	for _, test := range []struct {
		name string
		file string
		env  []string
		want string // empty: an error
		is   error
		says string
	}{
		{"first in PATH", "tool", path(at("a"), at("b")), at("a/tool"), nil, ""},
		{"second in PATH", "other", path(at("a"), at("b")), at("b/other"), nil, ""},
		{"relative elements are skipped", "tool", path("a", ".", "", at("b")), at("b/tool"), nil, ""},
		{"only relative elements", "tool", path("a", ".", ""), "", exec.ErrNotFound, "no absolute directory in the child's PATH"},
		{"the last PATH counts", "tool", append(path(at("a")), path(at("b"))...), at("b/tool"), nil, ""},
		{"not found", "none", path(at("a"), at("b")), "", exec.ErrNotFound, "(searched " + at("a") + ", " + at("b") + ")"},
		{"missing elements are searched", "none", path(at("zz")), "", exec.ErrNotFound, "(searched " + at("zz") + ")"},
		{"not executable, and further on one that is", "plain", path(at("c"), at("d")), at("d/plain"), nil, ""},
		{"not executable", "plain", path(at("c")), "", fs.ErrPermission, at("c/plain") + ": is not executable"},
		{"a directory in PATH is no command", "dir", path(at("c")), "", exec.ErrNotFound, ""},
		{"slash: against our directory", "./here", path(at("a")), at("here"), nil, ""},
		{"slash without a dot", "a/tool", nil, at("a/tool"), nil, ""},
		{"slash: upwards", "a/../b/tool", nil, root + "/a/../b/tool", nil, ""},
		{"absolute", at("a/tool"), nil, at("a/tool"), nil, ""},
		{"slash: not there", "./none", path(at("a")), "", fs.ErrNotExist, `"./none"`},
		{"slash: not executable", "c/plain", nil, "", fs.ErrPermission, "is not executable"},
		{"slash: a directory", "./a", nil, "", nil, "is a directory"},
		{"a directory with a slash behind", "a/", nil, "", nil, "is a directory"},
		{"a bare name is not looked for here", "here", path(at("a")), "", exec.ErrNotFound, ""},
		{"empty", "", path(at("a")), "", nil, "is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := LookPath(test.file, test.env)
			if test.want != "" {
				if got != test.want || err != nil {
					t.Fatalf("got %q, %v, want %q", got, err, test.want)
				}
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Name != test.file || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, %v, want an error that is %v and says %q", got, err, test.is, test.says)
			}
		})
	}
}

func TestCheckDir(t *testing.T) {
	root := tree(t, "dir/", "dir/sub/", "file", "closed/")
	for from, to := range map[string]string{"link": "dir", "broken": "none", "loop": "loop", "filelink": "file"} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(root, name) }
	t.Chdir(root)
	for _, test := range []struct {
		name, dir, want string
		is              error
		says            string
	}{
		{"as it is", at("dir"), at("dir"), nil, ""},
		{"not clean", root + "/dir//./sub/../", at("dir"), nil, ""},
		{"a symlink", at("link"), at("dir"), nil, ""},
		{"below a symlink", at("link/sub"), at("dir/sub"), nil, ""},
		{"relative", "dir", "", nil, "is not absolute"},
		{"here", ".", "", nil, "is not absolute"},
		{"empty", "", "", nil, "is empty"},
		{"missing", at("none"), "", fs.ErrNotExist, at("none")},
		{"a broken symlink", at("broken"), "", fs.ErrNotExist, at("broken")},
		{"a symlink to itself", at("loop"), "", nil, at("loop")},
		{"a file", at("file"), "", nil, "is not a directory"},
		{"a symlink to a file", at("filelink"), "", nil, "is not a directory"},
		{"below a file", at("file/x"), "", syscall.ENOTDIR, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := CheckDir(test.dir)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Fatalf("got %q, %v, want %q", got, err, test.want)
			}
			if err == nil {
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.What != "directory" || e.Name != test.dir || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an *Error that is %v and says %q", err, test.is, test.says)
			}
		})
	}
}

// Scripts whose interpreter is missing, and the other ways for a file that is there
// not to be a program.
func testE3(t *testing.T) {
	bin := tree(t, "real*", "plain", "dir/")
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, head string
		is         error
		says       string // empty: it starts
	}{
		{"good", "#!" + sh + "\n", nil, ""},
		{"good with blanks", "#! \t" + sh + " -e\n", nil, ""},
		{"good without an end of line", "#!" + sh, nil, ""},
		{"missing", "#!/no/such/interpreter\n", fs.ErrNotExist, `its interpreter "/no/such/interpreter"`},
		{"missing, with arguments", "#! /no/such/interpreter -x -y\n", fs.ErrNotExist, `"/no/such/interpreter"`},
		{"carriage return", "#!" + sh + "\r\n", fs.ErrNotExist, `/sh\r"`},
		{"not executable", "#!" + bin + "/plain\n", fs.ErrPermission, `plain": is not executable`},
		{"a directory", "#!" + bin + "/dir\n", nil, `dir": is a directory`},
		{"env finds it", "#!/usr/bin/env real\n", nil, ""},
		{"env does not", "#!/usr/bin/env no-such-tool\n", exec.ErrNotFound, `its interpreter "no-such-tool"`},
		{"env says where it looked", "#!/usr/bin/env no-such-tool\n", exec.ErrNotFound, "(searched " + bin + ")"},
		{"env takes the rest as one name", "#!/usr/bin/env real -x\n", exec.ErrNotFound, `"real -x"`},
		{"env -S splits", "#!/usr/bin/env -S real -x\n", nil, ""},
		{"env -S sets variables", "#!/usr/bin/env -S A=b no-such-tool -x\n", exec.ErrNotFound, `"no-such-tool"`},
		{"empty file", "", unix.ENOEXEC, "neither a program"},
		{"no first line", "echo hello\n", unix.ENOEXEC, "neither a program"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := leak.Snapshot()
			path := filepath.Join(t.TempDir(), "agent")
			if err := os.WriteFile(path, []byte(test.head), 0o700); err != nil {
				t.Fatal(err)
			}
			p, err := Start(t.Context(), Spec{Path: path, Dir: bin, Env: []string{"PATH=" + bin}})
			if p != nil {
				defer p.Stdout().Close()
				defer p.Kill(hang)
			}
			if test.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Name != path || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an *Error that is %v and says %q", err, test.is, test.says)
			}
			if err := before.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A program whose loader is missing, as one for another C library.
func testE3Loader(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	loader := elfLoader(sh)
	if loader == "" {
		t.Skip("the shell is no dynamic ELF program")
	}
	program, err := os.ReadFile(sh)
	if err != nil {
		t.Fatal(err)
	}
	missing := "/no" + strings.Repeat("o", len(loader)-len("/no"))
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte(strings.Replace(string(program), loader, missing, 1)), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Spec{Path: path, Dir: t.TempDir()})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v, want it to name %s", err, missing)
	}
}

// A program that is still open for writing for a moment is waited for.
func TestTextBusy(t *testing.T) {
	true_, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(true_)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agent")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(program); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Path: path, Dir: t.TempDir()}
	if p, err := Start(t.Context(), spec); err == nil {
		p.Kill(hang)
		p.Stdout().Close()
		t.Skip("this system lets a program be run that is being written")
	} else if !errors.Is(err, syscall.ETXTBSY) {
		t.Errorf("while it stays open: %v, want ETXTBSY", err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		f.Close()
	}()
	wait(t, start(t, spec))
	<-closed
}
