package permission_test

import (
	"testing"

	"github.com/errand-acp/errand/internal/check"
)

// An agent with a home of its own: ~ is that, and what is sensitive in the user's own home,
// or kept from agents there, is so all the same.
func TestHomeOfItsOwn(t *testing.T) {
	policy := rules(t, `{"default": "ask", "rules": [
		{"name": "notes", "effect": "allow", "kinds": ["read"], "paths": ["~/notes/**"]},
		{"name": "private", "effect": "deny", "paths": ["~/private/**"]},
		{"name": "all", "effect": "allow", "kinds": ["read"], "paths": ["/**"]}
	]}`)
	for _, tt := range []struct{ path, want string }{
		{"~/notes/a", "all"}, // it may be ./~/notes/a,
		{"/tmp/h/notes/a", "notes"},
		{"/home/u/notes/a", "all"},
		{"~/private/a", "private"},
		{"/tmp/h/private/a", "private"},
		{"/home/u/private/a", "private"},
		{"/home/u/project/a", "all"},
		{"/home/u/.ssh/id", "sensitive file"},
		{"~/.ssh/id", "sensitive file"},
		{"/home/u/.config/gh/hosts.yml", "sensitive file"},
		{"/tmp/h/.config/gh/hosts.yml", "sensitive file"},
		{"~/.config/gh/hosts.yml", "sensitive file"},
		{"/home/other/.config/gh/hosts.yml", "all"},
		{"~/.config/x", "all"},
	} {
		req := call(t, `{"kind":"read","locations":[{"path":"`+tt.path+`"}]}`)
		req.Home, req.UserHome = "/tmp/h", home
		check.Equal(t, tt.path, policy.Explain(req).Rule, tt.want)
	}
}
