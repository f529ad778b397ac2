package client_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/client"
)

// TestWorkspaceRace swaps a directory or a file for a link to the outside, and back,
// again and again, while the workspace reads and writes.
func TestWorkspaceRace(t *testing.T) {
	if unix.Access("/dev/shm", unix.W_OK) == nil {
		t.Setenv("TMPDIR", "/dev/shm") // a write waits for the disk, and a thousand would for long
	}
	races := []struct {
		name, path string
		swap       func(s *site) // there and back
	}{
		{"directory", "sub/secret", func(s *site) {
			unix.Renameat2(unix.AT_FDCWD, s.at("link"), unix.AT_FDCWD, s.at("sub"), unix.RENAME_EXCHANGE)
		}},
		{"directory above", "sub/sub/secret", func(s *site) {
			unix.Renameat2(unix.AT_FDCWD, s.at("link"), unix.AT_FDCWD, s.at("sub"), unix.RENAME_EXCHANGE)
		}},
		{"file", "secret", func(s *site) {
			os.Remove(s.at("secret"))
			os.Symlink("../outside/secret", s.at("secret"))
			os.Remove(s.at("secret"))
			os.WriteFile(s.at("new"), []byte("inside"), 0o666)
			os.Rename(s.at("new"), s.at("secret")) // whole, like all that may be read
		}},
		{"FIFO", "secret", func(s *site) {
			if !isFIFO(s.at("secret")) && !isFIFO(s.at("fifo")) { // a write has taken its place
				os.Remove(s.at("fifo"))
				unix.Mkfifo(s.at("fifo"), 0o666)
			}
			unix.Renameat2(unix.AT_FDCWD, s.at("fifo"), unix.AT_FDCWD, s.at("secret"), unix.RENAME_EXCHANGE)
		}},
	}
	for _, race := range races {
		t.Run(race.name, func(t *testing.T) {
			s := newSite(t, client.WorkspaceOptions{Write: true})
			require(t, os.Mkdir(s.outside+"/sub", 0o777)) // so that all paths would lead to something
			require(t, os.Link(s.outside+"/secret", s.outside+"/sub/secret"))
			s.file(race.path, "inside")
			s.link("../outside", "link")
			stop := make(chan struct{})
			var swapping sync.WaitGroup
			swapping.Go(func() { // ends when stop is closed
				for {
					race.swap(s)
					select {
					case <-stop:
						return
					default:
					}
				}
			})
			stuck := time.AfterFunc(hang, func() { panic("it waits for somebody at the other end of a FIFO") })
			defer stuck.Stop()
			in, out := 0, 0
			for i := 0; i < 200_000 && (i < 5_000 || in == 0 || out == 0); i++ {
				stuck.Reset(hang)
				text, err := s.Read(t.Context(), s.at(race.path), nil, nil)
				if err == nil && !strings.HasPrefix(text, "inside") {
					t.Errorf("at attempt %d it read %q", i, text)
					break
				}
				if err == nil {
					in++
				} else {
					out++
				}
				s.Write(t.Context(), s.at(race.path), fmt.Sprint("inside ", i))
			}
			close(stop)
			swapping.Wait()
			if in == 0 || out == 0 {
				t.Errorf("there was no race: %d reads inside, %d refused", in, out)
			}
			require(t, os.RemoveAll(s.outside+"/sub"))
			s.untouched()
			s.tidy(".")
			s.tidy("sub")
		})
	}
}

func isFIFO(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// On the way to a file no link is followed that has just taken the place of what was
// looked at, to what is inside neither.
func TestWorkspaceEnterRace(t *testing.T) {
	for _, race := range []struct {
		name string
		is   func(s *site) (bool, error) // the one that was looked at
	}{
		{"directory", func(s *site) (bool, error) {
			dir, err := s.Enter("sub")
			if err != nil {
				return false, err
			}
			defer dir.Close()
			_, err = dir.Stat("this")
			return err == nil, nil
		}},
		{"file", func(s *site) (bool, error) {
			f, err := s.OpenHere("sub")
			if err != nil {
				return false, err
			}
			defer f.Close()
			text, err := io.ReadAll(f)
			return string(text) == "this", err
		}},
	} {
		t.Run(race.name, func(t *testing.T) {
			s := newSite(t, client.WorkspaceOptions{})
			if race.name == "file" {
				s.file("sub", "this")
				s.file("other", "other")
			} else {
				s.file("sub/this", "")
				s.file("other/file", "")
			}
			s.link("other", "link")
			stop := make(chan struct{})
			var swapping sync.WaitGroup
			swapping.Go(func() { // ends when stop is closed
				for {
					unix.Renameat2(unix.AT_FDCWD, s.at("link"), unix.AT_FDCWD, s.at("sub"), unix.RENAME_EXCHANGE)
					select {
					case <-stop:
						return
					default:
					}
				}
			})
			in, out := 0, 0
			for i := 0; i < 200_000 && (i < 20_000 || in == 0 || out == 0); i++ {
				switch same, err := race.is(s); {
				case err != nil:
					out++
				case same:
					in++
				default:
					t.Errorf("at attempt %d it is another one", i)
					i = 200_000
				}
			}
			close(stop)
			swapping.Wait()
			if in == 0 || out == 0 {
				t.Errorf("there was no race: %d times the same, %d refused", in, out)
			}
		})
	}
}
