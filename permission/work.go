package permission

import "sync/atomic"

// maxWork is what may be spent on one call, in characters that are looked at, more or less:
// once on drawing its facts, and once on each pattern that may refuse it. A thousand words
// are far from it; a call that uses it up was made to, and is Incomplete.
const maxWork = 1 << 23

// work is what of it is left. Whatever grows faster than the call itself is paid for before
// it is done.
type work struct{ left atomic.Int64 }

func newWork() *work {
	w := &work{}
	w.left.Store(maxWork)
	return w
}

// spend pays for n characters, and reports false where nothing is left.
func (w *work) spend(n int) bool { return w.left.Add(-int64(n)) >= 0 }

// over reports whether it is used up.
func (w *work) over() bool { return w.left.Load() < 0 }
