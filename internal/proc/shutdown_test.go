package proc

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/leak"
)

// All callers, at once and later, of Shutdown and of Kill, get one report.
func TestShutdownIsOne(t *testing.T) {
	p := start(t, child(t, "cat"))
	reports := make([]Report, 20)
	var all sync.WaitGroup
	for i := range reports {
		all.Go(func() {
			if i%5 == 4 {
				<-p.Exited()
				reports[i] = p.Kill(hang)
			} else {
				reports[i] = p.Shutdown(patient)
			}
		})
	}
	all.Wait()
	reports = append(reports, p.Shutdown(Graces{}), p.Kill(0))
	for _, got := range reports {
		checkReport(t, got, Report{Exit: Exit{}, Rung: RungEOF, GroupRung: RungEOF})
	}
}

// Kill does not wait for the graces of a Shutdown that is under way.
func TestKillDuringShutdown(t *testing.T) {
	p := start(t, child(t, "deaf"))
	lines(t, p)()
	done := make(chan Report)
	go func() { done <- p.Shutdown(Graces{EOF: time.Hour, Term: time.Hour, Kill: hang}) }()
	eventually(t, "stdin is closed", func() bool {
		_, err := p.Stdin().Write(nil)
		return err != nil
	})
	killed := p.Kill(hang)
	if killed.Rung != RungKill || killed.GroupRung != RungKill {
		t.Errorf("report: %+v", killed)
	}
	if diff := cmp.Diff(killed, <-done); diff != "" {
		t.Errorf("reports differ (-Kill +Shutdown):\n%s", diff)
	}
}

func TestKill(t *testing.T) {
	p := start(t, child(t, "cat"))
	if got := p.Kill(hang); got.Rung != RungKill || got.GroupRung != RungKill {
		t.Errorf("report: %+v", got)
	}
}

// A child that has exited is not waited for, whatever its exit was.
func TestShutdownAfterExit(t *testing.T) {
	p := start(t, child(t, "exit", "9"))
	wait(t, p)
	checkReport(t, p.Shutdown(patient), Report{Exit: Exit{Code: 9}, Rung: RungExit, GroupRung: RungExit})
}

// Whoever does not want to wait gets a report at once, of a child that may still be
// there; when it goes, everything that was held goes with it.
func TestShutdownWithoutGrace(t *testing.T) {
	before := leak.Snapshot()
	p := start(t, child(t, "deaf"))
	lines(t, p)()
	p.Shutdown(Graces{})
	p.Stdout().Close()
	wait(t, p)
	if err := before.Check(); err != nil {
		t.Error(err)
	}
}
