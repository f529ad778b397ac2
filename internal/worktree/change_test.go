package worktree

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseChanges(t *testing.T) {
	const oid = " 1111111111111111111111111111111111111111 2222222222222222222222222222222222222222 "
	text := ":100644 100644" + oid + "M\x00b\n\xff\x00" + ":100644 100644" + oid + "R075\x00a\x00\"z\x00" + ":000000 100644" + oid + "A\x00bin\x00" +
		"1\t2\tb\n\xff\x00" + "3\t0\t\x00a\x00\"z\x00" + "-\t-\tbin\x00"
	got, err := parseChanges([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{Path: `"\"z"`, OldPath: "a", Status: Renamed, Added: 3},
		{Path: `"b\012\377"`, Status: Modified, Added: 1, Deleted: 2},
		{Path: "bin", Status: Added, Binary: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever git says, what comes of it can be told as JSON, or is an error.
func FuzzParseChanges(f *testing.F) {
	f.Add([]byte(":1 1 a b M\x00p\x001\t2\tp\x00"))
	f.Add([]byte(":1 1 a b R100\x00o\x00p\x001\t2\t\x00o\x00p\x00"))
	f.Add([]byte(": \x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		changes, err := parseChanges(out)
		for _, c := range changes {
			if err != nil || !utf8.ValidString(c.Path+c.OldPath) || c.Status == "" {
				t.Errorf("%+v, %v", c, err)
			}
		}
	})
}

// A patch is the sum of its sections, and each begins as one does.
func FuzzSplitPatch(f *testing.F) {
	f.Add("diff --git a/x b/x\nnew file\n@@\n+diff --git\ndiff --git a/y b/y\n")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, patch string) {
		sections := splitPatch(patch)
		if strings.Join(sections, "") != patch {
			t.Errorf("%q became %q", patch, sections)
		}
		for i, s := range sections {
			if i > 0 && !strings.HasPrefix(s, "diff --git ") {
				t.Errorf("section %d of %q is %q", i, patch, s)
			}
		}
	})
}
