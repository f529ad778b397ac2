package leak

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Snapshot records what this process holds now. Descriptors of the runtime's own
// poller are left out: they come with the first use and stay.
func Snapshot() State {
	s := State{FDs: map[string]string{}, Children: map[int]string{}}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err != nil || strings.HasPrefix(to, "anon_inode:[eventpoll]") || strings.HasPrefix(to, "anon_inode:[eventfd]") {
			continue
		}
		s.FDs[fd.Name()] = to
	}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, f := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(f)
			comm, _ := os.ReadFile("/proc/" + f + "/comm")
			s.Children[pid] = strings.TrimSpace(string(comm))
		}
	}
	return s
}
