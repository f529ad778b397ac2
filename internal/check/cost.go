package check

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

const (
	// longest is how long one input may take: a thousand times what it does take.
	longest = 10 * time.Second
	// costBase and costByte are how much may be allocated for an input of n bytes, whatever
	// they say.
	costBase, costByte = 16 << 20, 4 << 10
)

// Cost holds a fuzz target to what an input of n bytes may cost. It fails a test that
// allocates far more than n explains. One that is not over after ten seconds ends the
// program, with the stacks of all goroutines: `go test -fuzz` says "PASS" of a target
// that hangs until the end of its time.
func Cost(t testing.TB, n int) { cost(t, n, longest) }

func cost(t testing.TB, n int, longest time.Duration) {
	before := allocated()
	hung := time.AfterFunc(longest, func() {
		debug.SetTraceback("all")
		panic(t.Name() + " hangs")
	})
	t.Cleanup(func() {
		hung.Stop()
		if got, most := allocated()-before, uint64(costBase+n*costByte); got > most {
			t.Errorf("%d bytes were allocated for %d of input, more than %d", got, n, most)
		}
	})
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
