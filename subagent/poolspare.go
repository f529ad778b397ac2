package subagent

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/proc"
	"github.com/errand-acp/errand/stopreason"
)

// spare is a run that waits for its request, with what it was made of.
type spare struct {
	run  *acpRun
	born time.Time
	env  []string    // this process's, all of it: what is held back is told in the result
	dir  *os.File    // held open: what takes its place cannot be the same
	exe  os.FileInfo // of the file that runs; nil where it is not there

	// taken says that a run has it. It is set, under the pool's mu, before left is closed,
	// which is when it is no longer on its shelf.
	taken bool
	left  chan struct{}
}

// spare makes one for requests of that key. ctx is its life up to where it is ready.
func (p *acpProvider) spare(ctx context.Context, key poolKey) (_ *spare, err error) {
	s := &spare{left: make(chan struct{}), env: os.Environ()}
	if s.dir, err = os.Open(key.dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.dir.Close()
		}
	}()
	levels := &key.levels
	if key.levels < 0 {
		levels = nil
	}
	d, err := childDepth(p.opts.MaxDepth, levels)
	if err != nil {
		return nil, err
	}
	release, err := gateStart(ctx, p.cmd.Path)
	if err != nil {
		return nil, err
	}
	defer release()
	if s.run, err = p.ready(ctx, newWaiting(p.name), key.dir, d); err != nil {
		return nil, err
	}
	s.exe, _ = os.Stat(s.run.agent.Path())
	s.born = time.Now()
	return s, nil
}

// fresh reports whether an agent that was started now would be the same, and this one lives.
func (s *spare) fresh() bool {
	agent := s.run.agent
	if !agent.Running() {
		return false
	}
	then, err := s.dir.Stat()
	if err != nil {
		return false
	}
	dir, err := os.Stat(s.dir.Name())
	if err != nil || !os.SameFile(then, dir) {
		return false
	}
	path, err := s.run.provider.program()
	if err != nil || path != agent.Path() {
		return false
	}
	exe, err := os.Stat(path)
	if err != nil || s.exe == nil || !os.SameFile(s.exe, exe) || !s.exe.ModTime().Equal(exe.ModTime()) || s.exe.Size() != exe.Size() {
		return false
	}
	return slices.Equal(s.env, os.Environ())
}

// program is the file that an agent started now would run from.
func (p *acpProvider) program() (string, error) {
	policy := p.cmd.Inherit
	policy.Set = slices.Concat(policy.Set, p.cmd.Env)
	env, _ := envscrub.Scrub(os.Environ(), policy)
	return proc.LookPath(p.cmd.Path, env)
}

// begin gives the spare its request.
func (s *spare) begin(ctx context.Context, req Request) (Run, error) {
	s.dir.Close()
	a := s.run
	a.provider.accept(ctx, a.run, req)
	now := a.newResult(a.known.Dir)
	a.known.StartedAt, a.known.Labels, a.known.Prewarmed = now.StartedAt, now.Labels, true
	if err := a.agent.CheckPrompt(req.Prompt); err != nil {
		a.close(&a.known)
		a.amend(err, a.known.Exit)
		return nil, a.provider.notStarted(a.run, a.known, err)
	}
	return a.begin(), nil
}

// discard ends a spare that is nobody's.
func (s *spare) discard() {
	s.dir.Close()
	a := s.run
	a.close(&a.known)
	if a.audit.spoken() {
		// It was no run, but it has asked or done something.
		a.known.Stop, a.known.Empty = stopreason.Aborted, true
		a.audit.begin(&a.known)
		a.audit.end(&a.known)
	}
}
