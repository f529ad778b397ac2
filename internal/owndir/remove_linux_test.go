package owndir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that is at work there still, and swaps directories for links while they are
// looked at, does not have anything outside changed.
func TestRemoveWhileSwapped(t *testing.T) {
	for range 5 {
		dir, outside := made(t)
		var names []string
		for i := range 300 {
			name := filepath.Join(dir.Path(), fmt.Sprint("in", i))
			for _, err := range []error{os.MkdirAll(filepath.Join(name, "deep"), 0o700), os.Chmod(name, 0o500), os.Symlink(outside, name+"x")} {
				if err != nil {
					t.Fatal(err)
				}
			}
			names = append(names, name)
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { // ends when it is told, below
			for {
				for _, name := range names {
					select {
					case <-stop:
						return
					default:
						unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, name+"x", unix.RENAME_EXCHANGE)
					}
				}
			}
		})
		dir.Remove(t.Context()) // as far as it can be
		close(stop)
		wg.Wait()
		if dir.Check() != nil {
			continue // it is removed
		}
		if err := dir.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
