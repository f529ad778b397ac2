//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/gittest"
	"github.com/errand-acp/errand/internal/worktree"
)

// sh has a program at work in the tree. $U is the user's repository, $RAN a file that only a
// program of its own makes.
func (s *scene) sh(tr *tree, script string) {
	s.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = tr.Root
	cmd.Env = append(gittest.Env(), "U="+s.Dir, "RAN="+s.ran())
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (s *scene) ran() string { return filepath.Join(s.other, "ran") }

// What a program has put beside its tree is neither written to, nor read, nor run, nor waited
// for, and hides nothing.
func TestBesideTheTree(t *testing.T) {
	const evil = `mkdir -p ../.evil/objects ../.evil/refs
printf '#!/bin/sh\necho ran >>"%s"\ncat\n' "$RAN" >../.evil/evil.sh; chmod +x ../.evil/evil.sh
echo ref: refs/heads/none >../.evil/HEAD
printf '[core]\n\trepositoryformatversion = 0\n[filter "x"]\n\tclean = %s/evil.sh\n' "$(cd ../.evil && pwd)" >../.evil/config
echo "* filter=x" >.gitattributes
`
	for name, tt := range map[string]struct{ script, more string }{
		"a link for a git directory":       {`for d in .user .before .after .git-private; do rm -rf ../$d; ln -s "$U/.git" ../$d; done`, ""},
		"the index is moved away":          {`[ ! -e ../.before ] || mv ../.before ../.b2; ln -s "$U/.git" ../.before`, ""},
		"a git directory with a filter":    {evil + `mkdir ../.after; echo ../.evil >../.after/commondir`, "added .gitattributes\n"},
		"a filter in what is there":        {evil + `for d in ../.[a-z]*/; do echo ../.evil >$d/commondir; done`, "added .gitattributes\n"},
		"pipes":                            {`for d in .user .before .after; do rm -rf ../$d; mkdir ../$d; mkfifo ../$d/HEAD ../$d/index ../$d/config; done; rm -f ../.git; mkfifo ../.git`, ""},
		"a file that is assumed unchanged": {`for d in .git ../.*/; do git --git-dir=$d --work-tree=. update-index --assume-unchanged a; done; true`, ""},
		"an index that has it already": {`echo x >>a
for d in ../.*/; do git --git-dir=$d --work-tree=. update-index a; done; true`, ""},
		"an index without it":              {`for d in ../.*/; do rm -f $d/index; done`, ""},
		"a file of the same size and time": {`touch -r a ../time; printf b >new; cat new >/dev/null; rm new; printf 'B\n' | dd of=a conv=notrunc 2>/dev/null; touch -r ../time a`, ""},
	} {
		for _, uncommitted := range []bool{false, true} {
			name := name
			if uncommitted {
				name += ", uncommitted"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t)
				s.Write("a", "a\n").Write("b", "b\n").Commit("first").Write("b", "bb\n")
				before := s.Snapshot()
				t.Cleanup(func() { s.Untouched(before) }) // by its removal
				tr := s.tree(worktree.Options{Uncommitted: uncommitted})
				s.sh(tr, tt.script+"\necho evil >>a")
				d := tr.diff()
				s.Untouched(before)
				check.Equal(t, "changes", listed(d), tt.more+"modified a")
				check.Equal(t, "missing", len(d.Missing), 0)
				if _, err := os.Stat(s.ran()); err == nil {
					t.Error("a program of the tree's was run")
				}
			})
		}
	}
}

// A tree that is another one than was made, or elsewhere, has nothing to say. Then nothing is
// touched, also by those who want it removed.
func TestReplaced(t *testing.T) {
	for name, script := range map[string]string{
		"the directory around it, by a link to it":    `cd ..; o=$PWD; mv "$o" "$o.x"; ln -s "$o.x" "$o"`,
		"the directory around it, by one to the user": `cd ..; o=$PWD; n=$(basename "$OLDPWD"); mv "$o" "$o.x"; ln -s "$(dirname "$U")" "$o"`,
		"the directory around it, by another":         `cd ..; o=$PWD; mv "$o" "$o.x"; cp -R "$o.x" "$o"`,
		"where it was made, by a link to the user":    `cd ../..; p=$PWD; mv "$p" "$p.x"; ln -s "$U" "$p"`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Write("a", "a\n").Commit("first")
			before := s.Snapshot()
			parent := filepath.Join(s.parent, "trees")
			check.Equal(t, "parent", os.Mkdir(parent, 0o777), nil)
			tr, err := worktree.New(t.Context(), s.Dir, worktree.Options{Parent: parent})
			if err != nil {
				t.Fatal(err)
			}
			in := &tree{Tree: tr, Repo: s.At(tr.Root)}
			s.sh(in, "echo evil >>a\n"+script)
			there := s.At(s.parent).Snapshot()
			if d, err := tr.Diff(t.Context()); err == nil {
				t.Errorf("there is a diff: %q", listed(d))
			} else {
				check.Has(t, err.Error(), "moved, removed or replaced")
			}
			tr.Keep()
			if err := tr.Remove(context.WithoutCancel(s.Context())); err == nil {
				t.Error("it is removed without a word")
			}
			s.Untouched(before)
			s.At(s.parent).Untouched(there)
			check.Equal(t, "removed", os.RemoveAll(s.parent), nil)
			check.Equal(t, "for the next", os.Mkdir(s.parent, 0o700), nil)
		})
	}
}

// Base objects that a program has changed are not taken for those of the base.
func TestObjectsOfTheBase(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Commit("first").Write("a", "not committed\n")
	before := s.Snapshot()
	tr := s.tree(worktree.Options{Uncommitted: true})
	s.sh(tr, `echo evil >a
for d in ../.*/objects; do
	[ -d "$d" ] || continue
	find $d -type f -exec chmod u+w {} +
	o=$(printf 'evil\n' | git hash-object -w --stdin)
	find $d -type f | while read f; do cp -f .git/objects/$(echo $o | sed 's,..,&/,') $f; done
done`)
	d := tr.diff()
	check.Equal(t, "changes", listed(d), "modified a")
	check.Has(t, d.Patch, "-not committed\n+evil\n")
	s.Untouched(before)
}

// Removing ends with the context too, and begins again.
func TestRemoveEnds(t *testing.T) {
	s := newScene(t)
	s.Write("a", "a\n").Commit("first")
	tr := s.tree(worktree.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Tree.Remove(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
