// Package leak checks that a test binary leaves nothing behind: no goroutine, no
// file descriptor, no child process.
//
// Every package whose tests start goroutines or processes has
//
//	func TestMain(m *testing.M) { leak.Main(m) }
//
// A binary that can also be re-executed as an agent checks for that first.
package leak

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// settle bounds how long a count may take to come down after the last test: the
// kernel reaps and the runtime's poller lets go a moment after Close returns. It
// only delays the report of a real leak.
const settle = 5 * time.Second

// Main runs the tests of m, a *testing.M or what runs one, and exits. The status is 1 if
// they passed but a goroutine, a descriptor or a child process is left that was not there
// before.
func Main(m interface{ Run() int }) {
	before := Snapshot()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(goleak.IgnoreCurrent()); err != nil {
			fmt.Fprintln(os.Stderr, "leak:", err)
			code = 1
		}
		if err := before.Check(); err != nil {
			fmt.Fprintln(os.Stderr, "leak:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// State is what a process holds at one moment, where the system can tell.
type State struct {
	// FDs maps each open descriptor to what it refers to; nil where unknown.
	FDs map[string]string
	// Children maps the pid of each child, zombies too, to its command; nil
	// where unknown.
	Children map[int]string
}

// Check polls until the process holds nothing that s does not, and otherwise
// returns an error that names what is left.
func (s State) Check() error {
	deadline := time.Now().Add(settle)
	for {
		err := s.compare(Snapshot())
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (s State) compare(now State) error {
	for pid, cmd := range now.Children {
		if _, ok := s.Children[pid]; !ok {
			return fmt.Errorf("child process %d is left: %s", pid, cmd)
		}
	}
	// A number may be used again for something else of the same sort, so the
	// count decides and the list only explains.
	if len(now.FDs) > len(s.FDs) {
		return fmt.Errorf("%d descriptors are open, %d were before: %v", len(now.FDs), len(s.FDs), now.FDs)
	}
	return nil
}
