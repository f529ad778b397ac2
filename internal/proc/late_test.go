package proc

import "testing"

// A child may outlast the grace of SIGKILL and be gone when the report is made: then
// that is what has ended it.
func TestGoneAfterTheGraces(t *testing.T) {
	for range 20 {
		p := start(t, child(t, "deaf"))
		lines(t, p)()
		r := p.Shutdown(Graces{})
		p.Stdout().Close()
		wait(t, p)
		want := RungKill
		if r.Exit == (Exit{Code: -1}) {
			want = "" // it was still there
		}
		if r.Rung != want {
			t.Errorf("exit %+v at rung %q, want %q", r.Exit, r.Rung, want)
		}
	}
}
