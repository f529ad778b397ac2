package conform

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/errand-acp/errand/internal/proc"
)

// survivors lists the processes that belong to a run, but for its first one: those that
// carry its id in their environment, or are in its group.
func survivors(runID string, leader int) (list []string, known bool) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return nil, false
	}
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == leader || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile(dir + "/stat")
		_, rest, _ := strings.Cut(string(stat), ")")
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 {
			rest = string(stat[i+1:])
		}
		// state, parent, group
		fields := strings.Fields(rest)
		if err != nil || len(fields) < 3 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		if fields[2] != strconv.Itoa(leader) && !carries(dir, runID) {
			continue
		}
		name, _ := os.ReadFile(dir + "/comm")
		list = append(list, strings.TrimSpace(string(name))+" (pid "+strconv.Itoa(pid)+")")
	}
	return list, true
}

func carries(dir, runID string) bool {
	environ, err := os.ReadFile(dir + "/environ")
	if err != nil || !bytes.Contains(environ, []byte(runID)) {
		return false
	}
	for entry := range strings.SplitSeq(string(environ), "\x00") {
		if runs, ok := strings.CutPrefix(entry, proc.RunVariable+"="); ok && slices.Contains(strings.Split(runs, ":"), runID) {
			return true
		}
	}
	return false
}
