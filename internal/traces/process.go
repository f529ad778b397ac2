package traces

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// Gone checks that the process has ended whose id is in a file. A zombie whose parent
// has not looked yet has.
func (tr *Traces) Gone(name string) {
	tr.Helper()
	if there := stateOf(tr.PID(name)); there != "" && !strings.HasPrefix(there, "Z") {
		tr.Errorf("process %d, which is in %s, is still there: %s", tr.PID(name), name, there)
	}
}

// Reaped checks the same of a child of ours, of which no zombie may be left.
func (tr *Traces) Reaped(name string) {
	tr.Helper()
	if there := stateOf(tr.PID(name)); there != "" {
		tr.Errorf("process %d, which is in %s, is still there: %s", tr.PID(name), name, there)
	}
}

// stateOf is what there is to say of a process, the letter of its state first where that
// is known; empty if there is none.
func stateOf(pid int) string {
	switch runtime.GOOS {
	case "linux":
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return ""
		}
		// After the name, which may hold anything.
		return strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	case "windows":
		return "" // there a process id cannot be asked after without a risk of error
	}
	if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
		return "alive"
	}
	return ""
}
