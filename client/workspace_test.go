package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
)

func ExampleWorkspace() {
	dir, _ := os.MkdirTemp("", "workspace")
	defer os.RemoveAll(dir)
	w, err := client.OpenWorkspace(dir, &client.WorkspaceOptions{Write: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	ctx := context.Background()
	w.Write(ctx, filepath.Join(w.Dir(), "notes/today.txt"), "one\ntwo\nthree\n")
	second, one := 2, 1
	text, _ := w.Read(ctx, filepath.Join(w.Dir(), "notes/today.txt"), &second, &one)
	fmt.Printf("%q\n", text)
	_, err = w.Read(ctx, "/etc/passwd", nil, nil)
	fmt.Println(err)
	// Output:
	// "two\n"
	// read /etc/passwd: it is outside the workspace
}

// site is a workspace with a directory beside it that nothing may touch.
type site struct {
	*testing.T
	*client.Workspace
	outside string
}

const secret = "nobody's business"

func newSite(t *testing.T, o client.WorkspaceOptions) *site {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, outside: filepath.Join(top, "outside")}
	require(t, os.Mkdir(s.outside, 0o777))
	require(t, os.WriteFile(filepath.Join(s.outside, "secret"), []byte(secret), 0o666))
	require(t, os.Mkdir(filepath.Join(top, "work"), 0o777))
	if s.Workspace, err = client.OpenWorkspace(filepath.Join(top, "work"), &o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func require(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// at is a path in the workspace, as it is written.
func (s *site) at(path string) string { return s.Dir() + "/" + path }

func (s *site) file(path, text string) {
	s.Helper()
	require(s.T, os.MkdirAll(filepath.Dir(s.at(path)), 0o777))
	require(s.T, os.WriteFile(s.at(path), []byte(text), 0o666))
}

func (s *site) link(target, path string) {
	s.Helper()
	require(s.T, os.Symlink(target, s.at(path)))
}

// refused asserts that err is a FileError for this reason.
func (s *site) refused(err error, why client.FileReason) {
	s.Helper()
	e, ok := errors.AsType[*client.FileError](err)
	if !ok || e.Reason != why {
		s.Errorf("got %v, want it refused: %s", err, why)
	}
}

// untouched asserts that the outside is as it was.
func (s *site) untouched() {
	s.Helper()
	entries, err := os.ReadDir(s.outside)
	require(s.T, err)
	text, _ := os.ReadFile(filepath.Join(s.outside, "secret"))
	if len(entries) != 1 || string(text) != secret {
		s.Errorf("outside there is %v, and in the secret %q", entries, text)
	}
}

func (s *site) holds(path, want string) {
	s.Helper()
	got, err := os.ReadFile(s.at(path))
	if err != nil || string(got) != want {
		s.Errorf("%s holds %q (%v), want %q", path, got, err, want)
	}
}

// tidy asserts that nothing of a write is left in a directory.
func (s *site) tidy(path string) {
	s.Helper()
	left, _ := filepath.Glob(s.at(path + "/.errand-*"))
	if len(left) > 0 {
		s.Errorf("left over: %v", left)
	}
}

func TestWorkspaceRead(t *testing.T) {
	s := newSite(t, client.WorkspaceOptions{MaxBytes: 100})
	n := func(i int) *int { return &i }
	s.file("lines", "one\ntwo\r\nthree\nlast")
	s.file("empty", "")
	s.file("utf8", "äöü \u202e€")
	s.file("exact", strings.Repeat("x", 99)+"\n")
	s.file("over", strings.Repeat("x", 100)+"\n")
	s.file("long", strings.Repeat("0123456789\n", 1000)+"end")
	s.file("wide", strings.Repeat("x", 1<<20)+"\nshort\n")
	s.file("latin1", "\xe4")
	s.file("sub/file", "below")
	s.link("sub", "dir-link")
	s.link("../sub/../sub/file", "sub/up-link")
	s.link(s.at("sub/file"), "abs-link")
	tests := []struct {
		name, path  string
		line, limit *int
		want        string
		why         client.FileReason
	}{
		{"whole", s.at("lines"), nil, nil, "one\ntwo\r\nthree\nlast", ""},
		{"from a line on", s.at("lines"), n(2), nil, "two\r\nthree\nlast", ""},
		{"so many lines", s.at("lines"), nil, n(2), "one\ntwo\r\n", ""},
		{"a window", s.at("lines"), n(2), n(2), "two\r\nthree\n", ""},
		{"the last line", s.at("lines"), n(4), n(9), "last", ""},
		{"behind the end", s.at("lines"), n(5), nil, "", ""},
		{"line 0 is the first", s.at("lines"), n(0), n(1), "one\n", ""},
		{"no lines", s.at("lines"), n(2), n(0), "", ""},
		{"line below 0", s.at("lines"), n(-1), nil, "", client.FileInvalid},
		{"limit below 0", s.at("lines"), nil, n(-1), "", client.FileInvalid},
		{"empty", s.at("empty"), nil, nil, "", ""},
		{"UTF-8", s.at("utf8"), nil, nil, "äöü \u202e€", ""},
		{"as much as may be", s.at("exact"), nil, nil, strings.Repeat("x", 99) + "\n", ""},
		{"one byte more", s.at("over"), nil, nil, "", client.FileTooLarge},
		{"lines of a large file", s.at("long"), n(1000), nil, "0123456789\nend", ""},
		{"too many lines of it", s.at("long"), n(10), n(10), "", client.FileTooLarge},
		{"behind a line of a megabyte", s.at("wide"), n(2), nil, "short\n", ""},
		{"not UTF-8", s.at("latin1"), nil, nil, "", client.FileNoText},
		{"a directory", s.at("sub"), nil, nil, "", client.FileNoText},
		{"the workspace", s.Dir(), nil, nil, "", client.FileNoText},
		{"missing", s.at("none"), nil, nil, "", client.FileMissing},
		{"missing directory", s.at("none/none"), nil, nil, "", client.FileMissing},
		{"below a file", s.at("lines/x"), nil, nil, "", client.FileFailed},
		{"relative", "lines", nil, nil, "", client.FileInvalid},
		{"no path", "", nil, nil, "", client.FileInvalid},
		{"odd slashes", s.at("/.//sub/./file"), nil, nil, "below", ""},
		{"up and down", s.at("sub/../sub/file"), nil, nil, "below", ""},
		{"by way of elsewhere", filepath.Dir(s.Dir()) + "/outside/../work/sub/file", nil, nil, "below", ""},
		{"through a link to a directory", s.at("dir-link/file"), nil, nil, "below", ""},
		{"a link with ..", s.at("dir-link/up-link"), nil, nil, "below", ""},
		{".. after a link is where the link leads", s.at("dir-link/../lines"), n(1), n(1), "one\n", ""},
		{"an absolute link inside", s.at("abs-link"), nil, nil, "below", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Read(t.Context(), tt.path, tt.line, tt.limit)
			if tt.why != "" {
				s := *s
				s.T = t
				s.refused(err, tt.why)
			} else if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(ctx, s.at("long"), nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestWorkspaceWrite(t *testing.T) {
	s := newSite(t, client.WorkspaceOptions{Write: true, MaxBytes: 100})
	write := func(path, text string) {
		t.Helper()
		if err := s.Write(t.Context(), s.at(path), text); err != nil {
			t.Error(err)
		}
		s.tidy(filepath.Dir(path))
	}
	write("new", "text")
	s.holds("new", "text")
	write("new", "")
	s.holds("new", "")
	write("a/b/c/new", "deep")
	s.holds("a/b/c/new", "deep")
	s.link("a/b", "link")
	write("link/c/new", "through a link")
	s.holds("a/b/c/new", "through a link")
	s.link("a/none", "dangling")
	write("dangling", "made")
	s.holds("a/none", "made")
	if runtime.GOOS != "windows" {
		s.file("script", "old")
		require(t, os.Chmod(s.at("script"), 0o751))
		write("script", "new")
		if info, _ := os.Stat(s.at("script")); info.Mode().Perm() != 0o751 {
			t.Errorf("its mode became %v", info.Mode())
		}
	}
	s.file("one", "shared")
	require(t, os.Link(s.at("one"), s.at("other")))
	write("one", "changed")
	s.holds("one", "changed")
	s.holds("other", "shared")

	write("full", strings.Repeat("x", 100))
	s.refused(s.Write(t.Context(), s.at("full"), strings.Repeat("y", 101)), client.FileTooLarge)
	s.holds("full", strings.Repeat("x", 100))
	s.refused(s.Write(t.Context(), s.at("full"), "\xff"), client.FileNoText)
	s.refused(s.Write(t.Context(), s.at("a"), "x"), client.FileNoText)
	s.refused(s.Write(t.Context(), s.at("new/"), "x"), client.FileNoText)
	s.refused(s.Write(t.Context(), s.Dir(), "x"), client.FileNoText)
	s.refused(s.Write(t.Context(), s.at("full/x"), "x"), client.FileFailed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Write(ctx, s.at("full"), "late"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if err := s.Write(&ending{Context: t.Context(), calls: 1}, s.at("full"), "late"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ends while it is written: %v", err)
	}
	s.holds("full", strings.Repeat("x", 100))
	s.tidy(".")

	// Of what fails nothing is left.
	s.file("some/file", "")
	for _, path := range []string{"x/y/" + strings.Repeat("n", 300), "some/y/" + strings.Repeat("n", 300)} {
		s.refused(s.Write(t.Context(), s.at(path), "x"), client.FileFailed)
	}
	for _, dir := range []string{"x", "some/y"} {
		if _, err := os.Lstat(s.at(dir)); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
	s.holds("some/file", "")
}

// ending is a context that has ended once it has been asked so often.
type ending struct {
	context.Context
	calls int
}

func (e *ending) Err() error {
	if e.calls--; e.calls < 0 {
		return context.Canceled
	}
	return nil
}

// What is held in memory at once is bounded.
func TestWorkspaceBoundsMemory(t *testing.T) {
	s := newSite(t, client.WorkspaceOptions{})
	s.file("file", "one\n")
	synctest.Test(t, func(t *testing.T) {
		w, err := client.OpenWorkspace(s.Dir(), nil)
		require(t, err)
		defer w.Close()
		var reading atomic.Int32
		release := make(chan struct{})
		for range 10 {
			go func() { // ends once it is released
				first := true
				w.Read(blocking{t.Context(), func() {
					if !first { // asked before there is a place
						reading.Add(1)
						<-release
						reading.Add(-1)
					}
					first = false
				}}, s.at("file"), nil, nil)
			}()
		}
		synctest.Wait()
		if n := reading.Load(); n != 4 {
			t.Errorf("%d are read at once", n)
		}
		close(release)
		synctest.Wait()
	})
}

// blocking is a context that does something each time it is asked.
type blocking struct {
	context.Context
	asked func()
}

func (b blocking) Err() error {
	b.asked()
	return b.Context.Err()
}

func TestWorkspaceLocate(t *testing.T) {
	s := newSite(t, client.WorkspaceOptions{})
	s.file("a/file", "")
	s.link("a", "link")
	s.link("../outside", "out")
	got := map[string]string{}
	for _, path := range []string{"link/file", "link/new/file", "a/../link/./file", "out/secret", "../x"} {
		at, err := s.Locate(s.at(path))
		if err != nil {
			at = err.(*client.FileError).Err.Error()
		}
		got[path] = strings.TrimPrefix(at, s.Dir())
	}
	want := map[string]string{
		"link/file": "/a/file", "link/new/file": "/a/new/file", "a/../link/./file": "/a/file",
		"out/secret": "it is outside the workspace", "../x": "it is outside the workspace",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOpenWorkspace(t *testing.T) {
	for _, dir := range []string{"", "relative", filepath.Join(t.TempDir(), "none")} {
		if w, err := client.OpenWorkspace(dir, nil); err == nil {
			w.Close()
			t.Errorf("%q is a workspace", dir)
		}
	}
	if w, err := client.OpenWorkspace(t.TempDir(), &client.WorkspaceOptions{MaxBytes: -1}); err == nil {
		w.Close()
		t.Error("fewer than no bytes are a limit")
	}
	s := newSite(t, client.WorkspaceOptions{})
	s.Close()
	if _, err := s.Read(t.Context(), s.at("x"), nil, nil); err == nil {
		t.Error("it reads once it is closed")
	}
}
