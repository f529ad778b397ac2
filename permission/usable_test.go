package permission_test

import (
	"strings"
	"testing"

	"github.com/errand-acp/errand/permission"
)

// What plain rules are written for stays allowed, whatever attacks look alike.
func TestUsable(t *testing.T) {
	policy := rules(t, `{"rules":[
		{"effect":"allow","commands":[["cat","**"],["go","test","**"],["go","build","**"],["git","**"],["grep","**"],["ls","**"],["tar","**"],["rsync","**"],["gcc","**"],["find","**"],["npm","**"],["wc","**"],["date","**"]]},
		{"effect":"allow","commands":[["curl","**"],["wget","**"],["ping","**"],["nc","**"]],"hosts":["example.com"]},
		{"effect":"allow","kinds":["fetch"],"hosts":["example.com","127.0.0.1","::1"]},
		{"effect":"allow","kinds":["search","read"],"paths":["./**"]}, {"effect":"allow","commands":[["tree","**"]]},
		{"effect":"deny","paths":["./secret/**"]},
		{"effect":"deny","commands":[["rm"],["git","push"]]},
		{"effect":"deny","hosts":["evil.com"]}
	]}`)
	for _, text := range []string{
		exec("cat", "file"), exec("cat", "--", "-x"), exec("cat", "-nA", "a.txt"), exec("go", "test", "./..."), exec("go", "test", "-run=TestX/sub", "-count=1", "./a/..."),
		exec("go", "test", "-v", "-race", "-coverpkg=./...", "./..."), exec("go", "build", "-race", "./cmd/x"),
		exec("git", "commit", "-m", "a: b"), exec("git", "commit", "-am", "net/http: see https://example.com/a?b=/etc and C:\n\n- rm x, ../y"), exec("git", "commit", "-m", strings.Repeat("so on. ", 60)),
		exec("git", "commit", "-m", "fix Foo::bar (#12), e.g. a=b; c,d @e"), exec("git", "log", "--oneline", "-n5", "--format=%h: %s", "v1.2..main"), exec("git", "add", "-A"), exec("git", "checkout", "-b", "x/y"),
		exec("git", "switch", "-c", "feature/x"), exec("git", "add", "-u"), exec("git", "status", "-uno"), exec("git", "stash", "-u"), exec("git", "diff", "-u"), exec("git", "log", "-u"), exec("git", "log", "-c"),
		exec("git", "grep", "-c", "foo"), exec("git", "cherry-pick", "-x", "HEAD"), exec("git", "diff", "-M", "-C"), exec("git", "blame", "-C", "f"), exec("git", "bisect", "good"), exec("git", "submodule", "status"),
		exec("git", "--no-pager", "log", "-u"), exec("git", "clean", "-nx"), exec("git", "commit", "-C", "HEAD"),
		exec("git", "diff", "HEAD~1", "--", "a.go"), exec("git", "clone", "https://example.com/a.git"),
		exec("grep", "-rn", "http://x", "src"), exec("grep", "-rnE", "a|b: c", "--include=*.go", "src"), exec("grep", "-e", "--x", "a"), exec("ls", "-la", "a"),
		exec("tar", "-xzf", "a.tar"), exec("rsync", "-avz", "a/", "b/"), exec("gcc", "-Iinclude", "-Wall", "-O2", "-std=c99", "-c", "x.c"), exec("find", "src", "-name", "*.go", "-newer", "a"),
		exec("npm", "view", "x@1.2.3", "version2"), exec("wc", "-l", "a"), exec("date", "+%H:%M"),
		exec("curl", "https://example.com/a"), exec("curl", "-sS", "-X", "POST", "-H", "Accept: text/html", "--max-time", "2.5", "https://example.com:8443/a?b=c"), exec("wget", "-qT", "5", "https://example.com/a"),
		exec("ping", "-c", "3", "-i", "0.2", "example.com"), exec("nc", "-zv", "example.com", "443"),
		fetch("https://example.com/a/../b?u=http://evil.com/"), fetch("http://127.0.0.1:8080/"), fetch("http://[::1]/"), fetch("example.com"),
		`{"kind":"search","rawInput":{"pattern":"secret/","path":"src"}}`,
		`{"kind":"read","rawInput":{"path":"src","ignore":["node_modules",".git"]}}`, `{"kind":"search","rawInput":{"path":"src","exclude":".git"}}`,
		run("find src -not -path '*/.git/*'"), exec("find", "src", "!", "-path", "./.git/*"), run("find src -path src/.git -prune"), run("find src -name .git -prune -o -type f -print"),
		run("grep -rn --exclude-dir=.git TODO src"), run("tree -a -I .git src"), exec("tree", "-I", ".git|node_modules", "src"), run("ls -I .git src"),
	} {
		req := call(t, text)
		req.Resolve, req.LookPath = linked(nil), found
		if v := policy.Explain(req); v.Effect != permission.EffectAllow {
			t.Errorf("%s: %+v, %q", text, v, req.Facts().Risks)
		}
	}
}
