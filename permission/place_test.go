package permission_test

import (
	"testing"

	"github.com/errand-acp/errand/permission"
)

// The session's directory has become a link to another one since the session began.
func TestDirectoryThatMoved(t *testing.T) {
	policies := map[string]string{
		`{"rules":[{"effect":"allow","commands":[["cat","**"],["ls","**"]]}]}`: run("cat hostname"),
		`{"rules":[{"effect":"allow","commands":[["ls","**"]]}]}`:              run("ls"),
		`{"rules":[{"effect":"allow","commands":[["ls"]]}]}`:                   run("ls"),
		allowWork: edit("hostname"),
	}
	for policy, text := range policies {
		for real, want := range map[string]permission.Effect{"": permission.EffectAllow, "/etc": permission.EffectAllow, dir: permission.EffectDeny} {
			req := call(t, text)
			req.Resolve, req.RealDir = linked(map[string]string{dir: "/etc"}), real
			if v := rules(t, policy).Explain(req); v.Effect != want {
				t.Errorf("%s, %s, real directory %q: got %+v, want %s", policy, text, real, v, want)
			}
		}
	}
}
