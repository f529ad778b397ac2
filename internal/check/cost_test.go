package check

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

var kept []byte

func TestCost(t *testing.T) {
	r := &record{}
	for _, size := range []int{costBase / 2, costBase + 2*costByte} {
		Cost(r, 1)
		kept = make([]byte, size)
		r.cleanup()
	}
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "bytes were allocated for 1 of input") {
		t.Errorf("got %q", r.errors)
	}
}

// A test that hangs ends the program, which is this one, executed again.
func TestCostOfHang(t *testing.T) {
	if os.Getenv("CHECK_HANG") != "" {
		cost(t, 1, 1)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCostOfHang$")
	cmd.Env = append(os.Environ(), "CHECK_HANG=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("it passed")
	}
	Has(t, string(out), "panic: TestCostOfHang hangs", "check.TestCostOfHang(")
}
