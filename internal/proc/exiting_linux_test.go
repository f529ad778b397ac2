package proc

import (
	"io"
	"os"
	"testing"
	"time"
)

// The end of stdout tells of an exit or of nothing: a child that has closed its
// stdout and lives is not exiting, one that has ended it by exiting is, until that is
// known.
func TestExiting(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		lives  bool
	}{
		"closed its stdout": {"exec >&-; read line", true},
		"exited":            {"exit 3", false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Start(t.Context(), Spec{Path: "/bin/sh", Args: []string{"-c", tt.script}, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill(time.Minute)
			if _, err := io.Copy(io.Discard, p.Stdout()); err != nil {
				t.Fatal(err)
			}
			exiting := p.Exiting() // first: it may have exited in between
			if exited := isClosed(p.exited); (exiting || exited) == tt.lives {
				t.Errorf("exiting %v, exited %v; want it to live: %v", exiting, exited, tt.lives)
			}
		})
	}
}

func init() {
	// headless closes its stdout and ends its first thread; the others go on.
	children["headless"] = func([]string) {
		os.Stdout.Close()
		endFirstThread()
	}
}

// A process whose first thread has ended while others run is not on its way out.
func TestFirstThreadEndsAlone(t *testing.T) {
	p := start(t, child(t, "headless"))
	if _, err := io.Copy(io.Discard, p.Stdout()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its first thread has ended", func() bool { return state(p.PID) == "Z" })
	if p.Exiting() {
		t.Error("it is taken for one that exits")
	}
	if exit := p.Kill(hang).Exit; exit.Signal != "SIGKILL" {
		t.Errorf("exit %+v", exit)
	}
}
