package client_test

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/errand-acp/errand/client"
)

const undumpableVariable = "ERRAND_TEST_UNDUMPABLE"

// It cannot be undone, so a process of its own does it: init comes before TestMain.
func init() {
	if os.Getenv(undumpableVariable) == "" {
		return
	}
	before, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	err := client.Undumpable()
	after, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if before != 1 || err != nil || after != 0 {
		println("dumpable", before, after)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestUndumpable(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), undumpableVariable+"=1", "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
