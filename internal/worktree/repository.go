package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// repository is what is known of the user's.
type repository struct {
	top    string // of the work tree
	dir    string // the git directory, of a linked work tree its own
	common string // the one with objects and refs
	format string // of object names: sha1 or sha256
	commit string // HEAD's
	branch string // HEAD's ref; empty where it is detached
	// settings are those that matter in a copy, by their names in lower case.
	settings map[string]string
	exclude  []byte // info/exclude
	shallow  []byte // the file of that name; nil where there is none
	refs     []byte // its branches and tags, as packed-refs has them
}

// discover reads the repository that dir is in.
func (g *git) discover(ctx context.Context, dir string) (*repository, error) {
	r := &repository{}
	// Nothing of the repository is run, so it does not matter whose it is.
	at := func(args ...string) call {
		return call{args: append([]string{"-c", "safe.directory=*"}, args...)}
	}
	out, err := g.run(ctx, at("rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--is-inside-work-tree", "--show-object-format"))
	if e := failed(err, 128); e != nil && strings.Contains(e.stderr, "not a git repository") {
		return nil, refuse("%s is not in a git repository", dir)
	} else if err != nil {
		return nil, refusedBy(err, dir)
	}
	facts := lines(out)
	switch {
	case len(facts) != 4:
		return nil, refuse("%s: git says of its repository what is not understood: %q", dir, out)
	case facts[0] == "true":
		return nil, refuse("%s is in a bare repository, which has no work tree to work in", dir)
	case facts[1] == "true" || facts[2] != "true":
		return nil, refuse("%s is not in the work tree of its git repository", dir)
	}
	r.format = facts[3]
	// One at a time: a path may have a line break in it.
	for _, p := range []struct {
		to   *string
		flag string
	}{{&r.top, "--show-toplevel"}, {&r.dir, "--absolute-git-dir"}, {&r.common, "--git-common-dir"}} {
		out, err := g.run(ctx, at("rev-parse", "--path-format=absolute", p.flag))
		if err != nil {
			return nil, refusedBy(err, dir)
		}
		*p.to = filepath.FromSlash(strings.TrimSuffix(string(out), "\n"))
	}
	if err := g.readHead(ctx, r); err != nil {
		return nil, err
	}
	if err := g.readSettings(ctx, r); err != nil {
		return nil, err
	}
	for name, to := range map[string]*[]byte{"info/exclude": &r.exclude, "shallow": &r.shallow} {
		if *to, err = readIfThere(filepath.Join(r.common, filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// refusedBy makes a refusal of a command that failed on the user's repository.
func refusedBy(err error, dir string) error {
	if _, ok := errors.AsType[*commandError](err); ok {
		return refuse("the git repository of %s: %w", dir, err)
	}
	return err
}

// in returns a command that reads the user's repository.
func (r *repository) in(args ...string) call {
	return call{args: append([]string{"--git-dir=" + r.dir}, args...)}
}

func (g *git) readHead(ctx context.Context, r *repository) error {
	out, err := g.run(ctx, r.in("rev-parse", "--verify", "--quiet", "HEAD"))
	if failed(err, 1) != nil {
		return refuse("the git repository of %s has no commit yet", r.top)
	} else if err != nil {
		return refusedBy(err, r.top)
	}
	r.commit = strings.TrimSpace(string(out))
	out, err = g.run(ctx, r.in("symbolic-ref", "--quiet", "HEAD"))
	if err != nil && failed(err, 1) == nil {
		return refusedBy(err, r.top)
	}
	if ref := strings.TrimSpace(string(out)); strings.HasPrefix(ref, "refs/") && filepath.IsLocal(ref) {
		r.branch = ref
	}
	r.refs, err = g.run(ctx, r.in("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"))
	return err
}

// copied are the settings that a copy needs: who commits, and how a file's content and
// name become what is stored.
const copied = `^(user\.(name|email)|core\.(autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode|longpaths))$`

// readSettings reads them as git does for the user: for that it may see the whole
// configuration. To read one runs nothing.
func (g *git) readSettings(ctx context.Context, r *repository) error {
	r.settings = map[string]string{}
	read := r.in("config", "--null", "--get-regexp", copied)
	read.config = true
	out, err := g.run(ctx, read)
	if err != nil && failed(err, 1) == nil {
		return refusedBy(err, r.top)
	}
	for _, setting := range list(out) {
		name, value, ok := strings.Cut(setting, "\n")
		if !ok {
			value = "true" // as git has it
		}
		r.settings[name] = value // the last one counts
	}
	read = r.in("config", "--null", "--type=path", "--get", "core.excludesfile")
	read.config = true
	out, err = g.run(ctx, read)
	if err != nil && failed(err, 1) == nil {
		return refusedBy(err, r.top)
	}
	if path := strings.TrimSuffix(string(out), "\x00"); path != "" {
		r.settings["core.excludesfile"] = path
	}
	return nil
}

// objects is the directory of the repository's objects.
func (r *repository) objects() string { return filepath.Join(r.common, "objects") }

// partial reports whether the repository is known to lack objects.
func (r *repository) partial() bool {
	packs, _ := os.ReadDir(filepath.Join(r.objects(), "pack"))
	return slices.ContainsFunc(packs, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".promisor") })
}

func readIfThere(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
