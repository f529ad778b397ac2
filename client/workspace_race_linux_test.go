package client_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

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
			os.WriteFile(s.at("secret"), []byte("inside"), 0o666)
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
			in, out := 0, 0
			for i := 0; i < 200_000 && (i < 5_000 || in == 0 || out == 0); i++ {
				text, err := s.Read(t.Context(), s.at(race.path), nil, nil)
				if text == secret {
					t.Errorf("at attempt %d it read what is outside", i)
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
