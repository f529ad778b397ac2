package worktree

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
)

// file is what is in a file, and its mode.
type file struct {
	mode fs.FileMode
	size int64
	sum  [sha256.Size]byte
}

// oddFiles are those files of a tree just made that git takes for changed: stored with line
// ends, say, that are not what their attributes say. An index hides that as long as it knows
// the file's times, but none that is made anew.
func (d *gitDir) oddFiles(ctx context.Context, top *os.Root, base string) (map[string]file, error) {
	if _, err := d.do(ctx, "read-tree", base); err != nil {
		return nil, err
	}
	out, err := d.do(ctx, "ls-files", "-z", "--modified")
	if err != nil {
		return nil, err
	}
	odd := map[string]file{}
	s := sorter{top: top}
	for _, path := range list(out) {
		if f, ok := s.read(path, nil); ok {
			odd[path] = f
		}
	}
	return odd, ctx.Err()
}

// isOdd reports whether path is such a file still, as it was.
func (s *sorter) isOdd(path string) bool {
	was, ok := s.odd[path]
	if !ok {
		return false
	}
	is, ok := s.read(path, &was)
	return ok && is == was
}

// read returns what a regular file is. It is not read if it cannot be what it was.
func (s *sorter) read(path string, was *file) (is file, ok bool) {
	if info, err := s.stat(path); err != nil || !info.Mode().IsRegular() {
		return is, false
	}
	f, err := s.open(path)
	if err != nil {
		return is, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return is, false
	}
	is = file{mode: info.Mode(), size: info.Size()}
	if was != nil && (was.mode != is.mode || was.size != is.size) {
		return is, false
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, f, is.size); err != nil {
		return is, false
	}
	hash.Sum(is.sum[:0])
	return is, true
}
