package conform

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// What could not be tried has not been passed: a check of nothing, or of an agent that lets
// nobody in, is no success, and says why in its last line, its JSON and its JUnit.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	const dies = "stderr 'cannot find module'\nexit 3"
	for name, tt := range map[string]struct {
		src        string
		only       []string
		want       string // of Incomplete; empty: it is complete
		tried      bool
		authMethod string
	}{
		"dies at once, what needs a turn":   {dies, []string{"cancel-*"}, "none of the rules that were chosen could be tried: the agent did not answer initialize", false, ""},
		"dies at once, versions only":       {dies, []string{"initialize-future-version"}, "did not answer initialize", false, ""},
		"dies at once, all":                 {dies, nil, "rules could not be tried: the agent did not answer initialize", true, ""},
		"refuses to initialize":             {`on initialize; fail -32603 "no"`, []string{"prompt-*"}, "answered initialize with an error", false, ""},
		"wants a login":                     {`on session/new; fail -32000 "Authentication required"`, []string{"initialize-*", "session-id"}, "1 of 5 rules could not be tried: the agent answered session/new with an error", true, ""},
		"wants a login, and nothing for it": {`on session/new; fail -32000 "Authentication required"`, []string{"initialize-*"}, "", true, ""},
		"wants a login at the prompt":       {`on session/prompt; fail -32000 "Authentication required"`, []string{"session-id", "prompt-text"}, "answered session/prompt with an error", true, ""},
		"the login fails":                   {`on authenticate; fail -32603 "no"`, []string{"initialize-*", "session-id"}, "answered authenticate with an error", true, "key"},
		"a login that there is none of":     {`on authenticate; fail -32602 "no"` + "\non initialize; answer {\"authMethods\": [{\"id\": \"oauth\", \"name\": \"O\"}]}", []string{"session-id"}, `; it advertises no method "key"; there is "oauth"`, false, "key"},
		"never does what the rules are of":  {``, []string{"permission-*"}, "the agent asked for no permission", false, ""},
		"does some of it":                   {``, []string{"permission-*", "session-id"}, "", true, ""},
		"does it all":                       {``, []string{"initialize-*", "session-id*"}, "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tryScript(t, tt.src, &Options{Only: tt.only, AuthMethod: tt.authMethod})
			if (r.Incomplete != "") != (tt.want != "") || !strings.Contains(r.Incomplete, tt.want) || (r.Tried > 0) != tt.tried {
				t.Errorf("%d tried, incomplete %q; want %q", r.Tried, r.Incomplete, tt.want)
			}
			if r.Tried != len(r.Findings)-r.Counts.NotApplicable {
				t.Errorf("%d tried of %d: %s", r.Tried, len(r.Findings), r.Counts)
			}
			if tt.want == "" {
				if strings.Contains(r.Table(), "incomplete") || r.Failed(Manners) {
					t.Errorf("%s", r.Table())
				}
				return
			}
			if !r.Failed(Must) || !r.Failed(Manners) || r.Failed(Never) {
				t.Errorf("it is a failure of must %v, of manners %v, of never %v", r.Failed(Must), r.Failed(Manners), r.Failed(Never))
			}
			lines := strings.Split(strings.TrimSpace(r.Table()), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "incomplete: ") || !strings.Contains(last, tt.want) {
				t.Errorf("the last line of the table: %q", last)
			}
			if b, err := json.Marshal(r); err != nil || !bytes.Contains(b, []byte(`"incomplete":"`+r.Incomplete[:20])) {
				t.Errorf("%v: the JSON: %s", err, b)
			}
			for failOn, want := range map[Level]string{Must: `errors="1"`, Never: `errors="0"`} {
				var b bytes.Buffer
				if err := r.WriteJUnit(&b, failOn); err != nil {
					t.Fatal(err)
				}
				if has := strings.Contains(b.String(), "<error "); has != (failOn != Never) || !strings.Contains(b.String(), want) || !strings.Contains(b.String(), `name="complete"`) {
					t.Errorf("%s: %s", failOn, b.Bytes())
				}
			}
		})
	}
}
