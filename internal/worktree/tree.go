package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/errand-acp/errand/internal/owndir"
)

// Options are what New may be told beside the directory. The zero value is the default.
type Options struct {
	// Parent is where the tree is made, in a directory of its own (0700): absolute, and
	// not in the user's work tree. Empty means os.TempDir.
	Parent string
	// Uncommitted carries over what is not committed: the tree begins with the files as
	// they are in the user's work tree, tracked ones and new ones that are not ignored.
	// What is staged is not told from what is not.
	Uncommitted bool
	// MaxPatch bounds the patch of Diff, in bytes; 0 means 16 MiB.
	MaxPatch int
}

const defaultMaxPatch = 16 << 20

// Tree is a work tree of its own. Its fields are not changed after New.
type Tree struct {
	// Repository is the top of the user's work tree.
	Repository string
	// Root is the top of this one, and Dir the directory in it that stands for the one that
	// New was given. Both are canonical.
	Root, Dir string
	// Base is the commit that HEAD was at.
	Base string
	// Warnings are what the tree lacks of the user's.
	Warnings []string

	git      *git
	place    *place
	outer    *owndir.Dir // the tree is in it, and nothing of ours that matters later
	root     fs.FileInfo
	repo     *repository
	probed   string          // the configuration that git has made for the tree's file system
	pack     *os.File        // the objects of the base that the user's repository lacks; nil without any
	head     string          // the git tree of the commit
	base     string          // the one that the tree began with
	links    map[string]bool // submodules: their paths
	odd      map[string]file // see oddFiles
	maxPatch int
}

// New makes a work tree of the repository that dir is in, at its HEAD. dir is absolute and
// canonical. The error is a *RefusedError where the reason is dir, its repository, the
// options or git; after any error nothing is left. The caller removes the tree.
func New(ctx context.Context, dir string, o Options) (_ *Tree, err error) {
	g, err := newGit(ctx, dir)
	if err != nil {
		return nil, err
	}
	repo, err := g.discover(ctx, dir)
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(repo.top, dir)
	if err != nil || !filepath.IsLocal(below) {
		return nil, refuse("%s is not in %s, the work tree of its git repository", dir, repo.top)
	}
	place, err := o.place(repo)
	if err != nil {
		return nil, err
	}
	outer, err := place.make()
	if err != nil {
		return nil, refuse("the directory for work trees: %w", err)
	}
	t := &Tree{
		Repository: repo.top, Base: repo.commit, Root: filepath.Join(outer.Path(), treeName(repo.top)),
		git: g, place: place, outer: outer, repo: repo, maxPatch: o.MaxPatch,
	}
	if t.maxPatch == 0 {
		t.maxPatch = defaultMaxPatch
	}
	made := false
	defer func() {
		if !made {
			t.Remove(context.WithoutCancel(ctx))
		}
	}()
	if err := t.init(ctx); err != nil {
		return nil, err
	}
	if err := t.fill(ctx, o.Uncommitted); err != nil {
		return nil, err
	}
	if err := t.enter(below); err != nil {
		return nil, err
	}
	made = true
	return t, nil
}

// treeName is what the tree is called: like the user's, which a program may show, unless
// that could be one of our own names.
func treeName(top string) string {
	if name := filepath.Base(top); !strings.HasPrefix(name, ".") && filepath.IsLocal(name) {
		return name
	}
	return "tree"
}

// init makes the tree an empty repository that borrows the user's objects.
func (t *Tree) init(ctx context.Context) (err error) {
	if _, err := t.git.run(ctx, call{dir: t.outer.Path(), args: []string{"init", "--quiet", "--template=", "--object-format=" + t.repo.format, t.Root}}); err != nil {
		return err
	}
	if t.root, err = os.Lstat(t.Root); err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(t.Root, ".git", "config"))
	if err != nil {
		return err
	}
	t.probed = string(config)
	files := map[string][]byte{
		"config":                  []byte(t.probed + t.repo.forTree() + "[gc]\n\tauto = 0\n"),
		"HEAD":                    []byte(t.repo.commit + "\n"),
		"packed-refs":             t.repo.refs,
		"info/exclude":            t.repo.exclude,
		"objects/info/alternates": alternatesFile(t.repo.objects()),
	}
	if t.repo.shallow != nil {
		files["shallow"] = t.repo.shallow
	}
	if t.repo.branch != "" {
		files["HEAD"] = []byte("ref: " + t.repo.branch + "\n")
		files[t.repo.branch] = []byte(t.repo.commit + "\n")
	}
	if err := writeFiles(filepath.Join(t.Root, ".git"), files); err != nil {
		return err
	}
	// Should the tree lose its git directory, no other one above it is to be taken for it.
	return os.WriteFile(filepath.Join(t.outer.Path(), ".git"), []byte("gitdir: no-repository-above-the-work-tree\n"), 0o600)
}

// ofFileSystem are settings that git finds out for the file system a repository is on.
var ofFileSystem = []string{"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode"}

// forTree are the user's settings that are good for the tree.
func (r *repository) forTree() string {
	settings := maps.Clone(r.settings)
	for _, name := range ofFileSystem {
		delete(settings, name)
	}
	return settingsText(settings)
}

func settingsText(settings map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		section, key, _ := strings.Cut(name, ".")
		b.WriteString(setting(section, key, settings[name]))
	}
	return b.String()
}

// fill finds what the tree begins with, and writes it. What it needs for that is private and
// gone before anything can be at work in the tree, but for the pack, of which there is then no name.
func (t *Tree) fill(ctx context.Context, uncommitted bool) (err error) {
	private, err := t.place.make()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, private.Remove(context.WithoutCancel(ctx))) }()
	user, err := newGitDir(t.git, filepath.Join(private.Path(), "user"), t.repo.top, t.probed+settingsText(t.repo.settings), t.repo.exclude, t.repo.objects())
	if err != nil {
		return err
	}
	if err := t.findBase(ctx, user, uncommitted); err != nil {
		return err
	}
	if t.base != t.head {
		if t.pack, err = user.pack(ctx, t.base, t.outer.Path()); err != nil {
			return err
		}
	}
	d, err := t.newGitDir(private, t.repo.objects(), filepath.Join(user.path, "objects"))
	if err != nil {
		return err
	}
	return t.checkOut(ctx, d)
}

// findBase finds what the tree begins with. For that it looks at the user's work tree
// with a copy of its index.
func (t *Tree) findBase(ctx context.Context, d *gitDir, uncommitted bool) error {
	err := d.copyIndex(t.repo.dir)
	if err != nil {
		return err
	}
	if t.head, err = d.word(ctx, "rev-parse", "--verify", t.repo.commit+"^{tree}"); err != nil {
		return t.explain(err)
	}
	if !uncommitted {
		t.base = t.head
		dirty, err := d.dirty(ctx, t.head)
		if dirty {
			t.warn("the work tree %s has uncommitted changes, which the run does not see", t.repo.top)
		}
		return err
	}
	links, err := d.links(ctx)
	if err != nil {
		return err
	}
	top, err := os.OpenRoot(t.repo.top)
	if err != nil {
		return err
	}
	defer top.Close()
	var left left
	if t.base, left, err = d.snapshot(ctx, sorter{top: top, links: links}); err != nil {
		return err
	}
	for _, text := range left.texts() {
		t.warn("not carried over from the work tree %s: %s", t.repo.top, text)
	}
	return nil
}

// dirty reports whether the work tree or the index differ from a git tree.
func (d *gitDir) dirty(ctx context.Context, tree string) (bool, error) {
	if some, err := d.some(ctx, "diff-index", "--cached", "--raw", tree); some || err != nil {
		return some, err
	}
	return d.some(ctx, "ls-files", "-z", "--modified", "--others", "--exclude-standard", "--directory", "--no-empty-directory")
}

// checkOut writes the files of the base, and gives the tree's repository its index.
func (t *Tree) checkOut(ctx context.Context, d *gitDir) error {
	_, err := d.do(ctx, "read-tree", "--reset", "-u", t.base)
	if err != nil {
		return t.explain(err)
	}
	if t.links, err = d.links(ctx); err != nil {
		return err
	}
	if len(t.links) > 0 {
		t.warn("submodules are not populated: %s", few(slices.Sorted(maps.Keys(t.links))))
	}
	// What is staged there is HEAD, with what is known of the files already.
	own := filepath.Join(t.Root, ".git", "index")
	if t.base == t.head {
		err = copyFile(own, d.index())
	} else {
		_, err = d.do(ctx, "read-tree", "-m", "--index-output="+own, t.head)
	}
	if err != nil {
		return err
	}
	top, err := t.open()
	if err != nil {
		return err
	}
	defer top.Close()
	t.odd, err = d.oddFiles(ctx, top, t.base)
	return err
}

// newGitDir makes a git directory of our own for the tree.
func (t *Tree) newGitDir(private *owndir.Dir, objects ...string) (*gitDir, error) {
	return newGitDir(t.git, filepath.Join(private.Path(), "tree"), t.Root, t.probed+t.repo.forTree(), t.repo.exclude, objects...)
}

// enter finds the directory that is below that far in the tree, and makes it if it is not
// there: it may be new, ignored, or empty.
func (t *Tree) enter(below string) error {
	root, err := os.OpenRoot(t.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	// It is not to be found, or made, outside of the tree by a link.
	err = root.MkdirAll(below, 0o777)
	if err == nil {
		var info fs.FileInfo
		if info, err = root.Stat(below); err == nil && !info.IsDir() {
			err = errors.New("it is no directory")
		}
	}
	if err != nil {
		return refuse("%s has no counterpart in its repository's HEAD: %w", filepath.Join(t.repo.top, below), err)
	}
	t.Dir, err = filepath.EvalSymlinks(filepath.Join(t.Root, below))
	return err
}

// explain adds to the error of a command that may lack objects why that can be.
func (t *Tree) explain(err error) error {
	if _, ok := errors.AsType[*commandError](err); ok && t.repo.partial() {
		return refuse("%s is a partial clone, and objects of its HEAD may be missing (git fetch them first): %w", t.repo.top, err)
	}
	return err
}

func (t *Tree) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// Keep leaves the tree to those for whom it is kept. Of ours there is nothing in it.
func (t *Tree) Keep() {
	if t.pack != nil {
		t.pack.Close()
	}
}

// Remove removes the tree. If it is another one, or elsewhere, that is an error, and nothing
// is touched.
func (t *Tree) Remove(ctx context.Context) error {
	t.Keep()
	return t.outer.Remove(ctx)
}
