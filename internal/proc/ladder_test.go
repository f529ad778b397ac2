package proc

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// climbed is what one way up the ladder comes to.
type climbed struct {
	Child, Group Rung
	Taken        []Rung
	After        time.Duration
}

// The three graces of the tests; all different, so that the sum tells which were
// waited for.
const (
	eof  = 6 * time.Second
	term = 3 * time.Second
	kill = 2 * time.Second
)

func TestLadder(t *testing.T) {
	const never = time.Hour
	type after = map[Rung]time.Duration // from the rung until something is gone
	for _, test := range []struct {
		name         string
		child, group after         // what ends them, and how long it takes
		hurry        time.Duration // when Kill is called; 0: not
		want         climbed
	}{
		{"gone before", after{RungExit: 0}, after{RungExit: 0}, 0, climbed{RungExit, RungExit, nil, 0}},
		{"at once on EOF", after{RungEOF: 0}, after{RungEOF: 0}, 0,
			climbed{RungEOF, RungEOF, []Rung{RungEOF}, 0}},
		{"a second after EOF", after{RungEOF: time.Second}, after{RungEOF: time.Second}, 0,
			climbed{RungEOF, RungEOF, []Rung{RungEOF}, time.Second}},
		{"a helper is asked after the leader went on EOF", after{RungEOF: 0}, after{RungTerm: 0}, 0,
			climbed{RungEOF, RungTerm, []Rung{RungEOF, RungTerm}, eof}},
		{"deaf to EOF", after{RungTerm: 0}, after{RungTerm: 0}, 0,
			climbed{RungTerm, RungTerm, []Rung{RungEOF, RungTerm}, eof}},
		{"deaf to SIGTERM", after{RungKill: 0}, after{RungKill: 0}, 0,
			climbed{RungKill, RungKill, []Rung{RungEOF, RungTerm, RungKill}, eof + term}},
		{"deaf to everything", after{RungExit: never}, after{RungExit: never}, 0,
			climbed{"", "", []Rung{RungEOF, RungTerm, RungKill}, eof + term + kill}},
		{"only the group is", after{RungTerm: time.Second}, after{RungExit: never}, 0,
			climbed{RungTerm, "", []Rung{RungEOF, RungTerm, RungKill}, eof + term + kill}},
		{"Kill first", after{RungKill: 0}, after{RungKill: 0}, -1,
			climbed{RungKill, RungKill, []Rung{RungKill}, 0}},
		{"Kill in the first wait", after{RungKill: 0}, after{RungKill: 0}, time.Second,
			climbed{RungKill, RungKill, []Rung{RungEOF, RungKill}, time.Second}},
		{"Kill in the second wait", after{RungKill: 0}, after{RungKill: 0}, eof + time.Second,
			climbed{RungKill, RungKill, []Rung{RungEOF, RungTerm, RungKill}, eof + time.Second}},
		{"Kill while only the group is left", after{RungEOF: 0}, after{RungKill: 0}, time.Second + time.Millisecond,
			climbed{RungEOF, RungKill, []Rung{RungEOF, RungKill}, time.Second + time.Millisecond}},
		{"Kill does not shorten the last wait", after{RungKill: time.Second}, after{RungKill: time.Second}, -1,
			climbed{RungKill, RungKill, []Rung{RungKill}, time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exited, groupGone, hurry := make(chan struct{}), make(chan struct{}), make(chan struct{})
				var got climbed
				happens := func(rung Rung) {
					if d, ok := test.child[rung]; ok && d != never {
						time.AfterFunc(d, func() { close(exited) })
					}
					if d, ok := test.group[rung]; ok && d != never {
						time.AfterFunc(d, func() { close(groupGone) })
					}
					synctest.Wait()
				}
				take := func(rung Rung) func() {
					return func() {
						got.Taken = append(got.Taken, rung)
						happens(rung)
					}
				}
				l := ladder{
					exited: exited,
					hurry:  hurry,
					gone:   func() bool { return isClosed(exited) && isClosed(groupGone) },
					steps: []step{
						{RungEOF, take(RungEOF), eof},
						{RungTerm, take(RungTerm), term},
						{RungKill, take(RungKill), kill},
					},
				}
				if test.hurry < 0 {
					close(hurry)
				} else if test.hurry > 0 {
					time.AfterFunc(test.hurry, func() { close(hurry) })
				}
				begin := time.Now()
				happens(RungExit)
				got.Child, got.Group = l.climb()
				got.After = time.Since(begin)
				// A group without a leader is looked at now and then.
				if over := got.After - test.want.After; over > 0 && over <= lastPause {
					got.After = test.want.After
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}
