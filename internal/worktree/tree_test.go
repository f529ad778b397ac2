//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/gittest"
	"github.com/errand-acp/errand/internal/worktree"
)

// A tree is what the user would see, as git sees it too, and is gone afterwards.
func TestTree(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Write("sub/b", "b\n").Write("run", "#!/bin/sh\n").Mode("run", 0o755).Link("link", "a").Commit("first")
	s.Git("tag", "v1")
	s.Git("checkout", "-q", "-b", "feature/x")
	s.Write("a", "aa\n").Commit("second")
	before := s.Snapshot()

	tr := s.treeOf(s.Path("sub"), worktree.Options{})
	check.Equal(t, "the repository", tr.Repository, s.Dir)
	check.Equal(t, "the base", tr.Base, s.Git("rev-parse", "HEAD"))
	check.Equal(t, "the directory", tr.Tree.Dir, filepath.Join(tr.Root, "sub"))
	check.Equal(t, "the name", filepath.Base(tr.Root), "project")
	if diff := cmp.Diff(s.Files(), tr.Files()); diff != "" {
		t.Errorf("the files (-user's +tree's):\n%s", diff)
	}
	if len(tr.Warnings) > 0 {
		t.Errorf("warnings %q", tr.Warnings)
	}
	info, err := os.Stat(filepath.Dir(tr.Root))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory around it: %v, %v", info.Mode(), err)
	}

	for _, same := range [][]string{
		{"status", "--porcelain=v2", "--branch"}, {"log", "--format=%H"}, {"rev-parse", "main", "v1"}, {"config", "user.name"}, {"config", "user.email"},
	} {
		check.Equal(t, "git "+strings.Join(same, " "), tr.Git(same...), s.Git(same...))
	}
	check.Equal(t, "remotes", tr.Git("remote"), "")
	check.Equal(t, "fsck", tr.Git("fsck"), "")
	if _, err := tr.TryGit("push"); err == nil {
		t.Error("it was pushed somewhere")
	}
	check.Equal(t, "changes", tr.changes(), "")
	s.Untouched(before)
}

// Whatever git does in the tree, the user's repository stays as it is.
func TestGitInTheTree(t *testing.T) {
	for name, commands := range map[string][]string{
		"commits":    {"commit -q -am x", "tag v2", "branch -f side HEAD", "branch -m main other"},
		"the stash":  {"stash"},
		"moves":      {"branch -f side HEAD~1", "checkout -q side", "reset -q --hard HEAD"},
		"cleans up":  {"gc -q --prune=now", "prune", "repack -adq", "reflog expire --expire=now --all"},
		"work trees": {"worktree add -q ../more side", "worktree prune"},
		"settings":   {"config core.fsmonitor /bin/false", "config core.bare true"},
		"deletes":    {"update-ref -d refs/heads/side", "update-ref -d HEAD", "pack-refs --all"},
		"no git":     {"!rm -rf .git"},
		"nothing":    {"!rm -rf .git a sub side"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Write("a", "a\n").Write("sub/b", "b\n").Commit("first").Write("side", "s\n").Commit("second")
			s.Git("branch", "side")
			s.Write("a", "stashed\n").Git("stash", "-q")
			before := s.Snapshot()
			tr := s.tree(worktree.Options{})
			tr.Write("a", "changed\n")
			for _, c := range commands {
				if rm, ok := strings.CutPrefix(c, "!rm -rf "); ok {
					for _, name := range strings.Fields(rm) {
						tr.Repo.Remove(name)
					}
					// What is above must not be taken for the tree's repository.
					if out, err := tr.TryGit("rev-parse", "--git-dir"); err == nil {
						t.Errorf("git finds %s", out)
					}
					continue
				}
				tr.Git(strings.Fields(c)...)
			}
			s.Untouched(before)
			tr.diff()
			s.Untouched(before)
		})
	}
}

// The parent may be in a repository: that of the user, if it were found, would be worked on.
func TestParentInARepository(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Commit("first")
	other := newScene(t)
	other.Write("b", "b\n").Commit("first")
	before := other.Git("rev-parse", "HEAD")
	tr := s.tree(worktree.Options{Parent: other.Dir})
	tr.Repo.Remove(".git")
	if out, err := tr.TryGit("commit", "--allow-empty", "-m", "x"); err == nil {
		t.Errorf("it was committed: %s", out)
	}
	check.Equal(t, "HEAD", other.Git("rev-parse", "HEAD"), before)
	s.refused(s.Dir, worktree.Options{Parent: s.Dir}, "lies in the work tree", "name another one")
	s.refused(s.Dir, worktree.Options{Parent: filepath.Join(s.Dir, ".git")}, "lies in the work tree")
	s.refused(s.Dir, worktree.Options{Parent: "relative"}, "not absolute")
	s.refused(s.Dir, worktree.Options{Parent: s.Path("missing")}, "no such file")
}

func TestRefused(t *testing.T) {
	s := newScene(t)
	s.refused(s.Dir, worktree.Options{}, "has no commit yet", s.Dir)
	s.Write("a", "a\n").Commit("first")
	s.refused(t.TempDir(), worktree.Options{}, "is not in a git repository")
	s.refused(s.Path(".git"), worktree.Options{}, "is not in the work tree")
	s.refused(s.Path(".git/objects"), worktree.Options{}, "is not in the work tree")
	bare := filepath.Join(t.TempDir(), "bare")
	s.Git("clone", "-q", "--bare", s.Dir, bare)
	s.refused(bare, worktree.Options{}, "is in a bare repository")
	s.Write(".git/config", "[core")
	s.refused(s.Dir, worktree.Options{}, "bad config")
}

func TestGitIsMissing(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Commit("first")
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	s.refused(s.Dir, worktree.Options{}, "needs git", "not found")
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho git version 2.31.8\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.refused(s.Dir, worktree.Options{}, "needs git 2.32 or later", "2.31.8")
}

// A cancelled start leaves nothing.
func TestCancelled(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Commit("first")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := worktree.New(ctx, s.Dir, worktree.Options{Parent: s.parent})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	s.empty()
	tr := s.tree(worktree.Options{})
	if _, err := tr.Diff(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// HEAD need not be on a branch, and the repository need not be a plain one.
func TestRepositories(t *testing.T) {
	for name, make := range map[string]func(s *scene) *scene{
		"detached": func(s *scene) *scene {
			s.Git("checkout", "-q", "--detach", "HEAD~1")
			return s
		},
		"linked work tree": func(s *scene) *scene {
			dir := filepath.Join(s.TempDir(), "linked")
			s.Git("worktree", "add", "-q", "-b", "side", dir)
			return sceneOf(s.At(dir))
		},
		"shallow": func(s *scene) *scene {
			dir := filepath.Join(s.TempDir(), "shallow")
			s.Git("clone", "-q", "--depth=1", "file://"+s.Dir, dir)
			return sceneOf(s.At(dir))
		},
		"alternates": func(s *scene) *scene {
			dir := filepath.Join(s.TempDir(), "shared")
			s.Git("clone", "-q", "--shared", s.Dir, dir)
			rel, _ := filepath.Rel(filepath.Join(dir, ".git", "objects"), s.Path(".git/objects"))
			shared := s.At(dir)
			shared.Write(".git/objects/info/alternates", rel+"\n")
			return sceneOf(shared)
		},
		"linked work tree of a bare repository": func(s *scene) *scene {
			bare, dir := filepath.Join(s.TempDir(), "bare"), filepath.Join(s.TempDir(), "linked")
			s.Git("clone", "-q", "--bare", s.Dir, bare)
			s.At(bare).Git("worktree", "add", "-q", dir, "main")
			return sceneOf(s.At(dir))
		},
		"submodule": func(s *scene) *scene {
			super := gittest.New(s.TB.(*testing.T))
			super.Git("-c", "protocol.file.allow=always", "submodule", "-q", "add", s.Dir, "sub")
			return sceneOf(s.At(super.Path("sub")))
		},
		"separate git directory": func(s *scene) *scene {
			s.Git("init", "-q", "--separate-git-dir="+filepath.Join(s.TempDir(), "git"))
			return s
		},
		"packed": func(s *scene) *scene {
			s.Git("gc", "-q")
			return s
		},
		"split index": func(s *scene) *scene {
			s.Git("update-index", "--split-index")
			s.Write("a", "2\n").Git("add", "a")
			s.Write("a", "aa\n").Git("add", "a")
			return s
		},
		"sparse": func(s *scene) *scene {
			s.Git("sparse-checkout", "set", "--cone", "--sparse-index", "other")
			return s
		},
		"odd directory": func(s *scene) *scene {
			dir := filepath.Join(s.TempDir(), "\"a\n#b\\ *[x]")
			if err := os.Rename(s.Dir, dir); err != nil {
				s.Fatal(err)
			}
			return sceneOf(s.At(dir))
		},
		"hidden directory": func(s *scene) *scene {
			dir := filepath.Join(s.TempDir(), ".user")
			if err := os.Rename(s.Dir, dir); err != nil {
				s.Fatal(err)
			}
			return sceneOf(s.At(dir))
		},
		"no identity": func(s *scene) *scene {
			s.Git("config", "--remove-section", "user")
			return s
		},
		"an odd identity": func(s *scene) *scene {
			s.Git("config", "user.name", "A \"B\" \\ #;\tC\n")
			return s
		},
	} {
		for _, uncommitted := range []bool{false, true} {
			name := name
			if uncommitted {
				name += ", uncommitted"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t)
				s.Write("a", "a\n").Write("other/b", "b\n").Write("sub/c", "c\n").Commit("first").Write("a", "aa\n").Commit("second")
				s = make(s)
				before := s.Snapshot()
				tr := s.tree(worktree.Options{Uncommitted: uncommitted})
				check.Equal(t, "HEAD", tr.Git("rev-parse", "HEAD"), s.Git("rev-parse", "HEAD"))
				check.Equal(t, "branch", tr.Git("branch", "--show-current"), s.Git("branch", "--show-current"))
				check.Equal(t, "log", tr.Git("log", "--format=%H"), s.Git("log", "--format=%H"))
				check.Equal(t, "status", tr.Git("status", "--porcelain"), "")
				check.Equal(t, "fsck", tr.Git("fsck", "--no-dangling"), "")
				check.Equal(t, "user.name", tr.Git("config", "--default=", "--get", "user.name"), identity(s))
				if len(tr.Warnings) > 0 {
					t.Errorf("warnings %q", tr.Warnings)
				}
				tr.Write("a", "changed\n")
				check.Equal(t, "changes", tr.changes(), "modified a")
				s.Untouched(before)
			})
		}
	}
}

// identity is who commits there, also as the machine has it.
func identity(s *scene) string {
	cmd := exec.Command("git", "config", "--default=", "--get", "user.name")
	cmd.Dir = s.Dir
	out, err := cmd.Output()
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func TestSHA256(t *testing.T) {
	s := newScene(t, "--object-format=sha256")
	s.Write("a", "a\n").Commit("first").Write("new", "new\n")
	before := s.Snapshot()
	tr := s.tree(worktree.Options{Uncommitted: true})
	check.Equal(t, "HEAD", tr.Git("rev-parse", "HEAD"), tr.Base)
	check.Equal(t, "length", len(tr.Base), 64)
	tr.Write("new", "newer\n").Commit("mine")
	check.Equal(t, "changes", tr.changes(), "modified new")
	s.Untouched(before)
}

func TestPartialClone(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Commit("first")
	s.Git("config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(t.TempDir(), "partial")
	s.Git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+s.Dir, dir)
	partial := sceneOf(s.At(dir))
	partial.refused(dir, worktree.Options{}, "is a partial clone")
	partial.Git("checkout", "-q", "main") // which fetches what it needs
	tr := partial.tree(worktree.Options{})
	check.Equal(t, "a", tr.Read("a"), "a\n")
}

// A directory that HEAD does not have is made, and a link of HEAD's does not lead out.
func TestDirectoryBelow(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Write("in/b", "b\n").Link("out", t.TempDir()).Link("round", "in").Commit("first")
	s.Remove("out").Write("out/new/x", "x\n").Remove("round").Write("round/new/x", "x\n").Remove("a").Write("a/x", "x")
	tr := s.treeOf(s.Path("in"), worktree.Options{})
	check.Equal(t, "in", tr.Tree.Dir, filepath.Join(tr.Root, "in"))
	if err := os.Mkdir(s.Path("new"), 0o777); err != nil {
		t.Fatal(err)
	}
	tr = s.treeOf(s.Path("new"), worktree.Options{})
	check.Equal(t, "new", tr.Tree.Dir, filepath.Join(tr.Root, "new"))
	tr = s.treeOf(s.Path("round/new"), worktree.Options{})
	check.Equal(t, "round", tr.Tree.Dir, filepath.Join(tr.Root, "in", "new"))
	tr = s.treeOf(s.Path("out/new"), worktree.Options{Uncommitted: true})
	check.Equal(t, "out", tr.Tree.Dir, filepath.Join(tr.Root, "out", "new"))
}

func TestDirectoryOutside(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Link("out", t.TempDir()).Commit("first")
	s.Remove("out").Write("out/new/x", "x\n").Remove("a").Write("a/x", "x")
	s.refused(s.Path("out/new"), worktree.Options{}, "has no counterpart")
	s.refused(s.Path("a"), worktree.Options{}, "has no counterpart")
}

// Many at once do not know of each other, nor of what the user does meanwhile.
func TestAtOnce(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Write("b", "b\n").Commit("first")
	base := s.Git("rev-parse", "HEAD")
	trees := make([]*tree, 8)
	var wg sync.WaitGroup
	for i := range trees {
		wg.Go(func() { trees[i] = s.tree(worktree.Options{}) })
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	s.Write("a", "the user's\n").Commit("meanwhile")
	s.Write("b", "and this\n")
	before := s.Snapshot()
	for i, tr := range trees {
		wg.Go(func() {
			check.Equal(t, "base", tr.Base, base)
			tr.Write("a", strings.Repeat("x", i+1)+"\n").Commit("mine")
			d := tr.diff()
			check.Equal(t, "changes", listed(d), "modified a")
			check.Has(t, d.Patch, "-a\n+"+strings.Repeat("x", i+1)+"\n")
		})
	}
	wg.Wait()
	s.Untouched(before)
}

// What is not writable is removed: the scene checks that.
func TestRemoveWhatCannotBeWritten(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Commit("first")
	tr := s.tree(worktree.Options{})
	tr.Write("mod/cache/x", "x").Mode("mod/cache/x", 0o400).Mode("mod/cache", 0o500).Mode("mod", 0o100)
}

// What is kept is a repository that works.
func TestKeep(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Commit("first").Write("a", "b\n")
	tr := s.tree(worktree.Options{Uncommitted: true})
	tr.diff()
	tr.Keep()
	tr.Commit("mine")
	check.Equal(t, "fsck", tr.Git("fsck"), "")
	entries, err := os.ReadDir(filepath.Dir(tr.Root))
	if err != nil || len(entries) != 2 { // the tree, and what shields it: nothing is held by its name
		t.Errorf("beside it: %v, %v", entries, err)
	}
}
