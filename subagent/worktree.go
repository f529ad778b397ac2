package subagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/worktree"
)

// WorktreeOptions are what Worktree may be told. The zero value, or nil, is the default.
type WorktreeOptions struct {
	// Parent is the directory in which each run's own one is made (0700); it must not lie
	// in the repository's work tree. It is made absolute against this process's directory
	// and checked when the provider is made. Empty means os.TempDir.
	Parent string
	// Uncommitted carries over what is not committed, see Worktree.
	Uncommitted bool
	// Keep keeps the work tree after the run. Result.Worktree says where it is.
	Keep bool
	// MaxPatch bounds Result.Patch, in bytes; 0 means 16 MiB. A larger one is left out, and
	// the work tree is kept.
	MaxPatch int
	// Kill, if set, ends the making of patches and the removal of work trees when it ends,
	// as ACPOptions.Kill ends agents. Work trees whose patch is not made are kept.
	Kill context.Context
}

// patchTime bounds the making of a patch and the removal of the tree, which no caller's
// context does: an agent can leave things behind that git waits for without end, a pipe in
// place of a file say.
const patchTime = 2 * time.Minute

// Worktree returns p with each run in a work tree of its own of the git repository that the
// request's directory is in. Result.Patch and Result.Changes, of the final result only,
// say what the run changed; Result.Dir is where it ran, and Result.Worktree says of which
// repository and commit that is. A provider that has a directory of its own cannot be
// moved, which is an error of kind config. Limits go around it: a run that waits needs no
// work tree yet.
//
// The user's work tree, index, HEAD, branches, stash, config and reflogs are not touched,
// whatever is done with git in the run's tree: that is a repository by itself, on a branch
// of the same name at the same commit, with copies of the other branches and tags, the
// user's name and email, and no remotes. It borrows the user's objects. What an agent does
// outside of its tree is another matter, for the permission policy.
//
// It needs git 2.32 or later in PATH, and runs it with the scrubbed environment, without
// any hook, filter or program that a configuration names. So what filters store stays as
// it is stored: a file of LFS is a pointer. In the agent's environment there is none of the
// variables that would lead git out of the tree (GIT_DIR and its like), as far as p is one
// of NewACP's.
//
// The run starts from HEAD. If there are uncommitted changes a warning says that the run
// does not see them. With WorktreeOptions.Uncommitted it starts from the work tree as it
// is, with tracked files and new ones that are not ignored, and the patch is relative to
// that. A directory below the top is the same one below the top of the tree, and is made if
// it is not there. Submodules are empty in the tree, and a warning names them.
//
// The patch is made when all processes of the run are gone, whatever became of it. It is for
// git apply, goes from where the run started to the files that are there at its end, and so
// has what was committed as well; ignored files are not in it. Then the tree is removed,
// unless something of it would be lost: where the patch cannot be made, within two minutes,
// is too large, or lacks what is in repositories of their own within the tree, the tree is
// kept and a warning says where.
//
// A directory that is in no work tree, a repository without a commit, and what else is wrong
// with it is an error of kind config before anything is started. A start that fails leaves
// no work tree.
func Worktree(p Provider, o *WorktreeOptions) (Provider, error) {
	if p == nil {
		return nil, configError("there is no provider to put into a work tree")
	}
	if o == nil {
		o = &WorktreeOptions{}
	}
	w := &worktreeProvider{Provider: p, opts: *o}
	if dir := ownDir(p); dir != "" {
		return nil, named(p, errOwnDir(dir))
	}
	if o.MaxPatch < 0 {
		return nil, named(p, configError("WorktreeOptions.MaxPatch is negative: %d", o.MaxPatch))
	}
	if o.Parent != "" {
		parent, err := client.AbsDir(o.Parent)
		if err != nil {
			return nil, named(p, err)
		}
		w.opts.Parent = parent
	}
	return w, nil
}

// worktreeProvider is a provider whose runs have work trees.
type worktreeProvider struct {
	Provider
	opts WorktreeOptions
}

func (p *worktreeProvider) under(l *Limits) bool { return l.covers(p.Provider) }

func (p *worktreeProvider) put(l *Limits) Provider {
	all := *p
	all.Provider = l.Provider(p.Provider)
	return &all
}

func (p *worktreeProvider) Start(ctx context.Context, req Request) (Run, error) {
	dir, err := prepare(ctx, p, &req, "")
	if err != nil {
		return nil, err
	}
	w := &worktreeRun{opts: &p.opts, provider: p.Name(), req: &req, started: time.Now(), tell: req.Events}
	w.tree, err = worktree.New(ctx, dir, worktree.Options{
		Parent: p.opts.Parent, Uncommitted: p.opts.Uncommitted, MaxPatch: p.opts.MaxPatch,
	})
	if err != nil {
		return nil, named(p, treeError(ctx, err))
	}
	w.madeIn = time.Since(w.started)
	ctx, w.cancel = context.WithCancel(ctx)
	begun := false
	defer func() {
		if !begun { // also where Start panics
			w.cancel()
			ctx, cancel := w.afterwards()
			defer cancel()
			w.tree.Remove(ctx)
		}
	}()
	req.Dir, req.Events = w.tree.Dir, w.event
	run, err := p.Provider.Start(withWorktree(ctx, w.tree.Dir), req)
	if err == nil && w.elsewhere() != "" {
		run.Close()
		err = errOwnDir(w.elsewhere())
	}
	if err != nil {
		return nil, w.notStarted(named(p, startError(ctx, err)))
	}
	w.Run = run
	begun = true
	return w, nil
}

// treeError is why there is no work tree.
func treeError(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return &Error{Kind: contextKind(ctx), Step: client.StepSpawn, Message: fmt.Sprintf("not started: %v", context.Cause(ctx)), Err: contextError(ctx)}
	}
	if _, ok := errors.AsType[*worktree.RefusedError](err); ok {
		return configError("%w", err)
	}
	return &Error{Kind: client.KindSpawn, Step: client.StepSpawn, Message: "the work tree could not be made: " + err.Error(), Err: err}
}

// worktreeRun is a run in a work tree.
type worktreeRun struct {
	Run
	opts     *WorktreeOptions
	provider string
	req      *Request
	tree     *worktree.Tree
	started  time.Time
	madeIn   time.Duration // how long the tree took
	cancel   context.CancelFunc
	tell     func(Event) // the request's; nil without one

	settle  sync.Once
	outcome *Result // set by settle

	closeOnce sync.Once
	final     *Result // set by closeOnce

	mu     sync.Mutex // guards what is below
	ranDir string     // where the provider runs, if that is not the tree
}

func (w *worktreeRun) unwrap() Run { return w.Run }

// event is the Events of the run within. What comes before the start, and of a run that is
// elsewhere, is not told: that start fails.
func (w *worktreeRun) event(e Event) {
	if e.Type == EventStart && e.Start.Dir != w.tree.Dir {
		w.mu.Lock()
		w.ranDir = e.Start.Dir
		w.mu.Unlock()
		w.cancel() // before the prompt is sent
	}
	if w.tell == nil || w.elsewhere() != "" {
		return
	}
	if e.Type == EventEnd {
		e.Result = w.settled(e.Result)
	}
	w.tell(e)
	if e.Type == EventStart {
		for _, text := range w.tree.Warnings {
			w.tell(Event{Type: EventWarning, RunID: e.RunID, Time: e.Time, Warning: text})
		}
	}
}

// elsewhere is where the run is if that is not its tree.
func (w *worktreeRun) elsewhere() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ranDir
}

// notStarted adds to the error of a start what is known of the tree.
func (w *worktreeRun) notStarted(e *Error) *Error {
	if e.Partial != nil {
		partial := w.with(e.Partial)
		e.Partial = &partial
	}
	return e
}

// with returns a result with what is known of the tree before the end.
func (w *worktreeRun) with(res *Result) Result {
	out := *res
	out.Worktree = &WorktreeInfo{Repository: w.tree.Repository, Base: w.tree.Base, Uncommitted: w.opts.Uncommitted}
	out.Warnings = append(append([]string{}, w.tree.Warnings...), res.Warnings...)
	out.StartedAt = w.started
	out.Timing.StartMs += ms(w.madeIn)
	out.Timing.TotalMs += ms(w.madeIn)
	return out
}

// settled returns the outcome, which is that of the run within and the same each time.
func (w *worktreeRun) settled(res *Result) *Result {
	w.settle.Do(func() {
		outcome := w.with(res)
		w.outcome = &outcome
	})
	return w.outcome
}

func (w *worktreeRun) Wait(ctx context.Context) (*Result, error) {
	res, err := w.Run.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return w.settled(res), nil
}

func (w *worktreeRun) Close() *Result {
	w.closeOnce.Do(func() {
		final := w.closed()
		w.cancel()
		closing := time.Now()
		w.finish(&final)
		took := ms(time.Since(closing))
		final.Timing.CloseMs += took
		final.Timing.TotalMs += took
		w.final = &final
	})
	return w.final
}

// closed closes the run within and returns its final result, or what there is where that
// Close panics or ends its goroutine: the tree is still to be seen to.
func (w *worktreeRun) closed() Result {
	var res *Result
	var err *Error
	var closing sync.WaitGroup
	closing.Go(func() { // ends with the Close of the run within
		defer func() {
			if res == nil {
				err = panicked(recover())
			}
		}()
		res = w.Run.Close()
	})
	closing.Wait()
	if err == nil {
		return w.with(res)
	}
	broken := *w.settled(notStarted(w.provider, w.req, err))
	broken.Warnings = append(slices.Clone(broken.Warnings), err.Message+" when it was closed")
	return broken
}

// afterwards is for what is done when nobody's context counts any more.
func (w *worktreeRun) afterwards() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), patchTime)
	if w.opts.Kill == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(w.opts.Kill, cancel)
	return ctx, func() { stop(); cancel() }
}

// finish says what the run has changed, and removes the tree or keeps it.
func (w *worktreeRun) finish(final *Result) {
	ctx, cancel := w.afterwards()
	defer cancel()
	warn := func(format string, args ...any) {
		final.Warnings = append(final.Warnings, fmt.Sprintf(format, args...))
	}
	diff, err := w.tree.Diff(ctx)
	if diff != nil {
		final.Changes = changesOf(diff.Changes)
	}
	lost := err != nil
	if lost {
		warn("the patch could not be made: %v", err)
	} else {
		final.Patch = &diff.Patch
		for _, text := range diff.Missing {
			warn("not in the patch: %s", text)
			lost = true
		}
	}
	switch {
	case lost || w.opts.Keep:
		w.tree.Keep()
		final.Worktree.Kept = &w.tree.Root
		if lost {
			warn("the work tree is kept: %s", w.tree.Root)
		}
	default:
		if err := w.tree.Remove(ctx); err != nil {
			warn("the work tree could not be removed: %v", err)
			final.Worktree.Kept = &w.tree.Root
		}
	}
}
