package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Start starts a child as spec says. If it fails nothing is left: no process, no
// descriptor, no goroutine. What can be checked is checked before anything is
// spawned, and a ctx that is already done spawns nothing; afterwards ctx means
// nothing to the child. What is wrong with spec is an [*Error].
//
// The child gets stdin, stdout and stderr as pipes, on Linux the life-line, and no
// other descriptor. To that end every descriptor of this process above 2 is marked
// close-on-exec, as all are that Go has opened itself; os/exec's ExtraFiles are not
// touched by that, but a program that passes a descriptor on by clearing that flag
// and calling exec directly must clear it after the last Start.
func Start(ctx context.Context, spec Spec) (_ *Process, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	argv, err := check(&spec)
	if err != nil {
		return nil, err
	}

	select {
	case starting <- struct{}{}:
		defer func() { <-starting }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var ours, theirs files
	defer func() {
		theirs.close()
		if err != nil {
			ours.close()
		}
	}()
	stdinR, stdinW, err := inPipe()
	if err != nil {
		return nil, err
	}
	theirs, ours = append(theirs, stdinR), append(ours, stdinW)
	stdoutR, stdoutW, err := outPipe()
	if err != nil {
		return nil, err
	}
	theirs, ours = append(theirs, stdoutW), append(ours, stdoutR)
	stderrR, stderrW, err := outPipe()
	if err != nil {
		return nil, err
	}
	theirs, ours = append(theirs, stderrW), append(ours, stderrR)

	stdio := theirs
	if spec.MergeStderr {
		stdio = files{stdinR, stdoutW, stdoutW} // and the pipe that is there for it is at its end at once
	}
	closeOnExec()
	family, err := spawn(ctx, spec, argv, stdio)
	if err != nil {
		return nil, err
	}

	p := &Process{
		PID:     family.proc.Pid,
		Path:    spec.Path,
		Dir:     spec.Dir,
		family:  family,
		stdin:   stdinW,
		stdout:  &output{file: stdoutR},
		stderr:  &output{file: stderrR},
		tail:    newTail(spec.StderrTail),
		drained: make(chan struct{}),
		exited:  make(chan struct{}),
		hurry:   make(chan struct{}),
	}
	family.exited = p.exited
	p.sink = newStderrSink(p.tail, spec.Stderr)
	go p.drain(spec.Filter)
	go p.watch()
	return p, nil
}

// starting is taken while the child's ends of its pipes are open in this process. Another
// child that is begun then has them until its exec has closed them, which is later than its
// parent goes on: what is written to an agent that has closed its stdin would be taken, and
// lost, and its answer waited for in vain.
var starting = make(chan struct{}, 1)

// check refuses what cannot be started, completes spec and returns the child's argv.
func check(spec *Spec) (argv []string, err error) {
	if spec.Dir, err = CheckDir(spec.Dir); err != nil {
		return nil, err
	}
	if spec.Env, spec.RunID, err = childEnv(*spec); err != nil {
		return nil, err
	}
	for i, arg := range spec.Args {
		if strings.ContainsRune(arg, 0) {
			// Only its position: an argument may be a secret.
			return nil, &Error{What: "argument", Name: strconv.Itoa(i + 1), Err: errNUL}
		}
	}
	name := spec.Path
	if spec.Path, err = LookPath(name, spec.Env); err != nil {
		return nil, err
	}
	if hasSeparator(name) {
		name = spec.Path // a relative one would mean another file in the child's directory
	}
	if err := checkScript(spec.Path, spec.Dir, spec.Env); err != nil {
		return nil, err
	}
	switch spec.Sweep {
	case "":
		spec.Sweep = SweepRun
	case SweepRun, SweepGroup:
	default:
		return nil, &Error{What: "sweep mode", Name: string(spec.Sweep), Err: errors.New("is neither run nor group")}
	}
	if spec.StderrTail <= 0 {
		spec.StderrTail = defaultTail
	}
	if spec.Filter == nil {
		spec.Filter = pass
	}
	return append([]string{name}, spec.Args...), nil
}

// startProcess is os.StartProcess with errors that explain, and patient with a program file that is still open
// for writing in another process: one that this program has forked while it wrote
// the file and that has not come to its own exec yet (https://go.dev/issue/22315).
func startProcess(ctx context.Context, path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		proc, err := os.StartProcess(path, argv, attr)
		if err == nil {
			return proc, nil
		}
		if errors.Is(err, syscall.E2BIG) {
			return nil, &Error{What: "command", Name: path, Err: fmt.Errorf("%w: %s", syscall.E2BIG, tooBig(argv, attr.Env))}
		}
		if !errors.Is(err, syscall.ETXTBSY) || wait > 64*time.Millisecond {
			return nil, explain(path, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// files are closed together.
type files []*os.File

func (fs files) close() {
	for _, f := range fs {
		f.Close()
	}
}
