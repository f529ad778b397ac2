package permission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAlternatives(t *testing.T) {
	for path, want := range map[string][]string{
		"a":          {"a"},
		"{a,b}":      {"a", "b"},
		"x{a,b/c}y":  {"xay", "xb/cy"},
		"{a,{b,c}}":  {"a", "b", "a", "c"},
		"{a}":        {"a"},
		"{a..z}":     {"*"},
		"{a":         {"{a"},
		"a}":         {"a}"},
		"}{":         {"}{"},
		"{}":         {""},
		"{..,a}/x":   {"../x", "a/x"},
		"{a,b}{c,d}": {"ac", "ad", "bc", "bd"},
	} {
		got, ok := newWork().alternatives(path)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: %v (-want +got):\n%s", path, ok, diff)
		}
	}
	if got, ok := newWork().alternatives("{a,b}{a,b}{a,b}{a,b}{a,b}"); ok {
		t.Errorf("got %q", got)
	}
}

func TestSpelling(t *testing.T) {
	for _, tt := range []struct {
		element, name string
		want          bool
	}{
		{".en?", ".env", true},
		{".EN?", ".env", true},
		{".??v", ".env", true},
		{".e*", ".env", true},
		{"*env", ".env", true},
		{"*nv", ".env", false},
		{".*", ".env", false},
		{"*", ".env", false},
		{"????", ".env", false},
		{".[e]nv", ".env", true},
		{".[!e]nv", ".env", false},
		{".[^a]nv", ".env", true},
		{".[]e]nv", ".env", true},
		{".[a-f]nv", ".env", true},
		{".[env", ".env", false},
		{"[", "[", true},
		{"id_*", "id_rsa", true},
		{"*.json", "credentials.json", false},
		{".env", ".env", false}, // it is no pattern
		{"", ".env", false},
		{"?", "", false},
	} {
		if got := spelling(tt.element, tt.name); got != tt.want {
			t.Errorf("%q as %q: %v", tt.element, tt.name, got)
		}
	}
}

func TestSpellsSensitive(t *testing.T) {
	for path, want := range map[string]bool{
		"/p/.en?": true, "/p/.env*": true, "/p/*.pem": true, "/p/*.p?m": true, "/p/cert*.key": true, "/p/.ss?/x": true,
		"/p/.gi?/hook?": true, "/p/.docke?/confi?.json": true, "/p/.githu?/workflow?/ci.yml": true, "/proc/sel?/enviro?": true,
		"/home/u/.confi?/gh/hosts.yml": true, "/p/id_r*": true, "/p/.npm*": true, "/p/prod.en?": true,
		"/p/*": false, "/p/**/*": false, "/p/*.go": false, "/p/*.json": false, "/p/*.ts": false, "/p/**/*.py": false, "/p/.*": false,
		"/p/*.*": false, "/p/src/[id].tsx": false, "/p/*.toml": false, "/p/*.yml": false, "/p/*.md": false, "/p/*.rc": false,
	} {
		if got := newWork().spellsSensitive(path, "/home/u"); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
