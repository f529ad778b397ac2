package proc

import (
	"io"
	"os"
	"testing"
)

func init() {
	// alternates writes to stdout and stderr in turn.
	children["alternates"] = func([]string) {
		for range 3 {
			os.Stdout.WriteString("out ")
			os.Stderr.WriteString("err ")
		}
	}
}

func TestMergeStderr(t *testing.T) {
	spec := child(t, "alternates")
	spec.MergeStderr = true
	p := start(t, spec)
	got, err := io.ReadAll(p.Stdout())
	if want := "out err out err out err "; err != nil || string(got) != want {
		t.Errorf("stdout is %q, %v, want %q", got, err, want)
	}
	<-p.Exited()
	if tail, _ := p.StderrTail(); tail != "" {
		t.Errorf("the tail of stderr is %q", tail)
	}
}
