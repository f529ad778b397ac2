package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
)

// tree writes files, with their parents; a name that ends in a slash is a directory, a
// content that begins with "->" a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch target, link := strings.CutPrefix(content, "->"); {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// list is what is in a directory: names with a slash for directories, links with where
// they lead, files with their content.
func list(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		rel = filepath.ToSlash(rel)
		switch d.Type() {
		case fs.ModeDir:
			out = append(out, rel+"/")
		case fs.ModeSymlink:
			target, _ := os.Readlink(path)
			out = append(out, rel+" -> "+target)
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out = append(out, rel+" = "+string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func makeHome(t *testing.T, parent string, seeds ...Seed) *Home {
	t.Helper()
	h, err := Make(t.Context(), parent, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// gone removes the home and checks that nothing of it is left.
func gone(t *testing.T, h *Home) {
	t.Helper()
	if err := h.Remove(); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if _, err := os.Lstat(h.Dir()); err == nil {
		t.Errorf("%s is still there", h.Dir())
	}
}

func TestHomeOfItsOwn(t *testing.T) {
	parent := t.TempDir()
	h := makeHome(t, parent)
	defer gone(t, h)
	real, _ := filepath.EvalSymlinks(parent)
	check.Equal(t, "its parent", filepath.Dir(h.Dir()), real)
	seen := 0
	for _, entry := range h.Env() {
		name, value, _ := strings.Cut(entry, "=")
		if name == "HOMEDRIVE" || name == "HOMEPATH" {
			continue
		}
		info, err := os.Stat(value)
		if err != nil || !info.IsDir() {
			t.Errorf("%s is no directory: %v", entry, err)
			continue
		}
		if rel, err := filepath.Rel(h.Dir(), value); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("%s is not in %s", entry, h.Dir())
		}
		if runtime.GOOS != "windows" {
			check.Equal(t, entry+": rights", info.Mode().Perm(), 0o700)
		}
		check.Equal(t, name+" leads to the home", IsHome(name), value == h.Dir())
		seen++
	}
	if seen < 5 {
		t.Errorf("the variables are %q", h.Env())
	}
}

func TestSeeds(t *testing.T) {
	from := tree(t, map[string]string{
		"file": "text", "dir/a": "1", "dir/sub/b": "2", "dir/empty/": "", "dir/link": "->sub/b", "dir/sub/up": "->../a", "linked": "->file",
	})
	os.Chmod(filepath.Join(from, "file"), 0o555)
	at := func(name string) string { return filepath.Join(from, name) }
	h := makeHome(t, "", Seed{at("file"), ".agent/settings.json"}, Seed{at("dir"), "."}, Seed{at("dir"), ".config/x"}, Seed{at("linked"), "top"})
	defer gone(t, h)
	got := slices.DeleteFunc(list(t, h.Dir()), func(line string) bool {
		return slices.ContainsFunc(places(), func(p place) bool { return strings.HasPrefix(p.path+"/", line) })
	})
	want := []string{
		"./", ".agent/", ".agent/settings.json = text", ".config/x/", ".config/x/a = 1", ".config/x/empty/", ".config/x/link -> sub/b",
		".config/x/sub/", ".config/x/sub/b = 2", ".config/x/sub/up -> ../a", "a = 1", "empty/", "link -> sub/b",
		"sub/", "sub/b = 2", "sub/up -> ../a", "top = text",
	}
	if runtime.GOOS == "windows" {
		t.Skip("the rest is of Unix")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is in the home (-want +got):\n%s", diff)
	}
	for name, mode := range map[string]fs.FileMode{".agent/settings.json": 0o500, "a": 0o600, "sub": 0o700} {
		info, err := os.Stat(filepath.Join(h.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		check.Equal(t, name+": rights", info.Mode().Perm(), mode)
	}
}

// What cannot be a seed is refused, and nothing is left of the home.
func TestSeedsThatAreNone(t *testing.T) {
	from := tree(t, map[string]string{
		"file": "text", "dir/a": "1", "out/link": "->/etc/passwd", "up/link": "->../file", "sly/here": "->.", "sly/link": "->here/here/../../file", "broken": "->nothing",
	})
	at := func(name string) string { return filepath.Join(from, name) }
	parent := t.TempDir()
	for name, tt := range map[string]struct {
		parent string
		seeds  []Seed
		says   string
	}{
		"a missing parent":     {at("nothing"), nil, "nothing"},
		"a parent that is not": {at("file"), nil, "file"},
		"nothing":              {parent, []Seed{{at("missing"), "a"}}, "missing"},
		"a broken link":        {parent, []Seed{{at("broken"), "a"}}, "nothing"},
		"no source":            {parent, []Seed{{"", "a"}}, "not absolute"},
		"a relative source":    {parent, []Seed{{"file", "a"}}, "not absolute"},
		"a device":             {parent, []Seed{{os.DevNull, "a"}}, "regular"},
		"no place":             {parent, []Seed{{at("file"), ""}}, "no path within"},
		"a place outside":      {parent, []Seed{{at("file"), "../a"}}, "no path within"},
		"a way outside":        {parent, []Seed{{at("file"), "a/../b"}}, "no path within"},
		"an absolute place":    {parent, []Seed{{at("file"), "/a"}}, "no path within"},
		"a place with a NUL":   {parent, []Seed{{at("file"), "a\x00b"}}, "invalid"},
		"a file as the home":   {parent, []Seed{{at("file"), "."}}, ""},
		"one place twice":      {parent, []Seed{{at("file"), "a"}, {at("file"), "a"}}, "exists"},
		"a file on a place":    {parent, []Seed{{at("file"), places()[0].path}}, "exists"},
		"a file below a file":  {parent, []Seed{{at("file"), "a"}, {at("dir"), "a/b"}}, "a"},
		"a link to elsewhere":  {parent, []Seed{{at("out"), "a"}}, "leads out"},
		"a link that goes up":  {parent, []Seed{{at("up"), "a"}}, "leads out"},
		"a link behind links":  {parent, []Seed{{at("sly"), "a"}}, "leads out"},
		"where homes are made": {parent, []Seed{{filepath.Dir(parent), "a"}}, "homes are made in"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := Make(t.Context(), tt.parent, tt.seeds)
			if err == nil {
				gone(t, h)
				t.Fatal("it was made")
			}
			check.Has(t, err.Error(), tt.says)
			if Check(tt.parent, tt.seeds) == nil {
				t.Error("Check passes it")
			}
			if left, _ := os.ReadDir(parent); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// ending is a context that ends when it has been asked so often.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Copying goes on no longer than its context, also within a file, and leaves nothing then.
func TestMakeEnds(t *testing.T) {
	parent := t.TempDir()
	const files, blocks = 3, 4
	from := t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(from, fmt.Sprint(i)), make([]byte, blocks*32<<10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; ; n++ {
		h, err := Make(&ending{t.Context(), n}, parent, []Seed{{From: from, To: "."}})
		if err == nil {
			gone(t, h)
			if n < files*blocks {
				t.Errorf("it looked at its context %d times only", n)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if left := list(t, parent); len(left) != 1 { // the directory itself
			t.Fatalf("left after %d looks: %q", n, left)
		}
	}
}

func TestCheckLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	if err := Check(parent, []Seed{{tree(t, map[string]string{"a": "1"}), "x"}}); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// Nothing outside goes with the home, and nothing outside is changed.
func TestRemoveFollowsNoLinks(t *testing.T) {
	outside := tree(t, map[string]string{"keep": "1", "locked/keep": "2"})
	os.Chmod(filepath.Join(outside, "locked"), 0o500)
	t.Cleanup(func() { os.Chmod(filepath.Join(outside, "locked"), 0o700) })
	h := makeHome(t, "")
	for name, target := range map[string]string{"link": outside, "locked": filepath.Join(outside, "locked"), "file": filepath.Join(outside, "keep"), "loop": "."} {
		if err := os.Symlink(target, filepath.Join(h.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	lock(t, h, "mod/deep")
	gone(t, h)
	if diff := cmp.Diff([]string{"./", "keep = 1", "locked/", "locked/keep = 2"}, list(t, outside)); diff != "" {
		t.Errorf("what is outside (-want +got):\n%s", diff)
	}
	if info, _ := os.Stat(filepath.Join(outside, "locked")); runtime.GOOS != "windows" {
		check.Equal(t, "rights outside", info.Mode().Perm(), 0o500)
	}
}

// lock makes directories like those of Go's module cache in the home, with a file in the
// last of them, and some that cannot even be looked into.
func lock(t *testing.T, h *Home, path string) {
	t.Helper()
	dir := filepath.Join(h.Dir(), filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Join(dir, "shut"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for mode, at := range map[fs.FileMode]string{0o000: filepath.Join(dir, "shut"), 0o500: dir} {
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(dir), 0o500); err != nil {
		t.Fatal(err)
	}
}

func TestRemoveWhatIsNotWritable(t *testing.T) {
	asUser(t, func(t *testing.T) {
		h := makeHome(t, "")
		lock(t, h, "go/pkg/mod/x@v1")
		gone(t, h)
		h = makeHome(t, "")
		lock(t, h, "locked/all")
		os.Chmod(h.Dir(), 0) // after which it is not even listed
		gone(t, h)
	})
}

// A home that is not where it was made is told of, and what is there now stays.
func TestRemoveWhatIsNotTheHome(t *testing.T) {
	parent := t.TempDir()
	h := makeHome(t, parent)
	moved := filepath.Join(parent, "moved")
	if err := os.Rename(h.Dir(), moved); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(); err == nil || !strings.Contains(err.Error(), h.Dir()) {
		t.Errorf("a home that was moved: %v", err)
	}
	other := tree(t, map[string]string{"keep": "1"})
	if err := os.Symlink(other, h.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(); err == nil {
		t.Error("a link in its place is removed as if it was the home")
	}
	check.Equal(t, "what the link leads to", len(list(t, other)), 2)
}
