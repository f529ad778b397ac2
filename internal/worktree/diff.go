package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// Diff is what has changed in a tree since it was made: files, and not how they came to be,
// so what was committed there counts as well. Ignored files are not in it.
type Diff struct {
	// Patch is for git apply, with renames and binary files. It is valid UTF-8: a file
	// whose changes are not is in it as a binary one.
	Patch string
	// Changes are the files that it changes, sorted by their paths.
	Changes []Change
	// Missing says what is not in it although it may have changed; empty where all is.
	Missing []string
}

// Diff finds out what has changed. Nothing may be at work in the tree any more. It can be
// called once. The error wraps ErrTooLarge where the patch is over Options.MaxPatch, and
// then there are still the changes, unless these are too many as well.
func (t *Tree) Diff(ctx context.Context) (_ *Diff, err error) {
	top, err := t.open()
	if err != nil {
		return nil, err
	}
	defer top.Close()
	// Made now, when the program is gone, for it could prepare what it finds.
	private, err := t.place.make()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, private.Remove(context.WithoutCancel(ctx))) }()
	d, err := t.newGitDir(private, t.repo.objects())
	if err != nil {
		return nil, err
	}
	if t.pack != nil {
		if err := d.unpack(ctx, t.pack); err != nil {
			return nil, err
		}
	}
	if _, err := d.do(ctx, "read-tree", t.base); err != nil {
		return nil, err
	}
	files := sorter{top: top, links: t.links, odd: t.odd}
	after, left, err := d.snapshot(ctx, files)
	if err != nil {
		return nil, err
	}
	left.repositories = append(left.repositories, files.populated()...)
	diff := &Diff{Changes: []Change{}, Missing: left.texts()}
	if after == t.base {
		return diff, nil
	}
	out, err := d.do(ctx, "diff-tree", "-r", "-z", "-M", "--raw", "--numstat", "--no-ext-diff", "--no-textconv", t.base, after)
	if err == nil {
		diff.Changes, err = parseChanges(out)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of changes: %w", err)
	}
	patch, err := d.patch(ctx, t.base, after, t.maxPatch)
	if err != nil {
		return diff, err
	}
	diff.Patch = patch
	return diff, nil
}

// open opens the tree, if it is the one that was made, where it was made.
func (t *Tree) open() (*os.Root, error) {
	if err := t.outer.Check(); err != nil {
		return nil, err
	}
	// Only then it is opened: what is no directory may block.
	if now, err := os.Lstat(t.Root); err != nil || !os.SameFile(t.root, now) {
		return nil, errors.Join(errNotTheTree, err)
	}
	top, err := os.OpenRoot(t.Root)
	if err != nil {
		return nil, err
	}
	if now, err := top.Stat("."); err != nil || !os.SameFile(t.root, now) {
		top.Close()
		return nil, errors.Join(errNotTheTree, err)
	}
	return top, nil
}

var errNotTheTree = errors.New("the work tree is not there any more: it was moved, removed or replaced")

// patch returns the patch from one git tree to another.
func (d *gitDir) patch(ctx context.Context, from, to string, limit int) (string, error) {
	sections := func(limit int, config ...string) ([]string, error) {
		c := d.command(append(config, "diff-tree", "-r", "-p", "-M", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", from, to)...)
		c.limit = limit
		out, err := d.run(ctx, c)
		if errors.Is(err, ErrTooLarge) {
			err = tooLarge(limit)
		}
		return splitPatch(string(out)), err
	}
	patch, err := sections(limit)
	if err != nil {
		return "", err
	}
	if all := strings.Join(patch, ""); utf8.ValidString(all) {
		return all, nil
	}
	// A text of another encoding would not survive in JSON.
	binary, err := sections(limit+maxList, "-c", "diff.default.binary=true")
	if err != nil {
		return "", err
	}
	if len(binary) != len(patch) {
		return "", errors.New("git makes of the same changes two different patches")
	}
	size := 0
	for i := range patch {
		if !utf8.ValidString(patch[i]) {
			patch[i] = binary[i]
		}
		size += len(patch[i])
	}
	if size > limit {
		return "", tooLarge(limit)
	}
	return strings.Join(patch, ""), nil
}

func tooLarge(limit int) error {
	return fmt.Errorf("the patch is over the limit of %d bytes: %w", limit, ErrTooLarge)
}

// splitPatch splits a patch into its files. Within one, no line begins like its first.
func splitPatch(patch string) []string {
	const first = "diff --git "
	var sections []string
	for patch != "" {
		end := strings.Index(patch[1:], "\n"+first)
		if end < 0 {
			return append(sections, patch)
		}
		sections = append(sections, patch[:end+2])
		patch = patch[end+2:]
	}
	return sections
}
