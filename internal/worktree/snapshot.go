package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// links returns the paths of submodules that are in the index.
func (d *gitDir) links(ctx context.Context) (map[string]bool, error) {
	out, err := d.do(ctx, "ls-files", "-z", "--stage")
	if err != nil {
		return nil, err
	}
	links := map[string]bool{}
	for _, entry := range list(out) { // mode SP object SP stage TAB path
		if _, path, _ := strings.Cut(entry, "\t"); strings.HasPrefix(entry, "160000 ") {
			links[path] = true
		}
	}
	return links, nil
}

// left is what a snapshot could not take in.
type left struct {
	repositories []string
	others       []string
	unseen       []string
}

// unseen are those of git's complaints that say that it did not look at something.
func unseen(complaints string) []string {
	var lines []string
	for line := range strings.Lines(complaints) {
		if strings.HasPrefix(line, "error:") || strings.Contains(line, "could not open directory") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// texts are what there is to say of it.
func (l left) texts() []string {
	var texts []string
	if len(l.repositories) > 0 {
		slices.Sort(l.repositories)
		texts = append(texts, "what is in repositories of their own: "+few(l.repositories))
	}
	if len(l.others) > 0 {
		texts = append(texts, "what cannot be read or is no file: "+few(l.others))
	}
	if len(l.unseen) > 0 {
		texts = append(texts, "what git could not look at: "+few(l.unseen))
	}
	return texts
}

// few names some of the paths.
func few(paths []string) string {
	const n = 5
	var b strings.Builder
	for i, path := range paths[:min(n, len(paths))] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", path)
	}
	if more := len(paths) - n; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// snapshot brings the index up to what is in the work tree, but for what is ignored and
// not in the index, and returns that as a git tree. Submodules stay as they are in the
// index. It does what git add -A does, and does not do it by that because that starts git
// in submodules, with their configuration. s says what else there is to know of the work tree.
func (d *gitDir) snapshot(ctx context.Context, s sorter) (tree string, l left, err error) {
	c := d.command("ls-files", "-z", "--modified", "--others", "--exclude-standard")
	var complaints string
	c.complaints = &complaints
	out, err := d.run(ctx, c)
	if err != nil {
		return "", l, fmt.Errorf("the list of changes: %w", err)
	}
	l.unseen = unseen(complaints)
	changed := list(out)
	slices.Sort(changed)
	s.left = &l
	for _, path := range slices.Compact(changed) {
		if ctx.Err() == nil {
			s.add(path)
		}
	}
	for _, update := range []struct {
		flag  string
		paths []string
	}{{"--force-remove", s.gone}, {"--add", s.there}} {
		if len(update.paths) == 0 {
			continue
		}
		c := d.command("update-index", update.flag, "--replace", "-z", "--stdin")
		c.stdin = strings.NewReader(strings.Join(update.paths, "\x00") + "\x00")
		if _, err := d.run(ctx, c); err != nil {
			return "", l, err
		}
	}
	tree, err = d.word(ctx, "write-tree")
	return tree, l, err
}

// sorter sorts paths that have changed by what is to be done with them.
type sorter struct {
	top         *os.Root
	links       map[string]bool // submodules
	odd         map[string]file // see oddFiles
	there, gone []string
	left        *left
}

func (s *sorter) add(path string) {
	dir, isRepository := strings.CutSuffix(path, "/")
	if isRepository {
		s.left.repositories = append(s.left.repositories, dir)
		return
	}
	info, err := s.stat(path)
	switch {
	case s.isOdd(path):
		// It stays as it is in the index.
	case errors.Is(err, fs.ErrNotExist):
		s.gone = append(s.gone, path)
	case err != nil:
		s.left.others = append(s.left.others, path)
	case info.IsDir() && s.links[path]:
		// It stays what it was.
	case info.IsDir():
		s.gone = append(s.gone, path) // there was a file in its place
	case info.Mode().Type() == fs.ModeSymlink, info.Mode().IsRegular() && s.readable(path):
		s.there = append(s.there, path)
	default:
		s.left.others = append(s.left.others, path)
	}
}

// stat looks at what a path is. What is behind a symlink, or a file, is not in the tree.
func (s *sorter) stat(path string) (fs.FileInfo, error) {
	for i, c := range path {
		if c != '/' {
			continue
		}
		info, err := s.top.Lstat(filepath.FromSlash(path[:i]))
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fs.ErrNotExist
		}
	}
	info, err := s.top.Lstat(filepath.FromSlash(path))
	if errors.Is(err, syscall.ENOTDIR) {
		err = fs.ErrNotExist
	}
	return info, err
}

// populated returns the submodules that there is something in.
func (s *sorter) populated() []string {
	var found []string
	for link := range s.links {
		if info, err := s.stat(link); err == nil && info.IsDir() && !s.isEmpty(link) {
			found = append(found, link)
		}
	}
	return found
}

func (s *sorter) isEmpty(path string) bool {
	f, err := s.open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

func (s *sorter) readable(path string) bool {
	f, err := s.open(path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// open does not wait, whatever the path has become.
func (s *sorter) open(path string) (*os.File, error) {
	return s.top.OpenFile(filepath.FromSlash(path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
