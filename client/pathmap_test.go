package client

import (
	"testing"

	"github.com/errand-acp/errand/internal/check"
)

// D8: an agent in a container, in WSL or behind ssh sees other paths than we do.
func TestPathMap(t *testing.T) {
	for _, tt := range []struct {
		name         string
		pairs        []PathPair
		ours, theirs string // empty: there is none on that side
	}{
		{"none", nil, "/a/b", "/a/b"},
		{"a container", []PathPair{{"/home/u/project", "/workspace"}}, "/home/u/project/src/a.go", "/workspace/src/a.go"},
		{"the prefix itself", []PathPair{{"/home/u/project", "/workspace"}}, "/home/u/project", "/workspace"},
		{"elsewhere", []PathPair{{"/home/u/project", "/workspace"}}, "/home/u/other", ""},
		{"elsewhere there", []PathPair{{"/home/u/project", "/workspace"}}, "", "/etc/passwd"},
		{"a name that begins so", []PathPair{{"/home/u/project", "/workspace"}}, "/home/u/project2", ""},
		{"a name that begins so there", []PathPair{{"/home/u/project", "/workspace"}}, "", "/workspace2/a"},
		{"the longest prefix", []PathPair{{"/srv", "/mnt"}, {"/srv/data", "/data"}}, "/srv/data/x", "/data/x"},
		{"to the root", []PathPair{{"/containers/one", "/"}}, "/containers/one/etc", "/etc"},
		{"up and out", []PathPair{{"/home/u/project", "/workspace"}}, "", "/workspace/../etc/passwd"},
		{"WSL", []PathPair{{"/mnt/c", `C:\`}}, "/mnt/c/Users/u", `C:\Users\u`},
		{"WSL, a share", []PathPair{{"/home", `\\wsl$\Debian\home`}}, "/home/u/x", `\\wsl$\Debian\home\u\x`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := newPathMap(tt.pairs)
			check.Equal(t, "error", err, nil)
			if tt.ours != "" {
				got, ok := m.theirs(tt.ours)
				check.Equal(t, "theirs", got, tt.theirs)
				check.Equal(t, "there is one", ok, tt.theirs != "")
			}
			if tt.theirs != "" {
				got, ok := m.ours(tt.theirs)
				check.Equal(t, "ours", got, tt.ours)
				check.Equal(t, "there is one", ok, tt.ours != "")
			}
		})
	}
	m, _ := newPathMap([]PathPair{{"/mnt/c", `C:\`}})
	got, _ := m.ours("c:/Users/u")
	check.Equal(t, "in any case and with either slash", got, "/mnt/c/Users/u")
	for _, bad := range []PathPair{{"relative", "/a"}, {"/a", "relative"}, {"", "/a"}, {"/a", ""}, {"/a", "/b\x00"}} {
		if _, err := newPathMap([]PathPair{bad}); err == nil {
			t.Errorf("%q is a pair", bad)
		}
	}
	for _, bad := range [][]PathPair{
		{{"/a", "/x"}, {"/b", "/x"}}, {{"/a", "/x"}, {"/b", "/x/"}}, {{"/a", `C:\x`}, {"/b", `c:\X`}}, {{"/a", "/x"}, {"/a/", "/y"}},
	} {
		if _, err := newPathMap(bad); err == nil {
			t.Errorf("%q are pairs: nobody can say which one is meant", bad)
		}
	}
	if _, err := newPathMap([]PathPair{{"/a", "/x"}, {"/a/", "/x/"}, {"/a/b", "/x/c"}}); err != nil {
		t.Error(err)
	}
}
