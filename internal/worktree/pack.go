package worktree

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// pack returns a pack of the objects of a git tree that are the directory's own, not
// borrowed. Where an open file can lose its name the pack has none: it is for us only.
// Elsewhere it goes with dir, in which it is made.
func (d *gitDir) pack(ctx context.Context, tree, dir string) (*os.File, error) {
	c := d.command("pack-objects", "--quiet", "--revs", "--local", "--window=0", filepath.Join(dir, ".base"))
	c.stdin = strings.NewReader(tree + "\n")
	out, err := d.run(ctx, c)
	if err != nil {
		return nil, err
	}
	files := filepath.Join(dir, ".base-"+strings.TrimSpace(string(out)))
	f, err := os.Open(files + ".pack")
	if err != nil {
		return nil, err
	}
	for _, ext := range []string{".pack", ".idx", ".rev"} {
		os.Remove(files + ext)
	}
	return f, nil
}

// unpack gives the directory the objects of a pack. Their names are found anew from what is
// in them, so a pack that was meddled with has no object that is not what its name says.
func (d *gitDir) unpack(ctx context.Context, pack *os.File) error {
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return err
	}
	c := d.command("index-pack", "--stdin")
	c.stdin = pack
	_, err := d.run(ctx, c)
	return err
}
