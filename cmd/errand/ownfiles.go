package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/errand-acp/errand/permission"
)

// ownFile is a file by which a run is ruled or told of: its policy, its audit.
type ownFile struct {
	path string // absolute, with symbolic links resolved
	info os.FileInfo
}

// ownFiles keeps the agent from those files, and leaves the rest to a policy.
type ownFiles struct {
	files  []ownFile
	policy permission.Policy
}

// sparing returns a policy that denies what touches one of the files. Those that are no
// regular ones hold nothing.
func sparing(policy permission.Policy, names ...string) permission.Policy {
	own := ownFiles{policy: policy}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		path, err := filepath.Abs(name)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			path = "" // info tells the file
		}
		own.files = append(own.files, ownFile{path, info})
	}
	if len(own.files) == 0 {
		return policy
	}
	return own
}

// Decide implements permission.Policy.
func (o ownFiles) Decide(ctx context.Context, req permission.Request) permission.Decision {
	if slices.ContainsFunc(req.Facts().Paths, o.has) {
		d := permission.Reject().Decide(ctx, req)
		d.Rule = "deny: a file of errand's own"
		return d
	}
	return o.policy.Decide(ctx, req)
}

// has finds a file by its name, should it have been replaced, and by what it is, should it
// have another name.
func (o ownFiles) has(p permission.Path) bool {
	info, err := os.Stat(p.Resolved)
	return slices.ContainsFunc(o.files, func(own ownFile) bool {
		return p.Resolved == own.path || err == nil && os.SameFile(info, own.info)
	})
}

// GuardsReads implements permission.ReadGuard.
func (o ownFiles) GuardsReads() bool { return permission.GuardsReads(o.policy) }

// Digest is that of the policy, which the files are no part of.
func (o ownFiles) Digest() string {
	if d, ok := o.policy.(interface{ Digest() string }); ok {
		return d.Digest()
	}
	return ""
}
