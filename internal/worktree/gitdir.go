package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// gitDir is a git directory of our own: it has the configuration that is written here and
// no hook. workTree is what the commands in it work on, which has nothing to say about how.
type gitDir struct {
	*git
	path     string
	workTree string
}

// closed is the configuration that lets nothing be run and nothing be read from elsewhere.
const closed = `[core]
	bare = false
	fsmonitor = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	untrackedCache = false
	splitIndex = false
	sparseCheckout = false
	safecrlf = false
	quotePath = true
[gc]
	auto = 0
`

// newGitDir makes a git directory for workTree. base is the configuration before ours,
// exclude its info/exclude, alternates are the objects it borrows.
func newGitDir(g *git, path, workTree, base string, exclude []byte, alternates ...string) (*gitDir, error) {
	files := map[string][]byte{
		"config":       []byte(base + closed),
		"HEAD":         []byte("ref: refs/heads/none\n"),
		"info/exclude": exclude,
		// What is text is to be seen, whoever calls it binary, and the other way round.
		"info/attributes":         []byte("* !diff\n"),
		"objects/info/alternates": alternatesFile(alternates...),
	}
	if err := os.MkdirAll(filepath.Join(path, "refs"), 0o700); err != nil {
		return nil, err
	}
	if err := writeFiles(path, files); err != nil {
		return nil, err
	}
	return &gitDir{g, path, workTree}, nil
}

// writeFiles writes files into dir, by their names in it.
func writeFiles(dir string, files map[string][]byte) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (d *gitDir) index() string { return filepath.Join(d.path, "index") }

// command returns a command on the work tree.
func (d *gitDir) command(args ...string) call {
	return call{args: append([]string{"--git-dir=" + d.path, "--work-tree=" + d.workTree}, args...), dir: d.workTree}
}

func (d *gitDir) do(ctx context.Context, args ...string) ([]byte, error) {
	return d.run(ctx, d.command(args...))
}

// word is a command that prints one.
func (d *gitDir) word(ctx context.Context, args ...string) (string, error) {
	out, err := d.do(ctx, args...)
	return strings.TrimSpace(string(out)), err
}

// some reports whether a command prints anything.
func (d *gitDir) some(ctx context.Context, args ...string) (bool, error) {
	c := d.command(args...)
	c.limit = 1
	out, err := d.run(ctx, c)
	if errors.Is(err, ErrTooLarge) {
		return true, nil
	}
	return len(out) > 0, err
}

// copyIndex gives the directory the index of another one, with what that refers to.
func (d *gitDir) copyIndex(from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "index" || strings.HasPrefix(e.Name(), "sharedindex.") {
			if err := copyFile(filepath.Join(d.path, e.Name()), filepath.Join(from, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyFile copies a file and its time: git takes a file that is younger than the index
// for one that it has to look into.
func copyFile(to, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(f)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// alternatesFile is the file of that name.
func alternatesFile(dirs ...string) []byte {
	var b strings.Builder
	for _, dir := range dirs {
		dir = filepath.ToSlash(dir)
		if strings.HasPrefix(dir, `"`) || strings.Contains(dir, "\n") {
			dir = quote(dir)
		}
		b.WriteString(dir + "\n")
	}
	return []byte(b.String())
}

// setting is a line of a configuration, under the heading of its section.
func setting(section, name, value string) string {
	return "[" + section + "]\n\t" + name + " = " + quote(value) + "\n"
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

// quote makes of a text one that git reads as it is, in a configuration and in alternates.
func quote(text string) string { return `"` + escapes.Replace(text) + `"` }
