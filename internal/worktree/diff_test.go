//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/gittest"
	"github.com/errand-acp/errand/internal/worktree"
)

// base is a repository with a file of each sort.
func base(t *testing.T) *scene {
	s := newScene(t)
	s.Write("text", strings.Repeat("line\n", 50)).Write("no newline", "x").Write("empty", "").Write("crlf", "a\r\nb\r\n")
	s.Write("latin", "caf\xe9\n").Write("binary", "a\x00b").Write("run", "#!/bin/sh\n").Mode("run", 0o755)
	s.Link("link", "text").Write("dir/a", "a\n").Write("dir/b", "b\n").Write(".gitignore", "*.o\n/build/\n").Write("build.o", "x")
	s.Write(".gitattributes", "eol.txt text eol=crlf\nbinary -diff\n*.lock -diff\nforced diff\n*.p filter=p\n").Write("eol.txt", "a\r\nb\r\n")
	s.Write("a.lock", "lock\n").Write("forced", "a\x00b\n")
	return sceneOf(s.Commit("first"))
}

// The patch of any change applies to the base, and makes of it what is in the tree.
func TestDiff(t *testing.T) {
	for name, tt := range map[string]struct {
		work func(tr *gittest.Repo)
		want string
	}{
		"text":           {func(r *gittest.Repo) { r.Write("text", r.Read("text")+"more") }, "modified text"},
		"no newline":     {func(r *gittest.Repo) { r.Write("no newline", "y") }, "modified no newline"},
		"filled":         {func(r *gittest.Repo) { r.Write("empty", "x\n") }, "modified empty"},
		"emptied":        {func(r *gittest.Repo) { r.Write("text", "") }, "modified text"},
		"crlf":           {func(r *gittest.Repo) { r.Write("crlf", "a\r\nc\n\r") }, "modified crlf"},
		"eol attribute":  {func(r *gittest.Repo) { r.Write("eol.txt", "a\r\nb\r\nc\r\n") }, "modified eol.txt"},
		"latin":          {func(r *gittest.Repo) { r.Write("latin", "caf\xe9s\n").Write("text", "t\n") }, "modified latin\nmodified text"},
		"binary":         {func(r *gittest.Repo) { r.Write("binary", "a\x00c") }, "modified binary binary"},
		"a lock is text": {func(r *gittest.Repo) { r.Write("a.lock", "lock\nlock\n") }, "modified a.lock"},
		"forced to text": {func(r *gittest.Repo) { r.Write("forced", "b\x00c\n") }, "modified forced binary"},
		"mode":           {func(r *gittest.Repo) { r.Mode("text", 0o755).Mode("run", 0o644) }, "modified run\nmodified text"},
		"link":           {func(r *gittest.Repo) { r.Link("link", "dir/a") }, "modified link"},
		"latin link":     {func(r *gittest.Repo) { r.Link("link", "caf\xe9") }, "modified link"},
		"link to file":   {func(r *gittest.Repo) { r.Remove("link").Write("link", "x\n") }, "type_changed link"},
		"file to link":   {func(r *gittest.Repo) { r.Link("text", "/nowhere") }, "type_changed text"},
		"dir to file":    {func(r *gittest.Repo) { r.Remove("dir").Write("dir", "x\n") }, "added dir\ndeleted dir/a\ndeleted dir/b"},
		"dir to link":    {func(r *gittest.Repo) { r.Remove("dir").Write("new/a", "b\n").Link("dir", "new") }, "added dir\ndeleted dir/a\nrenamed dir/b -> new/a"},
		"file to dir":    {func(r *gittest.Repo) { r.Remove("text").Write("text/a", "x\n") }, "deleted text\nadded text/a"},
		"new":            {func(r *gittest.Repo) { r.Write("new", "x\n").Write("deep/er/new", "\x00") }, "added deep/er/new binary\nadded new"},
		"new and empty":  {func(r *gittest.Repo) { r.Write("new", "") }, "added new"},
		"gone":           {func(r *gittest.Repo) { r.Remove("text").Remove("binary") }, "deleted binary binary\ndeleted text"},
		"renamed":        {func(r *gittest.Repo) { r.Write("moved", r.Read("text")+"x\n").Remove("text") }, "renamed text -> moved"},
		"committed": {func(r *gittest.Repo) {
			r.Write("text", "x\n").Commit("a").Write("new", "y\n").Commit("b").Write("new", "z\n")
		}, "added new\nmodified text"},
		"committed away":  {func(r *gittest.Repo) { r.Write("text", "x\n").Commit("a").Git("checkout", "-q", "HEAD~1") }, ""},
		"staged":          {func(r *gittest.Repo) { r.Write("new", "y\n").Git("add", "new"); r.Git("rm", "-q", "text") }, "added new\ndeleted text"},
		"ignored":         {func(r *gittest.Repo) { r.Write("x.o", "x").Write("build/x", "x") }, ""},
		"ignored by it":   {func(r *gittest.Repo) { r.Write(".git/info/exclude", "new\n").Write("new", "x\n") }, "added new"},
		"ignored now":     {func(r *gittest.Repo) { r.Write(".gitignore", "*\n").Write("new", "x\n").Write("text", "x\n") }, "modified .gitignore\nmodified text"},
		"assumed as same": {func(r *gittest.Repo) { r.Git("update-index", "--assume-unchanged", "text"); r.Write("text", "x\n") }, "modified text"},
		"names": {func(r *gittest.Repo) {
			for _, name := range oddNames {
				r.Write(name, name)
			}
		}, "added  \nadded \"\\\"quoted\\\"\"\nadded \"caf\\351\"\nadded -leading\nadded :(glob)*\nadded a\nb\nadded back\\slash\nadded tab\t"},
		"no repository any more": {func(r *gittest.Repo) { r.Remove(".git").Write("text", "x\n") }, "modified text"},
		"another repository":     {func(r *gittest.Repo) { r.Remove(".git").Git("init", "-q"); r.Write("text", "x\n") }, "modified text"},
		"everything away":        {func(r *gittest.Repo) { r.Remove("dir").Remove("text"); r.Git("rm", "-rfq", ".") }, ""},
		"diff --git in a text": {func(r *gittest.Repo) {
			r.Write("text", "\ndiff --git a/x b/x\n").Write("latin", "\xe9\ndiff --git a/y b/y\n")
		}, "modified latin\nmodified text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := base(t)
			before := s.Snapshot()
			tr := s.tree(worktree.Options{})
			tt.work(tr.Repo)
			want := s.treeOfFiles(tr)
			d := tr.diff()
			if tt.want != "" && listed(d) != tt.want {
				t.Errorf("changes (-want +got):\n%s", cmp.Diff(tt.want, listed(d)))
			}
			if (d.Patch == "") != (len(d.Changes) == 0) {
				t.Errorf("%d changes, and a patch of %d bytes", len(d.Changes), len(d.Patch))
			}
			if !utf8.ValidString(d.Patch) {
				t.Errorf("the patch is not UTF-8: %q", d.Patch)
			}
			s.Untouched(before)
			s.applies(s.Git("rev-parse", "HEAD"), d.Patch, want)
		})
	}
}

var oddNames = []string{"a\nb", "caf\xe9", `"quoted"`, "-leading", " ", "tab\t", ":(glob)*", `back\slash`}

// A patch applies to HEAD however the files of a tree came to be what they are, and
// whatever was done with git in it.
func TestDiffOfAnything(t *testing.T) {
	for seed := range 12 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(uint64(seed), 0))
			s := base(t)
			// What the user has not committed is to be seen or not, and never to be touched.
			meddle(s.Repo, rnd, rnd.IntN(5))
			o := worktree.Options{Uncommitted: rnd.IntN(2) == 0}
			before := s.Snapshot()
			tr := s.tree(o)
			start := s.treeOfFiles(tr)
			meddle(tr.Repo, rnd, 1+rnd.IntN(20))
			want := s.treeOfFiles(tr)
			d := tr.diff()
			s.Untouched(before)
			if o.Uncommitted {
				check.Equal(t, "the start", start, s.treeOfFiles(&tree{Repo: s.Repo}))
			} else {
				check.Equal(t, "the start", start, s.Git("rev-parse", "HEAD^{tree}"))
			}
			s.applies(start, d.Patch, want)
		})
	}
}

// meddle does n things at random.
func meddle(r *gittest.Repo, rnd *rand.Rand, n int) {
	r.Helper()
	names := append([]string{"text", "latin", "binary", "run", "link", "dir", "dir/a", "new", "new/er", "x.o", "build", "eol.txt", "crlf"}, oddNames...)
	texts := []string{"", "x", "line\n", strings.Repeat("line\n", 49), "\x00\x01", "caf\xe9\r\n", "\ndiff --git a/b b/b\n", "\xff\xfe"}
	any := func(of []string) string { return of[rnd.IntN(len(of))] }
	for range n {
		name := any(names)
		switch rnd.IntN(12) {
		case 0:
			r.Remove(name)
		case 1:
			if err := os.MkdirAll(filepath.Dir(r.Path(name)), 0o777); err == nil {
				r.Remove(name).Link(name, any(names))
			}
		case 2:
			os.Rename(r.Path(name), r.Path(any(names))) // if it can be
		case 3:
			if info, err := os.Lstat(r.Path(name)); err == nil && info.Mode().IsRegular() {
				r.Mode(name, 0o644|fs.FileMode(rnd.IntN(2)*0o111))
			}
		case 4:
			r.TryGit("commit", "-qam", "some")
		case 5:
			r.TryGit("add", "-A")
		case 6:
			r.TryGit(strings.Fields(any([]string{"stash -q", "stash -qu", "reset -q --hard", "branch -f main", "checkout -q -b side", "gc -q --prune=now", "rm -rfq dir"}))...)
		default:
			if info, err := os.Lstat(r.Path(name)); err == nil && info.IsDir() {
				name += "/" + any([]string{"a", "b", "c"})
			}
			os.MkdirAll(filepath.Dir(r.Path(name)), 0o777)
			os.WriteFile(r.Path(name), []byte(any(texts)+any(texts)), 0o666) // if it can be
		}
	}
}

// What is no file, cannot be read, or is in a repository of its own is told.
func TestDiffLacks(t *testing.T) {
	for name, tt := range map[string]struct {
		work func(s *scene, tr *gittest.Repo)
		lack string
		want string
	}{
		"a new repository": {func(_ *scene, r *gittest.Repo) {
			r.Write("emb/x", "x\n").Write("text", "t\n").At(r.Path("emb")).Git("init", "-q")
		}, `in repositories of their own: "emb"`, "modified text"},
		"a clone": {func(s *scene, r *gittest.Repo) {
			r.Write("text", "t\n").Git("clone", "-q", s.Dir, "emb")
		}, `in repositories of their own: "emb"`, "modified text"},
		"a populated submodule": {func(s *scene, r *gittest.Repo) {
			r.Write("text", "t\n").Git("-c", "protocol.file.allow=always", "submodule", "-q", "update", "--init")
			r.Write("sub/a", "changed\n")
		}, `in repositories of their own: "sub"`, "modified text"},
		"files in a submodule's place": {func(_ *scene, r *gittest.Repo) {
			r.Write("text", "t\n").Write("sub/new", "x\n")
		}, `in repositories of their own: "sub"`, "modified text"},
		"a submodule away": {func(_ *scene, r *gittest.Repo) { r.Remove("sub") }, "", "deleted sub"},
		"a fifo for a file": {func(_ *scene, r *gittest.Repo) {
			r.Write("new", "n\n").Remove("text")
			if err := syscall.Mkfifo(r.Path("text"), 0o666); err != nil {
				r.Fatal(err)
			}
		}, `cannot be read or is no file: "text"`, "added new"},
		"a new fifo": {func(_ *scene, r *gittest.Repo) {
			if err := syscall.Mkfifo(r.Path("new"), 0o666); err != nil {
				r.Fatal(err)
			}
		}, "", ""},
		"a directory without a right": {func(_ *scene, r *gittest.Repo) { r.Write("text", "t\n").Mode("dir", 0) }, "could not look at", "modified text"},
		"a file without a right":      {func(_ *scene, r *gittest.Repo) { r.Write("text", "t\n").Write("new", "n\n").Mode("text", 0) }, `cannot be read or is no file: "text"`, "added new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(name, "right") && os.Geteuid() == 0 {
				t.Skip("root can read everything")
			}
			s := base(t)
			sub := gittest.New(t)
			sub.Write("a", "a\n").Commit("first")
			s.Git("-c", "protocol.file.allow=always", "submodule", "-q", "add", sub.Dir, "sub")
			s.Commit("second")
			before := s.Snapshot()
			tr := s.tree(worktree.Options{})
			check.Equal(t, "warnings", strings.Join(tr.Warnings, "\n"), `submodules are not populated: "sub"`)
			check.Equal(t, "status", tr.Git("status", "--porcelain"), "")
			tt.work(s, tr.Repo)
			d := tr.diff()
			s.Untouched(before)
			check.Equal(t, "changes", listed(d), tt.want)
			missing := strings.Join(d.Missing, "\n")
			if tt.lack == "" {
				check.Equal(t, "missing", missing, "")
			}
			check.Has(t, missing, tt.lack)
		})
	}
}

// Nothing that is configured, by whomever, is ever run.
func TestNothingIsRun(t *testing.T) {
	s := base(t)
	ran := filepath.Join(t.TempDir(), "ran")
	trap := func(r *gittest.Repo, what string) {
		r.Helper()
		program := r.Path(".git/trap-" + what)
		r.Write(".git/trap-"+what, "#!/bin/sh\necho "+what+" \"$@\" >> "+ran+"\ncat\n").Mode(".git/trap-"+what, 0o755)
		for _, key := range []string{
			"core.fsmonitor", "filter.p.clean", "filter.p.smudge", "filter.p.process", "diff.external", "diff.p.command", "diff.p.textconv",
			"core.pager", "core.editor", "core.sshCommand", "core.gitProxy", "gpg.program", "core.askPass", "uploadpack.packObjectsHook", "core.alternateRefsCommand",
		} {
			r.Git("config", key, program)
		}
		r.Git("config", "core.hooksPath", r.Path(".git/hooks"))
		for _, hook := range []string{"post-checkout", "post-index-change", "pre-commit", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "post-commit", "prepare-commit-msg"} {
			r.Write(".git/hooks/"+hook, "#!/bin/sh\necho "+what+" hook >> "+ran+"\n").Mode(".git/hooks/"+hook, 0o755)
		}
	}
	s.Write("f.p", "p\n").Write(".gitattributes", "*.p filter=p diff=p\n").Commit("filtered")
	sub := gittest.New(t)
	sub.Write("a", "a\n").Commit("first")
	s.Git("-c", "protocol.file.allow=always", "submodule", "-q", "add", sub.Dir, "sub")
	s.Commit("with a submodule")
	trap(s.Repo, "user")
	s.Write("f.p", "pp\n").Write("sub/a", "changed\n")
	// That of a submodule is in the user's .git.
	s.Git("config", "--file", s.Path(".git/modules/sub/config"), "core.fsmonitor", s.Path(".git/trap-user"))
	global := filepath.Join(t.TempDir(), "global")
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	home := t.TempDir()
	t.Setenv("HOME", home)
	settings, err := os.ReadFile(s.Path(".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{global, filepath.Join(home, ".gitconfig")} {
		if err := os.WriteFile(name, settings, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Snapshot()
	for _, uncommitted := range []bool{false, true} {
		tr := s.tree(worktree.Options{Uncommitted: uncommitted})
		tr.Git("-c", "protocol.file.allow=always", "submodule", "-q", "update", "--init")
		tr.Write("sub/a", "mine\n").Write("f.p", "ppp\n").Write("new.p", "p\n")
		tr.At(tr.Path("sub")).Git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qam", "x")
		tr.Write("emb/x", "x\n").At(tr.Path("emb")).Git("init", "-q")
		emb := tr.At(tr.Path("emb"))
		emb.Git("add", "-A")
		emb.Git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x")
		trap(tr.Repo, "agent")
		trap(emb, "embedded")
		tr.Git("config", "--file", tr.Path(".git/modules/sub/config"), "core.fsmonitor", tr.Path(".git/trap-agent"))
		tr.Git("config", "diff.submodule", "log")
		os.Remove(ran) // what the commands above have run is their own affair
		check.Equal(t, "changes", listed(tr.diff()), "modified f.p\nadded new.p")
	}
	s.Untouched(before)
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("there was run: %s", text)
	}
}

// A patch has a limit, also one that is made in two ways.
func TestMaxPatch(t *testing.T) {
	s := base(t)
	for _, latin := range []bool{false, true} {
		for size, fits := range map[int]bool{100: true, 2000: false} {
			tr := s.tree(worktree.Options{MaxPatch: 1000})
			tr.Write("new", strings.Repeat("x", size))
			want := "added new"
			if latin {
				tr.Write("latin", "\xe9\xe9\n")
				want = "modified latin\nadded new"
			}
			d, err := tr.Diff(t.Context())
			if errors.Is(err, worktree.ErrTooLarge) == fits || fits && err != nil {
				t.Errorf("%d bytes: error %v", size, err)
			}
			check.Equal(t, "changes", listed(d), want)
			check.Equal(t, "there is a patch", d.Patch != "", fits)
		}
	}
}

// What git waits for without end ends with the context.
func TestDiffEnds(t *testing.T) {
	s := base(t)
	tr := s.tree(worktree.Options{})
	if err := syscall.Mkfifo(tr.Path("dir/.gitignore"), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := tr.Diff(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// A tree that is another one than was made has nothing to say.
func TestDiffOfAnotherTree(t *testing.T) {
	s := base(t)
	for name, put := range map[string]func(root string) error{
		"nothing": func(string) error { return nil },
		"a link":  func(root string) error { return os.Symlink(s.Dir, root) },
		"another": func(root string) error { return os.Mkdir(root, 0o777) },
	} {
		tr := s.tree(worktree.Options{})
		aside := tr.Root + "-aside" // so that its number is not given to another one
		check.Equal(t, name, os.Rename(tr.Root, aside), nil)
		check.Equal(t, name, put(tr.Root), nil)
		if _, err := tr.Diff(t.Context()); err == nil {
			t.Errorf("%s: there is a diff", name)
		}
	}
}

// By default what is not committed is not seen, and that is said.
func TestUncommitted(t *testing.T) {
	for name, tt := range map[string]struct {
		work func(r *gittest.Repo)
		want string // what is seen if it is to be
	}{
		"modified":         {func(r *gittest.Repo) { r.Write("text", "t\n") }, " M text"},
		"of the same size": {func(r *gittest.Repo) { r.Write("text", strings.Repeat("LINE\n", 50)) }, " M text"},
		"staged":           {func(r *gittest.Repo) { r.Write("text", "t\n").Git("add", "text") }, " M text"},
		"staged and new":   {func(r *gittest.Repo) { r.Write("new", "t\n").Git("add", "new") }, "?? new"},
		"forced":           {func(r *gittest.Repo) { r.Write("x.o", "t\n").Git("add", "-f", "x.o") }, ""},
		"meant":            {func(r *gittest.Repo) { r.Write("new", "t\n").Git("add", "-N", "new") }, "?? new"},
		"new":              {func(r *gittest.Repo) { r.Write("new", "t\n") }, "?? new"},
		"gone":             {func(r *gittest.Repo) { r.Remove("text") }, " D text"},
		"removed":          {func(r *gittest.Repo) { r.Git("rm", "-q", "text") }, " D text"},
		"of another mode":  {func(r *gittest.Repo) { r.Mode("text", 0o755) }, " M text"},
		"only staged": {func(r *gittest.Repo) {
			old := r.Read("text")
			r.Write("text", "t\n").Git("add", "text")
			r.Write("text", old)
		}, ""},
		"in conflict": {func(r *gittest.Repo) {
			r.Git("checkout", "-q", "-b", "side")
			r.Write("text", "side\n").Commit("side").Git("checkout", "-q", "main")
			r.Write("text", "main\n").Commit("main").TryGit("merge", "side")
		}, " M text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := base(t)
			tt.work(s.Repo)
			before := s.Snapshot()
			tr := s.tree(worktree.Options{})
			check.Has(t, strings.Join(tr.Warnings, "\n"), "has uncommitted changes, which the run does not see")
			check.Equal(t, "status", tr.Git("status", "--porcelain"), "")
			tr = s.tree(worktree.Options{Uncommitted: true})
			check.Equal(t, "warnings", strings.Join(tr.Warnings, "\n"), "")
			check.Equal(t, "status", tr.Git("status", "--porcelain"), tt.want)
			check.Equal(t, "the start", s.treeOfFiles(tr), s.treeOfFiles(&tree{Repo: s.Repo}))
			tr.Write("mine", "x\n")
			check.Equal(t, "changes", tr.changes(), "added mine")
			s.Untouched(before)
		})
	}
}

// What is ignored is no change of the user's, wherever it says so.
func TestIgnored(t *testing.T) {
	s := base(t)
	excludes := filepath.Join(t.TempDir(), "excludes")
	if err := os.WriteFile(excludes, []byte("*.global\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s.Git("config", "core.excludesFile", excludes)
	s.Write(".git/info/exclude", "*.local\n").Write("x.o", "").Write("x.global", "").Write("x.local", "")
	tr := s.tree(worktree.Options{Uncommitted: true})
	check.Equal(t, "warnings", strings.Join(s.tree(worktree.Options{}).Warnings, "\n"), "")
	tr.Write("y.o", "").Write("y.global", "").Write("y.local", "").Write("y", "y\n")
	check.Equal(t, "status", tr.Git("status", "--porcelain"), "?? y")
	check.Equal(t, "changes", tr.changes(), "added y")
}

// A work tree with the line ends of another system is not changed all over.
func TestAutoCRLF(t *testing.T) {
	s := newScene(t)
	s.Git("config", "core.autocrlf", "true")
	s.Write("a", "a\r\nb\r\n").Commit("first")
	os.Remove(s.Path(".git/index"))
	s.Git("reset", "-q")
	tr := s.tree(worktree.Options{Uncommitted: true})
	check.Equal(t, "a", tr.Read("a"), "a\r\nb\r\n")
	tr.Write("a", "a\r\nc\r\n")
	d := tr.diff()
	check.Has(t, d.Patch, " a\n-b\n+c\n")
	s.applies(s.Git("rev-parse", "HEAD"), d.Patch, "")
}

// A file that is not stored as its attributes say is no change of a program's that did not
// touch it.
func TestNotNormal(t *testing.T) {
	s := newScene(t)
	s.Write("crlf", "a\r\nb\r\n").Write("touched", "a\r\nb\r\n").Write("moded", "a\r\nb\r\n").Write("gone", "a\r\nb\r\n").Commit("first")
	s.Write(".gitattributes", "* text\n").Git("add", ".gitattributes")
	s.Git("commit", "-qm", "attributes")
	for _, uncommitted := range []bool{false, true} {
		tr := s.tree(worktree.Options{Uncommitted: uncommitted})
		tr.Write("touched", "a\r\nc\r\n").Mode("moded", 0o755).Remove("gone").Write("new", "n\n")
		check.Equal(t, "changes", tr.changes(), "deleted gone\nmodified moded\nadded new\nmodified touched")
	}
}
