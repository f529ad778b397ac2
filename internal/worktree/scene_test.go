//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/gittest"
	"github.com/errand-acp/errand/internal/worktree"
)

// scene is a repository and the directory that trees of it are made in.
type scene struct {
	*gittest.Repo
	parent string
	other  string // a directory for what the test itself needs
}

func newScene(t *testing.T, flags ...string) *scene {
	t.Helper()
	return sceneOf(gittest.New(t, flags...))
}

func sceneOf(repo *gittest.Repo) *scene {
	repo.Helper()
	parent, err := filepath.EvalSymlinks(repo.TempDir())
	if err != nil {
		repo.Fatal(err)
	}
	s := &scene{repo, parent, repo.TempDir()}
	repo.Cleanup(s.empty) // when the trees have been removed
	return s
}

// tree makes a tree, which has to be removed by the end of the test.
func (s *scene) tree(o worktree.Options) *tree {
	s.Helper()
	return s.treeOf(s.Dir, o)
}

func (s *scene) treeOf(dir string, o worktree.Options) *tree {
	s.Helper()
	if o.Parent == "" {
		o.Parent = s.parent
	}
	tr, err := worktree.New(s.Context(), dir, o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := tr.Remove(context.WithoutCancel(s.Context())); err != nil {
			s.Error(err)
		}
	})
	return &tree{Tree: tr, Repo: s.At(tr.Root)}
}

// empty checks that there is no tree.
func (s *scene) empty() {
	s.Helper()
	left, err := os.ReadDir(s.parent)
	if err != nil || len(left) > 0 {
		s.Errorf("left behind: %v, %v", left, err)
	}
}

// refused checks that no tree is made.
func (s *scene) refused(dir string, o worktree.Options, words ...string) {
	s.Helper()
	if o.Parent == "" {
		o.Parent = s.parent
	}
	tr, err := worktree.New(s.Context(), dir, o)
	if err == nil {
		tr.Remove(context.WithoutCancel(s.Context()))
		s.Fatalf("a tree of %s was made", dir)
	}
	if _, ok := errors.AsType[*worktree.RefusedError](err); !ok {
		s.Errorf("error %#v, want a *RefusedError", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			s.Errorf("error %q, want it to mention %q", err, word)
		}
	}
	s.empty()
}

// tree is a tree with means to work in it.
type tree struct {
	*worktree.Tree
	*gittest.Repo
}

func (t *tree) diff() *worktree.Diff {
	t.Helper()
	d, err := t.Diff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// changes are those of a diff that has all of them, a line each.
func (t *tree) changes() string {
	t.Helper()
	d := t.diff()
	if len(d.Missing) > 0 {
		t.Errorf("missing in the diff: %q", d.Missing)
	}
	return listed(d)
}

func listed(d *worktree.Diff) string {
	var lines []string
	for _, c := range d.Changes {
		line := string(c.Status) + " "
		if c.OldPath != "" {
			line += c.OldPath + " -> "
		}
		line += c.Path
		if c.Binary {
			line += " binary"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// treeOfFiles is what git itself makes of the files of a tree: a git tree.
func (s *scene) treeOfFiles(tr *tree) string {
	s.Helper()
	git := s.judge(tr.Repo.Dir)
	git("read-tree", "--reset", s.Git("rev-parse", "HEAD"))
	git("-c", "advice.addEmbeddedRepo=false", "add", "-A")
	return git("write-tree")
}

// judge is git with a git directory of the test's, which has the repository's objects.
func (s *scene) judge(workTree string) func(args ...string) string {
	s.Helper()
	judge := s.At(filepath.Join(s.other, "judge"))
	if _, err := os.Stat(judge.Dir); err != nil {
		s.Git("init", "-q", judge.Dir)
		judge.Write(".git/objects/info/alternates", s.Path(".git/objects")+"\n")
	}
	return func(args ...string) string {
		s.Helper()
		return s.At(workTree).Git(append([]string{"--git-dir=" + judge.Path(".git"), "--work-tree=" + workTree}, args...)...)
	}
}

// applies checks that a patch makes of a git tree another one; "" is any.
func (s *scene) applies(to, patch, want string) {
	s.Helper()
	dir, err := os.MkdirTemp(s.other, "work")
	if err != nil {
		s.Fatal(err)
	}
	git := s.judge(dir)
	git("read-tree", "--reset", "-u", to)
	if patch != "" {
		file := filepath.Join(s.other, "patch")
		if err := os.WriteFile(file, []byte(patch), 0o666); err != nil {
			s.Fatal(err)
		}
		git("apply", "--index", file)
	}
	if got := git("write-tree"); want != "" && got != want {
		s.Errorf("the patch makes something else:\n%s\nof the patch\n%s", git("diff", "--stat", want, got), patch)
	}
	check.Equal(s, "the files", git("diff", "--name-only"), "") // they are what the index says
}
