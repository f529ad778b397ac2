// Package proc starts a child process, speaks to it through pipes of its own, and
// brings it to an end with everything it has started. It knows no protocol.
//
//	p, err := proc.Start(ctx, proc.Spec{
//		Path: "cat",
//		Dir:  "/tmp",
//		Env:  []string{"PATH=/usr/bin:/bin"},
//	})
//	if err != nil {
//		return err // nothing was left behind
//	}
//	io.WriteString(p.Stdin(), "hello\n")
//	...
//	report := p.Shutdown(proc.Graces{EOF: 6 * time.Second, Term: 3 * time.Second, Kill: 2 * time.Second})
//
// # What a child is given
//
// Three pipes, the directory and the environment that [Spec] names, a session of its
// own (so a group of its own and no terminal) and nothing else of this process. On
// Linux there is a fourth descriptor, the life-line below.
//
// # How it ends
//
// [Process.Shutdown] asks and then forces: EOF on stdin, SIGTERM and SIGCONT to the
// group, SIGKILL to the group, each followed by a wait that is over as soon as the
// whole group is gone. Then it sweeps up what the child has left behind outside its
// group: every process begun since the child that has the run's id in its
// ERRAND_RUN, or has the life-line, or is in the child's session, or was seen as its
// descendant. Where processes are begun faster than they can be looked at, or no
// descriptor is free to look with, it gives up after the last grace and says so.
//
// If this process dies first, by kill -9 too, the life-line ends the group. So it does
// where this process executes another program in its own place.
//
// # Limits
//
// Linux: a process is not found that has left the group and the session, has put away
// its environment or written over it (as programs do that show what they are at in
// place of their name), has closed the life-line, and was no descendant of the child
// any more when Shutdown began.
// One whose environment may not be read, because it is undumpable (a nested errand is)
// or another user's, is known by session or descent alone; else it is named in the
// report, as one that may be left. The life-line does not reach outside the group
// either, nor a child that became another user, nor one whose parent is killed within
// microseconds of starting it: they are left with the end of their stdin. A child that
// has exited remains a zombie until Shutdown, which keeps its number, the group's, from
// being given away.
//
// macOS and other Unix systems: there is a group, but neither life-line nor sweep,
// and waiting for a child holds a thread. Windows: a job object in place of group,
// life-line and sweep, and no SIGTERM rung. Neither was run where this was
// written: they are built and vetted only.
package proc
