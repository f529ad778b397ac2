package subagent

import "context"

// A run in a work tree has to be where that is. A provider that has a directory of its own
// says so by an ownDir method, and what is around it passes it on. Where it is behind
// another package's provider it learns from the context of its Start that it must not start.

// ownDir is the directory of every run of p, whatever the request says; empty if there is
// none, or p does not say.
func ownDir(p Provider) string {
	if own, ok := p.(interface{ ownDir() string }); ok {
		return own.ownDir()
	}
	return ""
}

func (p *acpProvider) ownDir() string { return p.cmd.Dir }

func (p *Pool) ownDir() string { return p.acp.ownDir() }

func (p *limitedProvider) ownDir() string { return ownDir(p.Provider) }

func (p *fallback) ownDir() string {
	for _, inner := range p.providers {
		if dir := ownDir(inner); dir != "" {
			return dir
		}
	}
	return ""
}

func errOwnDir(dir string) *Error {
	return configError("the provider has a directory of its own, %s, and so cannot run in a work tree", dir)
}

// worktreeKey is the context key with which a work tree tells the provider within that
// the directory is one.
type worktreeKey struct{}

func withWorktree(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, worktreeKey{}, dir)
}

// inWorktree reports whether a run that is started with ctx has a work tree of its own,
// which is there for that run only.
func inWorktree(ctx context.Context) bool { return ctx.Value(worktreeKey{}) != nil }

// leavesWorktree reports whether a run that is started with ctx, and is to be in a directory
// of its provider's own, was to be in a work tree. What a run in a tree starts elsewhere
// is not.
func leavesWorktree(ctx context.Context, req *Request, own string) bool {
	return own != "" && ctx.Value(worktreeKey{}) == req.Dir
}
