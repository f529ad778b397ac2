package permission_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/errand-acp/errand/permission"
)

const (
	allowSrc   = `{"rules":[{"effect":"allow","commands":[["cat","**"],["grep","**"],["curl","**"]],"paths":["./src/**"]}]}`
	denySecret = `{"default":"allow","rules":[{"effect":"deny","paths":["./secret/**"]}]}`
)

// exec is a call of a program with those arguments.
func exec(argv ...string) string {
	text, _ := json.Marshal(map[string]any{"kind": "execute", "rawInput": map[string]any{"command": argv}})
	return string(text)
}

// out is a link in the session's directory.
var out = map[string]string{dir + "/out": "/etc", dir + "/lnk": "/etc/passwd", dir + "/-l": "/etc/passwd", dir + "/a,b": "/etc/passwd"}

// commandAttacks are about what the words of a command are, and what it runs.
var commandAttacks = []attack{
	// Every word is a path.
	{name: "a path out behind two dashes", policy: allowMany, call: run("cat -- --x/../../out"), twin: run("cat -- --x/out")},
	{name: "a sensitive file behind two dashes", policy: allowMany, call: run("cat -- --x/../.env"), twin: run("cat -- --x/../env")},
	{name: "a link that looks like a flag", policy: allowMany, call: run("cat -- -l"), twin: run("cat -- -k"), links: out},
	{name: "a link glued to a flag", policy: allowAny, call: run("date -flnk"), twin: run("date -flnj"), links: out},
	{name: "a link glued to a bundle of flags", policy: allowAny, call: run("date -uflnk"), twin: run("date -uflnj"), links: out},
	{name: "a link with a comma in its name behind a flag", policy: allowAny, call: run("date --file=a,b"), twin: run("date --file=a,c"), links: out},
	{name: "a private key glued to a flag", policy: allowAny, call: run("date -fid_rsa"), twin: run("date -fid_rsb")},
	{name: "a file that is under no path of the rule, glued to a flag", policy: allowSrc, call: run("cat -f./key src/a"), twin: run("cat -nA src/a")},
	{name: "a path out that looks like a URL", policy: allowMany, call: run("cat x://../../out"), twin: run("cat xx://out")},
	{name: "a sensitive file that looks like a URL", policy: allowMany, call: run("cat x://../.env"), twin: run("cat xx://a/env")},
	{name: "a sensitive file that looks like a web address", policy: allowMany, call: run("cat http://../.env"), twin: run("cat http://a/env")},
	{name: "a link that looks like a URL", policy: allowMany, call: run("cat http://a/x"), twin: run("cat http://b/x"), links: map[string]string{dir + "/http:/a": "/etc"}},
	{name: "a path out that looks like a URL in name=value", policy: allowAny, call: run("dd if=x://../../out"), twin: run("dd if=xx://out")},
	{name: "a path out that looks like a URL behind a flag", policy: allowAny, call: run("date --file=x://../../out"), twin: run("date --file=xx://out")},
	{name: "a path out that looks like a URL, glued to a flag", policy: allowAny, call: run("date -fx://../../out"), twin: run("date -fxx://out")},
	{name: "a file URI behind a flag", policy: allowAny, call: run("date --file=file:///etc/x"), twin: run("date --file=file:///home/u/project/x")},
	{name: "a path out that looks like a file URI", policy: allowMany, call: exec("cat", "file:a#/../../out"), twin: exec("cat", "file:a#/out")},
	{name: "a path out that looks like a file URI, in raw input", policy: allowWork, call: edit("file:a#/../../out"), twin: edit("file:a#/out")},
	{name: "a path out with a line break", policy: allowMany, call: exec("cat", "d\n/../../out"), twin: exec("cat", "d\n/out")},
	{name: "a link with a line break", policy: allowMany, call: exec("cat", "d\n"), twin: exec("cat", "e\n"), links: map[string]string{dir + "/d\n": "/etc/x"}},
	{name: "a path out with a line break behind a flag", policy: allowAny, call: exec("date", "--file=d\n/../../out"), twin: exec("date", "--file=d\n/out")},
	{name: "a path out that is longer than any", policy: allowMany, call: exec("cat", strings.Repeat("./", 3000)+"../out"), twin: exec("cat", strings.Repeat("an-unusually-long-word ", 200))},
	{name: "a link behind a path that is longer than any", policy: allowMany, call: exec("cat", "out/"+strings.Repeat("./", 3000)+"x"), twin: exec("cat", "ouf/"+strings.Repeat("./", 3000)+"x"), links: out},
	{name: "more flags than anybody bundles", policy: allowMany, call: exec("ls", "-"+strings.Repeat("v", 200)), twin: exec("ls", "-"+strings.Repeat("v", 20))},
	{name: "a text with a path out", policy: allowGit, call: exec("git", "commit", "-m", "a\n/../../../b"), twin: exec("git", "commit", "-m", "a: b\n\nSee http://x/y and "+strings.Repeat("so on, ", 100))},
	{name: "a URL with a path out under paths", policy: allowSrc, call: run("curl https://example.com/../../../out"), twin: run("curl https://example.com/a src/x")},
	{name: "a denied path that looks like a URL", policy: denySecret, call: run("cat x://../secret/key"), twin: run("cat xx://secrets/key")},
	{name: "a denied path behind two dashes", policy: denySecret, call: run("cat -- --x/../secret/key"), twin: run("cat -- --x/../secrets/key")},
	{name: "a denied path glued to a flag", policy: denySecret, call: run("grep -fsecret/key x"), twin: run("grep -fsecrets/key x")},
	{name: "a denied path glued to a bundle of flags", policy: denySecret, call: run("grep -nfsecret/key,x x"), twin: run("grep -nfsecrets/key,x x")},
	{name: "a denied name glued to a flag", policy: `{"default":"allow","rules":[{"effect":"deny","paths":["./key"]}]}`, call: run("grep -fkey x"), twin: run("grep -fkex x")},
	{name: "a denied name with dashes", policy: `{"default":"allow","rules":[{"effect":"deny","paths":["./--key"]}]}`, call: run("cat -- --key"), twin: run("cat -- --kex")},
	{name: "a denied path with a line break before it", policy: denySecret, call: exec("cat", "d\n/../secret/key"), twin: exec("cat", "d\n/secrets")},
}

// found finds a program where the links say, else in /usr/bin.
func found(links map[string]string) func(string) (string, error) {
	return func(name string) (string, error) {
		if filepath.IsAbs(name) {
			return name, nil
		}
		return "/usr/bin/" + name, nil
	}
}

func TestCommandAttacks(t *testing.T) {
	for _, a := range commandAttacks {
		t.Run(a.name, func(t *testing.T) {
			policy := rules(t, a.policy)
			for text, want := range map[string]permission.Outcome{a.call: permission.Denied, a.twin: permission.Allowed} {
				req := call(t, text)
				req.Resolve, req.LookPath = linked(a.links), found(a.links)
				_, rec := permission.Decide(t.Context(), policy, req)
				if rec.Decision != want {
					t.Errorf("%s: %s by %q, want %s\n%+v", text, rec.Decision, rec.Rule, want, req.Facts())
				}
			}
		})
	}
}
