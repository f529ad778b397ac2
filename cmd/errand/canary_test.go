package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/canary"
)

// aviary is the script of an agent that puts a secret, $c, wherever the command line has a
// place for it, and says nothing itself.
const aviary = `
stderr "at the start $c\n"
noise "at the start $c"
on initialize
  answer {"agentInfo": {"name": "agent $c", "version": "$c"}}
on session/prompt
  stderr "in the turn $c\nand $c"
  noise "in the turn $c"
  plan "use $c"
  tool c1 "with $c" kind=execute status=in_progress
  update {"sessionUpdate": "tool_call", "toolCallId": "x $c"}
  tool c2 "with ${pad}$c" status=failed
  permission c3 "may I $c" input={"$c": "$c"}
    option yes allow_once "$c"
    option sure allow_once "$c"
  end
`

// A secret is in nothing that the program shows, in no mode, however its run ends; but for
// the agent's own words, of which there are none here.
func TestCanary(t *testing.T) {
	const secret = `qx"jvk\zwypmhgtrbd/QXJVKZWY`
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	// Titles are cut on the screen, here in the middle of the secret.
	head := fmt.Sprintf("read %q; set c \"$answer\"; set pad x size=145B\n", file)
	for ending, src := range map[string]string{
		"completes":     aviary + `stop end_turn`,
		"ends oddly":    aviary + `stop "odd $c"`,
		"fails":         aviary + `fail 401 "no: $c" {"$c": ["$c", "{\"k\":\"$c\"}"]}`,
		"dies":          aviary + `raise KILL`,
		"hangs":         aviary + `wait forever`,
		"exits":         `stderr "no: $c\nreally: $c"; noise "no: $c"; exit 3`,
		"needs login":   `on session/new; fail -32000 "log in: $c" {"authMethods": [{"id": "m $c"}]}`,
		"is no agent":   `on initialize; reply ["$c"]`,
		"other version": `on initialize; reply {"protocolVersion": "$c"}`,
	} {
		for mode, flags := range map[string][]string{
			"plain": nil, "quiet": {"--quiet"}, "json": {"--json"}, "events": {"--events"},
		} {
			for place, env := range map[string][2]string{
				"held back": {"MY_TOKEN=" + secret, ""}, "let through": {"MY_TOKEN=" + secret, "MY_TOKEN"}, "explicit": {"", "MY_TOKEN=" + secret},
			} {
				if place != "held back" && mode != "json" && mode != "plain" {
					continue
				}
				t.Run(ending+", "+mode+", "+place, func(t *testing.T) {
					t.Parallel()
					p := newProgram(t)
					args := append([]string{"run", "--permission", "allow", "--idle-timeout", "300ms", "--cancel-grace", "100ms"}, flags...)
					if env[0] != "" {
						p.Env = []string{env[0]}
					}
					if env[1] != "" {
						args = append(args, "--env", env[1])
					}
					got := p.run(append(append(args, "hi"), scripted(t, head+src)...)...)
					stdout := got.stdout
					if mode == "events" {
						stdout = ""
						for line := range strings.Lines(got.stdout) {
							if !strings.Contains(line, `"type":"update"`) { // its own words
								stdout += line
							}
						}
					}
					// The id of a tool call has to match what the agent says of it.
					stdout = strings.ReplaceAll(stdout, `"x qx\"jvk\\zwypmhgtrbd/QXJVKZWY"`, "")
					for what, text := range map[string]string{"stdout": stdout, "stderr": got.stderr} {
						for _, where := range canary.Find(secret, text) {
							t.Errorf("%s%s", what, where)
						}
					}
					if all := stdout + got.stderr; !strings.Contains(all, "[redacted]") && !(mode == "quiet" && ending == "completes") {
						t.Errorf("there was nothing to redact:\n%s", all)
					}
				})
			}
		}
	}
}
