//go:build unix

package client_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/client"
)

// TestWorkspaceAttacks is what an agent may try on its way out of a workspace, one test
// for each. docs/security.md lists them by name.
func TestWorkspaceAttacks(t *testing.T) {
	attacks := []struct {
		name string
		try  func(s *site)
	}{
		{"dot-dot", func(s *site) {
			for _, path := range []string{"../outside/secret", "a/../../outside/secret", "..//outside/secret", "./.././outside/secret", "..", "a/b/c/../../../../outside/secret"} {
				s.both(s.at(path), client.FileOutside)
			}
		}},
		{"absolute path elsewhere", func(s *site) {
			s.both(s.outside+"/secret", client.FileOutside)
			s.both("/etc/passwd", client.FileOutside)
			s.both("/", client.FileOutside)
		}},
		{"directory whose name begins as ours", func(s *site) {
			require(s.T, os.Mkdir(s.Dir()+"-evil", 0o777))
			require(s.T, os.WriteFile(s.Dir()+"-evil/secret", []byte(secret), 0o666))
			s.both(s.Dir()+"-evil/secret", client.FileOutside)
			s.both(s.Dir()+"/../work-evil/secret", client.FileOutside)
		}},
		{"relative path", func(s *site) { s.both("secret", client.FileInvalid) }},
		{"file URI", func(s *site) { s.both("file://"+s.outside+"/secret", client.FileInvalid) }},
		{"home directory", func(s *site) { s.both("~/.ssh/id_rsa", client.FileInvalid) }},
		{"NUL in the path", func(s *site) { s.both(s.at("a\x00/../../outside/secret"), client.FileInvalid) }},
		{"endless path", func(s *site) { s.both(s.at(strings.Repeat("a/", 100_000)+"x"), client.FileInvalid) }},
		{"name that is too long", func(s *site) { s.both(s.at(strings.Repeat("a", 300)), client.FileFailed) }},
		{"deep tree", func(s *site) {
			deep := strings.Repeat("d/", 1000) + "file"
			if err := s.Write(s.Context(), s.at(deep), "deep"); err != nil {
				s.Errorf("within the limits it is a path like any other: %v", err)
			}
		}},
		{"symlink to a file", func(s *site) {
			s.link("../outside/secret", "link")
			s.both(s.at("link"), client.FileOutside)
		}},
		{"absolute symlink to a file", func(s *site) {
			s.link(s.outside+"/secret", "link")
			s.both(s.at("link"), client.FileOutside)
		}},
		{"symlink to a directory", func(s *site) {
			s.link("../outside", "link")
			s.both(s.at("link/secret"), client.FileOutside)
			s.both(s.at("link/new"), client.FileOutside)
			s.both(s.at("link/new/new"), client.FileOutside)
		}},
		{"symlink to the root", func(s *site) {
			s.link("/", "link")
			s.both(s.at("link"+s.outside+"/secret"), client.FileOutside)
		}},
		{"chain of symlinks", func(s *site) {
			s.link("two", "one")
			s.link("sub/../three", "two")
			require(s.T, os.Mkdir(s.at("sub"), 0o777))
			s.link("../outside/secret", "three")
			s.both(s.at("one"), client.FileOutside)
		}},
		{"symlink after symlinks that add up", func(s *site) {
			require(s.T, os.MkdirAll(s.at("a/b"), 0o777))
			s.link("a/b", "deep")
			s.link("..", "a/b/up")
			s.both(s.at("deep/up/../../outside/secret"), client.FileOutside)
		}},
		{"symlink loop", func(s *site) {
			s.link("b", "a")
			s.link("a", "b")
			s.link("self", "self")
			s.both(s.at("a"), client.FileInvalid)
			s.both(s.at("self/x"), client.FileInvalid)
		}},
		{"dangling symlink", func(s *site) {
			s.link("../outside/new", "link")
			s.both(s.at("link"), client.FileOutside)
		}},
		{"dangling symlink to a new directory", func(s *site) {
			s.link("../outside/new", "link")
			s.both(s.at("link/new"), client.FileOutside)
		}},
		{"temporary file's name taken by a symlink", func(s *site) {
			// It cannot be guessed; should it be, nobody's file is written to.
			s.file("other", "old")
			s.link("other", ".errand-guessed.tmp")
			if err := s.WriteAs(".errand-guessed.tmp", s.at("file"), "text"); !errors.Is(err, fs.ErrExist) {
				s.Errorf("it was written: %v", err)
			}
			s.holds("other", "old")
			require(s.T, os.Remove(s.at(".errand-guessed.tmp")))
		}},
		{"hard link", func(s *site) {
			require(s.T, os.Link(s.outside+"/secret", s.at("link")))
			require(s.T, s.Write(s.Context(), s.at("link"), "changed"))
			s.holds("link", "changed") // and the secret is untouched
		}},
		{"FIFO", func(s *site) {
			require(s.T, syscall.Mkfifo(s.at("fifo"), 0o666))
			s.both(s.at("fifo"), client.FileNoText) // at once, though nobody is at its other end
		}},
		{"symlink to a FIFO", func(s *site) {
			require(s.T, syscall.Mkfifo(s.at("fifo"), 0o666))
			s.link("fifo", "link")
			s.both(s.at("link"), client.FileNoText)
		}},
		{"socket", func(s *site) {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			require(s.T, err)
			defer unix.Close(fd)
			back, _ := os.Getwd()
			s.Chdir(s.Dir()) // the name of a socket has to be short
			require(s.T, unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}))
			s.Chdir(back)
			s.both(s.at("socket"), client.FileNoText)
		}},
		{"device", func(s *site) {
			if err := unix.Mknod(s.at("zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
				s.Skipf("it takes root to make one: %v", err)
			}
			s.both(s.at("zero"), client.FileNoText)
		}},
		{"symlink to a device", func(s *site) {
			s.link("/dev/zero", "zero")
			s.both(s.at("zero"), client.FileOutside)
		}},
		{"directory", func(s *site) {
			require(s.T, os.Mkdir(s.at("sub"), 0o777))
			s.both(s.at("sub"), client.FileNoText)
		}},
		{"huge file", func(s *site) {
			f, err := os.Create(s.at("huge"))
			require(s.T, err)
			defer f.Close()
			require(s.T, f.Truncate(1<<40))
			_, err = s.Read(s.Context(), s.at("huge"), nil, nil)
			s.refused(err, client.FileTooLarge)
		}},
		{"huge content", func(s *site) {
			s.refused(s.Write(s.Context(), s.at("huge"), strings.Repeat("x", 1<<20+1)), client.FileTooLarge)
			if _, err := os.Lstat(s.at("huge")); err == nil {
				s.Error("some of it was written")
			}
		}},
		{"file that we may not write", func(s *site) {
			s.file("mine", "old")
			require(s.T, os.Chmod(s.at("mine"), 0o444))
			asOrdinaryUser(s.T, func() {
				s.refused(s.Write(s.Context(), s.at("mine"), "new"), client.FileFailed)
				if err := s.Write(s.Context(), s.at("new"), "new"); err != nil {
					s.Errorf("beside it: %v", err)
				}
			}, s.Dir(), s.at("mine"))
			s.holds("mine", "old")
		}},
		{"file of another user", func(s *site) {
			s.file("theirs", "old")
			if err := os.Chown(s.at("theirs"), 12345, 54321); err != nil {
				s.Skipf("it takes root to make one: %v", err)
			}
			require(s.T, s.Write(s.Context(), s.at("theirs"), "new"))
			info, err := os.Stat(s.at("theirs"))
			require(s.T, err)
			if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 12345 || stat.Gid != 54321 {
				s.Errorf("it became one of %d:%d", stat.Uid, stat.Gid)
			}
		}},
		{"setuid bit", func(s *site) {
			s.file("tool", "old")
			require(s.T, os.Chmod(s.at("tool"), 0o755|os.ModeSetuid|os.ModeSetgid))
			require(s.T, s.Write(s.Context(), s.at("tool"), "new"))
			if info, _ := os.Stat(s.at("tool")); info.Mode() != 0o755 {
				s.Errorf("its mode became %v", info.Mode())
			}
		}},
		{"other case", func(s *site) {
			s.both(strings.Replace(s.at("../OUTSIDE/secret"), "/work/", "/WORK/", 1), client.FileOutside)
		}},
		{"backslashes", func(s *site) {
			require(s.T, s.Write(s.Context(), s.at(`..\outside\new`), "a name like any other here"))
		}},
		{"/proc/self/root", func(s *site) {
			w, err := client.OpenWorkspace("/proc/self", nil)
			if err != nil {
				s.Skip("no /proc")
			}
			defer w.Close()
			proc := &site{T: s.T, Workspace: w}
			for _, path := range []string{"root/etc/passwd", "cwd/go.mod", "fd/0", "exe", "task/../root/etc/passwd"} {
				if _, err := proc.Read(s.Context(), proc.at(path), nil, nil); err == nil {
					s.Errorf("%s was read", path)
				}
			}
		}},
		{"read-only workspace", func(s *site) {
			only := newSite(s.T, client.WorkspaceOptions{})
			only.file("file", "old")
			only.refused(only.Write(s.Context(), only.at("file"), "new"), client.FileReadOnly)
			only.refused(only.Write(s.Context(), only.at("new/file"), "new"), client.FileReadOnly)
			only.holds("file", "old")
			if _, err := os.Lstat(only.at("new")); err == nil {
				s.Error("a directory was made")
			}
		}},
		{"workspace renamed", func(s *site) {
			s.file("file", "text")
			require(s.T, os.Rename(s.Dir(), s.Dir()+"-moved"))
			require(s.T, os.Symlink(s.outside, s.Dir()))
			require(s.T, s.Write(s.Context(), s.at("new"), "x")) // into what was opened, wherever it is
			if _, err := s.Read(s.Context(), s.at("secret"), nil, nil); err == nil {
				s.Error("it reads through the new link")
			}
		}},
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			s := newSite(t, client.WorkspaceOptions{Write: true, MaxBytes: 1 << 20})
			a.try(s)
			s.untouched()
			s.tidy("*")
		})
	}
}

// both tries to read and to write.
func (s *site) both(path string, why client.FileReason) {
	s.Helper()
	_, err := s.Read(s.Context(), path, nil, nil)
	s.refused(err, why)
	s.refused(s.Write(s.Context(), path, "pwned"), why)
}
