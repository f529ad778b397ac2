package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// ownFiles are the files by which a run is ruled or told of: its policy, its audit, the
// program that decides. The agent has no business with them.
type ownFiles struct {
	infos []os.FileInfo
	rules permission.Rules // deny what may touch one of them by its name
}

// ownRule is what the record has as the rule that denied one of them.
const ownRule = "deny: a file of errand's own"

// newOwnFiles returns those of the names that are regular files, or directories with all
// that is in them: what else there is holds nothing.
func newOwnFiles(names []string) ownFiles {
	var own ownFiles
	var paths []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			continue
		}
		own.infos = append(own.infos, info)
		if path, err := filepath.Abs(name); err == nil {
			below := ""
			if info.IsDir() {
				below = "/**"
			}
			paths = append(paths, filepath.ToSlash(path)+below)
			if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
				paths = append(paths, filepath.ToSlash(real)+below)
			}
		}
	}
	own.rules = permission.Rules{
		Default: permission.EffectAllow, Sensitive: permission.EffectAllow,
		Rules: []permission.Rule{{Name: ownRule, Effect: permission.EffectDeny, Paths: paths}},
	}
	return own
}

// touched reports whether a request is about one of them: by a name that a rule which
// denies it would find, or by what it is, should it have another name.
func (o ownFiles) touched(req permission.Request) bool {
	if len(o.infos) == 0 {
		return false
	}
	return o.rules.Explain(req).Rule == ownRule || slices.ContainsFunc(req.Facts().Mentions(), func(p permission.Path) bool {
		info, err := os.Stat(p.Resolved)
		return err == nil && slices.ContainsFunc(o.infos, func(own os.FileInfo) bool { return os.SameFile(info, own) })
	})
}

// deny rejects a request that touches them.
func (o ownFiles) deny(ctx context.Context, req permission.Request) permission.Decision {
	d := permission.Reject().Decide(ctx, req)
	d.Rule = ownRule
	return d
}

// spared keeps the agent from files of ours, and leaves the rest to a policy.
type spared struct {
	own    ownFiles
	policy permission.Policy
}

// sparing returns a policy that denies what touches one of the files.
func sparing(policy permission.Policy, names ...string) permission.Policy {
	if own := newOwnFiles(names); len(own.infos) > 0 {
		return spared{own, policy}
	}
	return policy
}

// Decide implements permission.Policy.
func (s spared) Decide(ctx context.Context, req permission.Request) permission.Decision {
	switch {
	case s.own.touched(req):
		return s.own.deny(ctx, req)
	case req.Method == acp.ClientMethodFsReadTextFile && !permission.GuardsReads(s.policy) && !slices.ContainsFunc(req.Facts().Risks, sensitiveRisk):
		// But for those files nobody would have been asked.
		d := permission.Allow().Decide(ctx, req)
		d.Rule = "allow: any read"
		return d
	}
	return s.policy.Decide(ctx, req)
}

func sensitiveRisk(risk string) bool {
	return strings.HasPrefix(risk, "sensitive file: ") || strings.HasPrefix(risk, "odd path: ")
}

// GuardsReads implements permission.ReadGuard: to read them is to touch them.
func (s spared) GuardsReads() bool { return true }

// Digest is that of the policy, which the files are no part of.
func (s spared) Digest() string {
	if d, ok := s.policy.(interface{ Digest() string }); ok {
		return d.Digest()
	}
	return ""
}

// filesOf returns the files that make up a command: a program of that path, and what the
// arguments may mean of such a program or of an interpreter. Those of grep are patterns.
func filesOf(dir string, argv []string) []string {
	input := map[string]any{"command": argv, "cwd": dir}
	f := permission.Request{Dir: dir, ToolCall: acp.ToolCallUpdate{RawInput: input}}.Facts()
	if filepath.Base(argv[0]) == argv[0] && !slices.ContainsFunc(f.Risks, func(risk string) bool { return strings.HasPrefix(risk, "interpreter or launcher: ") }) {
		return nil
	}
	var files []string
	for _, p := range f.Mentions() {
		if info, err := os.Stat(p.Abs); err == nil && info.Mode().IsRegular() {
			files = append(files, p.Abs)
		}
	}
	return files
}
