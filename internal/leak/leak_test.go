package leak

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func TestSnapshotSeesDescriptorsAndChildren(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc to look at")
	}
	before := Snapshot()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.compare(Snapshot()); err == nil || !strings.Contains(err.Error(), "descriptors") {
		t.Errorf("an open file: got %v, want a descriptor leak", err)
	}
	f.Close()
	if err := before.Check(); err != nil {
		t.Errorf("after close: %v", err)
	}

	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := before.compare(Snapshot()); err == nil || !strings.Contains(err.Error(), "sleep") {
		t.Errorf("a running child: got %v, want it named", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if err := before.Check(); err != nil {
		t.Errorf("after wait: %v", err)
	}
}
