package proc

import (
	"io"
	"time"
)

// Sweep says how far the end of a child reaches.
type Sweep string

const (
	// SweepRun, the default, ends the child's group and then every process that
	// carries the run's id, whatever group or session it moved to.
	SweepRun Sweep = "run"
	// SweepGroup ends the child's group only: for a child whose daemon is shared
	// with other runs.
	SweepGroup Sweep = "group"
)

// Spec says what to start. It is only read by [Start] and may be used again.
type Spec struct {
	// Path is the program. With a slash in it, it is made absolute against this
	// process's directory, not against Dir; a bare name is looked up in the PATH of
	// Env. See [LookPath].
	Path string
	// Args are the arguments without the program's name, passed on literally.
	Args []string
	// Dir is the child's directory: absolute, existing, and one that can be
	// entered. Its symlinks are resolved. See [CheckDir].
	Dir string
	// Env is the child's whole environment; nothing is inherited beside it. Of
	// several entries for one name the last counts. PWD is set to Dir and RunID is
	// appended to [RunVariable].
	Env []string
	// RunID is this run's element of [RunVariable]. It must be unique on the machine
	// and hold no colon; empty: a random one.
	RunID string

	// MergeStderr makes the child's stderr its stdout, so that what it writes stays in
	// order. Stderr and StderrTail get nothing then.
	MergeStderr bool
	// Stderr, if not nil, receives the child's stderr as it comes, after Filter, one
	// call at a time. While it blocks, 64 KiB wait for it, and then the child's stderr
	// is held back until the child exits; after an error or a panic it is not called
	// again. Either is told in [Report.StderrErr]. A writer that is only slow gets
	// everything: the end waits three seconds for it, unless Kill is called. One that
	// blocks longer may still be called afterwards.
	Stderr io.Writer
	// StderrTail bounds what [Process.StderrTail] keeps, in bytes; 0: 64 KiB.
	StderrTail int
	// Filter, if not nil, is put in front of the tail and of Stderr, to take
	// secrets out before anything is cut. It is closed when stderr has ended. It must
	// not block; after a panic in it nobody is told any more of stderr.
	Filter func(io.Writer) io.WriteCloser

	// Sweep is SweepRun if empty.
	Sweep Sweep
}

const defaultTail = 64 << 10

// Graces are how long each rung of the ladder is waited for before the next one.
// A zero grace is no wait at all.
type Graces struct {
	EOF  time.Duration // after stdin was closed
	Term time.Duration // after SIGTERM to the group; not used on Windows
	Kill time.Duration // after SIGKILL to the group, and once more in the sweep
}
