package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/gittest"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
	"github.com/errand-acp/errand/subagent/subagenttest"
)

// treeScene is a repository, a provider whose runs have trees of it, and where these are.
type treeScene struct {
	*gittest.Repo
	provider subagent.Provider
	parent   string
}

// trees puts a provider into work trees of a new repository with the files a and sub/b.
func trees(t *testing.T, p subagent.Provider, o subagent.WorktreeOptions) *treeScene {
	t.Helper()
	s := &treeScene{Repo: gittest.New(t), parent: canonical(t, t.TempDir())}
	s.Write("a", "a\n").Write("sub/b", "b\n").Commit("first")
	if o.Parent == "" {
		o.Parent = s.parent
	}
	var err error
	if s.provider, err = subagent.Worktree(p, &o); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *treeScene) request() subagent.Request {
	return subagent.Request{Dir: s.Dir, Prompt: subagent.Text("go")}
}

// run carries out one task, with which the user's repository is not touched.
func (s *treeScene) run() *subagent.Result {
	s.Helper()
	before := s.Snapshot()
	ctx, cancel := context.WithTimeout(s.Context(), hang)
	defer cancel()
	res, err := subagent.Delegate(ctx, s.provider, s.request())
	if err != nil {
		s.Fatalf("it did not start: %v", err)
	}
	s.Untouched(before)
	return res
}

// empty checks that there is no tree.
func (s *treeScene) empty() {
	s.Helper()
	if left, err := os.ReadDir(s.parent); err != nil || len(left) > 0 {
		s.Errorf("left behind: %v, %v", left, err)
	}
}

// kept is the tree that was kept, which is removed with the test.
func (s *treeScene) kept(res *subagent.Result) *gittest.Repo {
	s.Helper()
	if res.Worktree == nil || res.Worktree.Kept == nil {
		s.Fatalf("nothing is kept: %+v; warnings %q", res.Worktree, res.Warnings)
	}
	return s.At(*res.Worktree.Kept)
}

// patch is that of a result.
func patch(t testing.TB, res *subagent.Result) string {
	t.Helper()
	if res.Patch == nil {
		t.Fatalf("there is no patch; warnings %q", res.Warnings)
	}
	return *res.Patch
}

// changed are the changes of a result.
func changed(res *subagent.Result) string {
	var lines []string
	for _, c := range res.Changes {
		lines = append(lines, string(c.Status)+" "+c.Path)
	}
	return strings.Join(lines, ", ")
}

// worker is a provider of a function that works in its directory.
func worker(t testing.TB, work func(ctx context.Context, in *gittest.Repo) error) subagent.Provider {
	t.Helper()
	p, err := subagent.NewFunc("worker", func(ctx context.Context, req subagent.Request, _ func(acp.SessionUpdate)) (acp.StopReason, error) {
		return acp.StopReasonEndTurn, work(ctx, &gittest.Repo{TB: t, Dir: req.Dir})
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func typesOf(events ...subagent.Event) string {
	var list []string
	for _, e := range events {
		list = append(list, string(e.Type))
	}
	return strings.Join(list, " ")
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// hostedGit has the agent run git through us, where it works.
func hostedGit(args ...string) string {
	return fmt.Sprintf(`  request terminal/create {"sessionId":"$session","command":"git","args":["%s"]}
  set t "$answer.terminalId"
  request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}
`, strings.Join(args, `","`))
}

func TestWorktreeContract(t *testing.T) {
	repo := gittest.New(t)
	repo.Write("a", "a\n").Commit("first")
	parent := canonical(t, t.TempDir())
	t.Setenv("TMPDIR", repo.Dir) // so that the directories of the tests are in it
	for name, make := range map[string]func(t *testing.T) subagent.Provider{
		"a function": func(t *testing.T) subagent.Provider { return inProcess(t, "a function") },
		"ACP": func(t *testing.T) subagent.Provider {
			return scripted(t, contractScript, &subagent.ACPOptions{Graces: shortGraces})
		},
	} {
		t.Run(name, func(t *testing.T) {
			subagenttest.Run(t, func(t *testing.T) subagent.Provider {
				p, err := subagent.Worktree(make(t), &subagent.WorktreeOptions{Parent: parent})
				if err != nil {
					t.Fatal(err)
				}
				return p
			})
		})
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The result says what was changed, of what, and where that was.
func TestWorktreeResult(t *testing.T) {
	s := trees(t, scripted(t, "on session/prompt\n  write b \"bb\\n\"\n"+hostedGit("commit", "-qam", "mine")+hostedGit("branch", "-f", "other", "HEAD~1")+"  write new \"n\\n\"\n  text \"$cwd\"",
		&subagent.ACPOptions{Terminals: true, Permission: permission.Allow()}), subagent.WorktreeOptions{})
	s.Write("sub/b", "not committed\n")
	before := s.Snapshot()
	var told []subagent.Event
	req := s.request()
	req.Dir = s.Path("sub")
	req.Events = func(e subagent.Event) { told = append(told, e) }
	run, err := s.provider.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	settled := outcome(t, run)
	res := closed(t, run)
	ended(t, res, stopreason.Completed, "")
	s.Untouched(before)
	s.empty()

	check.Equal(t, "where it ran", res.Output, res.Dir)
	check.Equal(t, "the directory", filepath.Base(res.Dir)+filepath.Base(filepath.Dir(res.Dir)), "subproject")
	check.Equal(t, "where that is", strings.HasPrefix(res.Dir, s.parent+string(filepath.Separator)), true)
	want := &subagent.WorktreeInfo{Repository: s.Dir, Base: s.Git("rev-parse", "HEAD")}
	if diff := cmp.Diff(want, res.Worktree); diff != "" {
		t.Errorf("worktree (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]subagent.Change{
		{Path: "sub/b", Status: subagent.ChangeModified, Added: ptr(1), Deleted: ptr(1)},
		{Path: "sub/new", Status: subagent.ChangeAdded, Added: ptr(1), Deleted: ptr(0)},
	}, res.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	check.Has(t, patch(t, res), "+++ b/sub/b\n", "-b\n+bb\n", "+++ b/sub/new\n")
	check.Has(t, strings.Join(res.Warnings, "\n"), "has uncommitted changes, which the run does not see")
	check.Equal(t, "commands", len(res.Commands), 2)
	for _, c := range res.Commands {
		if c.Exit == nil || c.Exit.Code == nil || *c.Exit.Code != 0 {
			t.Errorf("git in the tree: %+v", c)
		}
	}

	// The outcome has what is known by then, for whoever asks.
	check.Equal(t, "the outcome's changes", settled.Patch == nil && settled.Changes == nil, true)
	check.Equal(t, "the outcome's base", settled.Worktree.Base, res.Worktree.Base)
	check.Equal(t, "the outcome again", outcome(t, run) == settled, true)
	check.Equal(t, "events", typesOf(told[0], told[1], told[len(told)-1]), "start warning end")
	check.Equal(t, "the warning", told[1].Warning+told[1].RunID, res.Warnings[0]+run.ID())
	check.Equal(t, "the end", told[len(told)-1].Result == settled, true)
}

// Partial work is in the patch, however the run ends.
func TestWorktreeEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		stop   stopreason.Outcome
		kind   client.ErrorKind
		want   string
	}{
		"crashed":   {"raise KILL", stopreason.Error, client.KindExit, "modified a"},
		"failed":    {"fail 1 no", stopreason.Error, client.KindAgent, "modified a"},
		"refused":   {"stop refusal", stopreason.Refusal, "", "modified a"},
		"cancelled": {"write there; wait forever", stopreason.Aborted, "", "modified a, added there"},
		// The patch is made when all processes have ended.
		"with others left behind": {"spawn session; write late; wait forever; end; wait file late", stopreason.Completed, "", "modified a, added late"},
		"with last words":         {"stop end_turn\non eof; write last; exit 0", stopreason.Completed, "", "modified a, added last"},
	} {
		t.Run(name, func(t *testing.T) {
			s := trees(t, scripted(t, "on session/prompt; write a half; "+tt.script, &subagent.ACPOptions{Graces: shortGraces}), subagent.WorktreeOptions{})
			before := s.Snapshot()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			run, err := s.provider.Start(ctx, s.request())
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if name == "cancelled" {
				dirs, err := filepath.Glob(filepath.Join(s.parent, "*", "project"))
				if err != nil || len(dirs) != 1 {
					t.Fatalf("trees: %v, %v", dirs, err)
				}
				traces.Until(t, "a file there", func() bool { return fileExists(filepath.Join(dirs[0], "there")) })
				cancel()
			}
			outcome(t, run)
			res := closed(t, run)
			ended(t, res, tt.stop, tt.kind)
			check.Has(t, patch(t, res), "+half")
			check.Equal(t, "changes", changed(res), tt.want)
			s.Untouched(before)
			s.empty()
		})
	}
}

// A start that fails leaves no tree, and says what is wrong before anything is started.
func TestWorktreeNotStarted(t *testing.T) {
	s := trees(t, scripted(t, "exit 3", nil), subagent.WorktreeOptions{})
	_, err := s.provider.Start(t.Context(), s.request())
	e := asError(t, err, client.KindExit)
	s.empty()
	if e.Partial == nil || e.Partial.Worktree == nil || !strings.HasPrefix(e.Partial.Dir, s.parent) {
		t.Errorf("what is known of it: %+v", e.Partial)
	}

	for name, tt := range map[string]struct {
		dir  func(s *treeScene) string
		want string
	}{
		"no repository": {func(s *treeScene) string { return canonical(t, t.TempDir()) }, "is not in a git repository"},
		"git's own":     {func(s *treeScene) string { return s.Path(".git") }, "is not in the work tree"},
		"no commit": {func(s *treeScene) string {
			s.Git("checkout", "-q", "--orphan", "none")
			return s.Dir
		}, "has no commit yet"},
	} {
		t.Run(name, func(t *testing.T) {
			inner := play(t, "", nil)
			s := trees(t, inner.provider, subagent.WorktreeOptions{})
			req := s.request()
			req.Dir = tt.dir(s)
			_, err := s.provider.Start(t.Context(), req)
			e := asError(t, err, client.KindConfig)
			check.Equal(t, "step", e.Step, client.StepConfig)
			check.Equal(t, "provider", e.Provider, s.provider.Name())
			check.Has(t, err.Error(), tt.want)
			inner.NotStarted()
			s.empty()
		})
	}
}

// What panics, or ends its goroutine, at the start leaves no tree either.
func TestWorktreePanic(t *testing.T) {
	p, err := subagent.NewProvider("panics", func(context.Context, subagent.Request) (*subagent.Session, error) { panic("no") })
	if err != nil {
		t.Fatal(err)
	}
	s := trees(t, p, subagent.WorktreeOptions{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		s.provider.Start(t.Context(), s.request())
	}()
	s.empty()
}

// A provider whose Close panics, or ends its goroutine, costs neither the patch nor the
// outcome, and its tree does not stay.
func TestWorktreeBrokenClose(t *testing.T) {
	for name, end := range map[string]func(){"panics": boom, "ends its goroutine": runtime.Goexit} {
		for _, waited := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, waited %v", name, waited), func(t *testing.T) {
				started := make(chan struct{})
				s := trees(t, panicky{Provider: worker(t, func(ctx context.Context, in *gittest.Repo) error {
					in.Write("a", "b\n")
					close(started)
					if !waited {
						<-ctx.Done()
					}
					return nil
				}), close: end}, subagent.WorktreeOptions{})
				run, err := s.provider.Start(t.Context(), s.request())
				if err != nil {
					t.Fatal(err)
				}
				<-started
				if waited {
					ended(t, outcome(t, run), stopreason.Completed, "")
				}
				final := run.Close()
				if again := run.Close(); again != final {
					t.Errorf("closed again: %p, not %p", again, final)
				}
				if waited {
					ended(t, final, stopreason.Completed, "")
				} else {
					ended(t, final, stopreason.Error, client.KindAgent)
				}
				check.Equal(t, "changes", changed(final), "modified a")
				check.Has(t, patch(t, final), "-a\n+b\n")
				check.Equal(t, "warnings", strings.Join(final.Warnings, "; "), "the provider "+map[string]string{
					"panics": "panicked", "ends its goroutine": "ended its goroutine",
				}[name]+" when it was closed")
				s.empty()
			})
		}
	}
}

// A provider that does not go where it is told is no provider for a tree.
func TestWorktreeElsewhere(t *testing.T) {
	inner := play(t, "", nil)
	cmd := command(t, inner.Recording(""))
	cmd.Dir = t.TempDir()
	fixed := provider(t, cmd, nil)
	limits := newLimits(t, subagent.LimitOptions{Runs: 1})
	unrecorded := command(t, "")
	unrecorded.Dir = cmd.Dir
	for name, p := range map[string]subagent.Provider{
		"an agent":   fixed,
		"a pool":     poolOf(t, unrecorded, nil, nil),
		"limits":     limits.Provider(fixed),
		"a fallback": fallback(t, nil, inProcess(t, "p"), limits.Provider(fixed)),
	} {
		if _, err := subagent.Worktree(p, nil); err == nil {
			t.Errorf("%s: made", name)
		} else {
			check.Has(t, asError(t, err, client.KindConfig).Error(), p.Name(), "has a directory of its own", cmd.Dir)
		}
	}

	// Behind a provider of another package it shows when it is to start.
	for name, p := range map[string]subagent.Provider{
		"alone":         wrapped{fixed},
		"in a fallback": fallback(t, nil, missing(t), wrapped{fixed}),
	} {
		t.Run(name, func(t *testing.T) {
			s := trees(t, p, subagent.WorktreeOptions{})
			_, err := s.provider.Start(t.Context(), s.request())
			check.Has(t, asError(t, err, client.KindConfig).Error(), "has a directory of its own")
			s.empty()
			inner.NotStarted()
		})
	}
}

// One that says nothing of it is found out when it has started, before it is asked.
func TestWorktreeLeft(t *testing.T) {
	inner := play(t, "", nil)
	s := trees(t, astray{provider(t, command(t, inner.Recording("")), nil), t.TempDir()}, subagent.WorktreeOptions{})
	req := s.request()
	req.Events = func(e subagent.Event) { t.Errorf("a %s event", e.Type) }
	_, err := s.provider.Start(t.Context(), req)
	check.Has(t, asError(t, err, client.KindConfig).Error(), "has a directory of its own")
	s.empty()
	for _, f := range inner.Frames() {
		if f.Method == "session/prompt" {
			t.Error("it was asked")
		}
	}
}

// astray is a provider that works where it likes.
type astray struct {
	subagent.Provider
	dir string
}

func (p astray) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	req.Dir = p.dir
	return p.Provider.Start(ctx, req)
}

// wrapped is a provider within another one.
type wrapped struct{ subagent.Provider }

func (wrapped) Name() string { return "wrapped" }

func TestWorktreeOptions(t *testing.T) {
	p := inProcess(t, "p")
	for name, o := range map[string]subagent.WorktreeOptions{
		"a patch of less than nothing": {MaxPatch: -1},
		"a parent that is not there":   {Parent: filepath.Join(t.TempDir(), "missing")},
	} {
		if _, err := subagent.Worktree(p, &o); err == nil {
			t.Errorf("%s: it is taken", name)
		} else {
			asError(t, err, client.KindConfig)
		}
	}
	_, err := subagent.Worktree(nil, nil)
	asError(t, err, client.KindConfig)
	s := trees(t, p, subagent.WorktreeOptions{})
	inside, err := subagent.Worktree(p, &subagent.WorktreeOptions{Parent: s.Path("sub")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = inside.Start(t.Context(), s.request())
	check.Has(t, asError(t, err, client.KindConfig).Error(), "lies in the work tree")
}

func TestWorktreeUncommitted(t *testing.T) {
	s := trees(t, worker(t, func(_ context.Context, in *gittest.Repo) error {
		in.Write("a", in.Read("a")+in.Read("new"))
		return nil
	}), subagent.WorktreeOptions{Uncommitted: true})
	s.Write("a", "b\n").Write("new", "n\n")
	res := s.run()
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "changes", changed(res), "modified a")
	check.Has(t, patch(t, res), " b\n+n\n")
	check.Equal(t, "uncommitted", res.Worktree.Uncommitted, true)
	check.Equal(t, "warnings", len(res.Warnings), 0)
}

// Where something would be lost, the tree is kept, and a warning says where.
func TestWorktreeKept(t *testing.T) {
	kill, end := context.WithCancel(t.Context())
	end()
	for name, tt := range map[string]struct {
		opts    subagent.WorktreeOptions
		work    func(in *gittest.Repo)
		patch   bool
		warning string
	}{
		"as wished":    {subagent.WorktreeOptions{Keep: true}, func(in *gittest.Repo) { in.Write("a", "x\n") }, true, ""},
		"too large":    {subagent.WorktreeOptions{MaxPatch: 100}, func(in *gittest.Repo) { in.Write("a", strings.Repeat("x", 101)) }, false, "over the limit of 100 bytes"},
		"no time":      {subagent.WorktreeOptions{Kill: kill}, func(in *gittest.Repo) { in.Write("a", "x\n") }, false, "context canceled"},
		"a repository": {subagent.WorktreeOptions{}, func(in *gittest.Repo) { in.Write("a", "x\n").Git("init", "-q", "emb") }, true, `in repositories of their own: "emb"`},
		"broken by git": {subagent.WorktreeOptions{}, func(in *gittest.Repo) {
			in.Write(".gitattributes", "a working-tree-encoding=UTF-16\n").Write("a", "x\n")
		}, false, "UTF-16"},
	} {
		t.Run(name, func(t *testing.T) {
			s := trees(t, worker(t, func(_ context.Context, in *gittest.Repo) error { tt.work(in); return nil }), tt.opts)
			res := s.run()
			ended(t, res, stopreason.Completed, "")
			check.Equal(t, "there is a patch", res.Patch != nil, tt.patch)
			kept := s.kept(res)
			check.Lacks(t, kept.Read("a"), "a")
			warnings := strings.Join(res.Warnings, "\n")
			if tt.warning == "" {
				check.Equal(t, "warnings", warnings, "")
				return
			}
			check.Has(t, warnings, tt.warning, "the work tree is kept: "+kept.Dir)
		})
	}
}

// Variables that lead git to another repository do not reach the agent, and ours neither.
func TestWorktreeGitVariables(t *testing.T) {
	other := gittest.New(t)
	other.Write("o", "o\n").Commit("first")
	before := other.Snapshot()
	inner := scripted(t, "on session/prompt\n  write a \"aa\\n\"\n"+hostedGit("commit", "-qam", "mine")+"  text \"[$env.GIT_DIR$env.GIT_INDEX_FILE$env.GIT_WORK_TREE$env.GIT_OBJECT_DIRECTORY] $env.GIT_AUTHOR_NAME\"",
		&subagent.ACPOptions{Terminals: true, Permission: permission.Allow()})
	s := trees(t, inner, subagent.WorktreeOptions{})
	req := s.request()
	mine := s.Snapshot()
	for _, v := range []string{"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY"} {
		t.Setenv(v, map[string]string{
			"GIT_DIR": other.Path(".git"), "GIT_INDEX_FILE": other.Path(".git/index"), "GIT_WORK_TREE": other.Dir, "GIT_OBJECT_DIRECTORY": other.Path(".git/objects"),
		}[v])
	}
	t.Setenv("GIT_AUTHOR_NAME", "Somebody") // is none
	res, err := subagent.Delegate(t.Context(), s.provider, req)
	if err != nil {
		t.Fatal(err)
	}
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "environment", res.Output, "[] Somebody")
	check.Equal(t, "changes", changed(res), "modified a")
	if len(res.Commands) != 1 || res.Commands[0].Exit == nil || res.Commands[0].Exit.Code == nil || *res.Commands[0].Exit.Code != 0 {
		t.Errorf("git: %+v", res.Commands)
	}
	other.Untouched(before)
	s.Untouched(mine)
}

// Several runs at once on one repository, with which the user goes on.
func TestWorktreeFanOut(t *testing.T) {
	const n = 8
	begun := make(chan struct{}, n)
	goOn := make(chan struct{})
	s := trees(t, worker(t, func(_ context.Context, in *gittest.Repo) error {
		begun <- struct{}{}
		<-goOn
		in.Write("a", in.Read("a")+"mine\n")
		if _, err := in.TryGit("commit", "-qam", "mine"); err != nil {
			return errors.New("it cannot commit")
		}
		return nil
	}), subagent.WorktreeOptions{})
	base := s.Git("rev-parse", "HEAD")
	var tasks []subagent.Task
	for range n {
		tasks = append(tasks, subagent.Task{Provider: s.provider, Request: s.request()})
	}
	results := make(chan []*subagent.Result, 1)
	go func() { results <- subagent.Gather(t.Context(), tasks, &subagent.FanOutOptions{Limit: n}) }() // ends with the test
	for range n {
		<-begun
	}
	s.Write("a", "the user's\n").Commit("meanwhile")
	before := s.Snapshot()
	close(goOn)
	dirs := map[string]bool{}
	for _, res := range <-results {
		ended(t, res, stopreason.Completed, "")
		dirs[res.Dir] = true
		check.Equal(t, "base", res.Worktree.Base, base)
		check.Has(t, patch(t, res), " a\n+mine\n")
	}
	check.Equal(t, "directories", len(dirs), n)
	s.Untouched(before)
	s.empty()
}

// Limits see that a provider in a tree is under them already.
func TestWorktreeUnderLimits(t *testing.T) {
	l, err := subagent.NewLimits(subagent.LimitOptions{Runs: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := trees(t, l.Provider(inProcess(t, "p")), subagent.WorktreeOptions{})
	req := s.request()
	req.Prompt = subagent.Text("answer x")
	res, err := subagent.Delegate(t.Context(), l.Provider(s.provider), req) // which would wait for itself
	if err != nil {
		t.Fatal(err)
	}
	ended(t, res, stopreason.Completed, "")
}
