package ptrace

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestKeepFromExiting(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	release, err := KeepFromExiting(cmd.Process.Pid)
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		t.Skipf("no process can be traced here: %v", err)
	}
	cmd.Process.Kill()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "t") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is not kept: %s", stat)
		}
	}
	release()
	release()
	cmd.Wait() // hangs, if it is still kept
}
