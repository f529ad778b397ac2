package permission_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// attack is a call that a rule seems to allow and must not, beside a twin without the
// trick, which the same rules do allow: neither could pass by chance.
type attack struct {
	name, policy, call, twin string
	links                    map[string]string
}

// linked resolves symbolic links that the map has, element by element as a kernel does.
func linked(links map[string]string) func(string) (string, error) {
	return func(path string) (string, error) {
		at := "/"
		rest := strings.Split(path, "/")
		for steps := 0; len(rest) > 0; steps++ {
			if steps > 1000 {
				return "", errors.New("too many links")
			}
			e := rest[0]
			rest = rest[1:]
			switch e {
			case "", ".":
			case "..":
				at = filepath.Dir(at)
			default:
				at = filepath.Join(at, e)
				if to, ok := links[at]; ok {
					if !filepath.IsAbs(to) {
						to = filepath.Join(filepath.Dir(at), to)
					}
					at = "/"
					rest = append(strings.Split(to, "/"), rest...)
				}
			}
		}
		return at, nil
	}
}

const (
	allowWork   = `{"rules":[{"effect":"allow","kinds":["read","edit","search","delete","move","other"],"paths":["./**"]}]}`
	allowGit    = `{"rules":[{"effect":"allow","commands":[["git","**"]]}]}`
	allowGo     = `{"rules":[{"effect":"allow","commands":[["go","test","**"]]}]}`
	allowAny    = `{"rules":[{"effect":"allow","commands":[["*","**"]]}]}`
	allowMany   = `{"rules":[{"effect":"allow","commands":[["find","**"],["tar","**"],["rsync","**"],["rg","**"],["sort","**"],["cat","**"],["ls","**"],["curl","**"]]}]}`
	allowFiles  = `{"rules":[{"effect":"allow","commands":[["cat","**"],["dd","**"]],"paths":["./**"]}]}`
	allowFetch  = `{"rules":[{"effect":"allow","kinds":["fetch"],"hosts":["github.com","*.example.org"]}]}`
	allowTitle  = `{"rules":[{"effect":"allow","titles":["Read *"],"kinds":["read"],"paths":["./**"]}]}`
	writeAll    = `{"default":"allow","sensitive":"deny","rules":[]}`
	allowShell  = `{"rules":[{"effect":"allow","shell":true}]}`
	denySecrets = `{"default":"allow","rules":[{"effect":"deny","paths":["./secrets/**","/srv/data/**"]},{"effect":"deny","commands":[["rm","**"],["git","push","**"]]}]}`
)

func edit(path string) string { return `{"kind":"edit","rawInput":{"path":` + quote(path) + `}}` }
func run(line string) string {
	return `{"kind":"execute","rawInput":{"command":` + quote(line) + `}}`
}

var attacks = []attack{
	// What the agent says of the call, against what the call is.
	{name: "title lies about the command", policy: allowTitle,
		call: `{"kind":"read","title":"Read a.txt","locations":[{"path":"a.txt"}],"rawInput":{"command":"rm -rf /"}}`,
		twin: `{"kind":"read","title":"Read a.txt","locations":[{"path":"a.txt"}]}`},
	{name: "kind lies about the command", policy: allowWork,
		call: `{"kind":"read","locations":[{"path":"a.txt"}],"rawInput":{"cmd":["rm","-rf","/"]}}`,
		twin: `{"kind":"read","locations":[{"path":"a.txt"}],"rawInput":{}}`},
	{name: "kind lies about a diff", policy: `{"rules":[{"effect":"allow","kinds":["read"],"paths":["./**"]}]}`,
		call: `{"kind":"read","content":[{"type":"diff","path":"a.txt","newText":"x"}],"locations":[{"path":"a.txt"}]}`,
		twin: `{"kind":"read","locations":[{"path":"a.txt"}]}`},
	{name: "kind lies about written content", policy: `{"rules":[{"effect":"allow","kinds":["read"],"paths":["./**"]}]}`,
		call: `{"kind":"read","rawInput":{"file_path":"a.txt","content":"x"}}`,
		twin: `{"kind":"read","rawInput":{"file_path":"a.txt"}}`},
	{name: "kind lies about the network", policy: allowWork,
		call: `{"kind":"read","rawInput":{"path":"a.txt","url":"http://evil.example/?q=a"}}`,
		twin: `{"kind":"read","rawInput":{"path":"a.txt"}}`},
	{name: "no kind at all", policy: `{"rules":[{"effect":"allow","kinds":["read"],"paths":["./**"]}]}`,
		call: `{"locations":[{"path":"a.txt"}]}`, twin: `{"kind":"read","locations":[{"path":"a.txt"}]}`},
	{name: "locations lie about the raw input", policy: allowWork,
		call: `{"kind":"edit","locations":[{"path":"a.txt"}],"rawInput":{"path":"../../etc/passwd"}}`,
		twin: `{"kind":"edit","locations":[{"path":"a.txt"}],"rawInput":{"path":"b/../a.txt"}}`},
	{name: "raw input lies about the locations", policy: allowWork,
		call: `{"kind":"edit","locations":[{"path":"a.txt"},{"path":"/etc/passwd"}],"rawInput":{"path":"a.txt"}}`,
		twin: `{"kind":"edit","locations":[{"path":"a.txt"}],"rawInput":{"path":"a.txt"}}`},
	{name: "a diff lies about the locations", policy: allowWork,
		call: `{"kind":"edit","locations":[{"path":"a.txt"}],"content":[{"type":"diff","path":"/etc/passwd","newText":""}]}`,
		twin: `{"kind":"edit","locations":[{"path":"a.txt"}],"content":[{"type":"diff","path":"/home/u/project/a.txt","newText":""}]}`},
	{name: "a call without a path", policy: allowWork, call: `{"kind":"edit","rawInput":{"content":"x"}}`, twin: edit("a.txt")},
	{name: "a command that is not told", policy: `{"rules":[{"effect":"allow","kinds":["execute"],"commands":[["git","status"]]}]}`,
		call: `{"kind":"execute","title":"git status"}`, twin: run("git status")},
	{name: "one command of two", policy: allowGit,
		call: `{"kind":"execute","rawInput":{"commands":["git status","evil"]}}`, twin: `{"kind":"execute","rawInput":{"commands":["git status","git log"]}}`},
	{name: "a command two levels down", policy: allowWork,
		call: `{"kind":"other","rawInput":{"path":"a","options":{"hooks":[{"cmd":"evil"}]}}}`, twin: `{"kind":"other","rawInput":{"path":"a","options":{"hooks":[{"cmt":"evil"}]}}}`},
	{name: "a tool's name lies", policy: `{"rules":[{"effect":"allow","tools":["Read"],"paths":["./**"]}]}`,
		call: `{"_meta":{"claudeCode":{"toolName":"Read"}},"rawInput":{"file_path":"/etc/passwd"}}`, twin: `{"_meta":{"claudeCode":{"toolName":"Read"}},"rawInput":{"file_path":"a.txt"}}`},
	{name: "two tool names", policy: `{"rules":[{"effect":"allow","tools":["Read"],"paths":["./**"]}]}`,
		call: `{"_meta":{"toolName":"Read"},"rawInput":{"tool":"Bash","path":"a"}}`, twin: `{"_meta":{"toolName":"Read"},"rawInput":{"tool":"Read","path":"a"}}`},
	{name: "a code tool without a command", policy: allowWork,
		call: `{"kind":"other","rawInput":{"language":"python","code":"import os"}}`, twin: `{"kind":"other","rawInput":{"language":"python","file":"a.py"}}`},

	// Paths under whatever key.
	{name: "path under file_path", policy: allowWork, call: `{"kind":"edit","rawInput":{"file_path":"/etc/x"}}`, twin: `{"kind":"edit","rawInput":{"file_path":"x"}}`},
	{name: "path under filePath", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"filePath":"../x"}}`, twin: `{"kind":"edit","rawInput":{"filePath":"x"}}`},
	{name: "path under abs_path", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"abs_path":"/x"}}`, twin: `{"kind":"edit","rawInput":{"abs_path":"/home/u/project/x"}}`},
	{name: "path under notebook_path", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"notebook_path":"../x"}}`, twin: `{"kind":"edit","rawInput":{"notebook_path":"x"}}`},
	{name: "path under relative_workspace_path", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"relative_workspace_path":".."}}`, twin: `{"kind":"edit","rawInput":{"relative_workspace_path":"."}}`},
	{name: "path under a key of no meaning", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"zzz":"/etc/x"}}`, twin: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"zzz":"etc"}}`},
	{name: "path in nested lists", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"files":[[["a"],["../../x"]]]}}`, twin: `{"kind":"edit","rawInput":{"files":[[["a"],["x"]]]}}`},
	{name: "path as a key", policy: allowWork, call: `{"kind":"edit","rawInput":{"changes":{"/etc/x":{"add":{}}}}}`, twin: `{"kind":"edit","rawInput":{"changes":{"x.go":{"add":{}}}}}`},
	{name: "path in JSON in a string", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"arguments":"{\"path\":\"/etc/x\"}"}}`, twin: `{"kind":"edit","rawInput":{"arguments":"{\"path\":\"x\"}"}}`},
	{name: "raw input is JSON in a string", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":"{\"command\":\"evil\"}"}`, twin: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":"{\"comment\":\"evil\"}"}`},
	{name: "path in a patch", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"patch":"*** Begin Patch\n*** Update File: /etc/x\n"}}`, twin: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"patch":"*** Begin Patch\n*** Update File: x\n"}}`},
	{name: "path in a unified diff", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"diff":"--- a/x\n+++ b/../../x\n"}}`, twin: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"diff":"--- a/x\n+++ b/x\n"}}`},
	{name: "path relative to another cwd", policy: allowWork, call: `{"kind":"edit","rawInput":{"cwd":"/etc","path":"passwd"}}`, twin: `{"kind":"edit","rawInput":{"cwd":"/home/u/project/etc","path":"passwd"}}`},
	{name: "target of a move", policy: allowWork, call: `{"kind":"move","rawInput":{"from":"a","to":"/tmp/a"}}`, twin: `{"kind":"move","rawInput":{"from":"a","to":"b"}}`},
	{name: "too deep to be looked at", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":` + strings.Repeat(`[`, 40) + `"/etc/x"` + strings.Repeat(`]`, 40) + `}`, twin: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":` + strings.Repeat(`[`, 9) + `"x"` + strings.Repeat(`]`, 9) + `}`},
	{name: "more paths than are looked at", policy: allowWork, call: manyPaths(2000), twin: manyPaths(20)},

	// Spellings of paths.
	{name: "dot dot", policy: allowWork, call: edit("a/../../x"), twin: edit("a/../x")},
	{name: "a directory whose name begins alike", policy: allowWork, call: edit("/home/u/project-evil/x"), twin: edit("/home/u/project/x")},
	{name: "slashes", policy: allowWork, call: edit("//etc//x"), twin: edit("/home//u/project///x/")},
	{name: "backslashes", policy: allowWork, call: edit(`..\..\x`), twin: edit(`a\b`)},
	{name: "a drive", policy: allowWork, call: edit(`C:\Windows\x`), twin: edit(`C\x`)},
	{name: "a network share", policy: allowWork, call: edit(`\\host\share\x`), twin: edit(`host\share`)},
	{name: "the home directory", policy: allowWork, call: edit("~/x"), twin: edit("x~")},
	{name: "another's home directory", policy: allowWork, call: edit("~root/x"), twin: edit("x~root/x")},
	{name: "a variable of a shell", policy: allowWork, call: edit("$HOME/x"), twin: edit("routes/$id.tsx")},
	{name: "a file URI", policy: allowWork, call: `{"kind":"edit","rawInput":{"uri":"file:///etc/x"}}`, twin: `{"kind":"edit","rawInput":{"uri":"file:///home/u/project/x"}}`},
	{name: "a file URI with escapes", policy: allowWork, call: `{"kind":"edit","rawInput":{"uri":"file:///home/u/project/%2e%2e/x"}}`, twin: `{"kind":"edit","rawInput":{"uri":"file:///home/u/project/%78"}}`},
	{name: "a file URI with a bad escape", policy: allowWork, call: `{"kind":"edit","rawInput":{"uri":"file:///home/u/project/%zz"}}`, twin: `{"kind":"edit","rawInput":{"uri":"FILE://localhost/home/u/project/z"}}`},
	{name: "a file URI with a host", policy: allowWork, call: `{"kind":"edit","rawInput":{"uri":"file://evil/home/u/project/z"}}`, twin: `{"kind":"edit","rawInput":{"uri":"file:/home/u/project/z"}}`},
	{name: "NUL", policy: `{"default":"allow","rules":[]}`, call: edit("a.txt\x00../../etc/x"), twin: edit("a.txt")},
	{name: "NUL in a sensitive place", policy: `{"sensitive":"allow","default":"allow","rules":[]}`, call: edit(".env\x00.txt"), twin: edit(".env")},
	{name: "invisible characters", policy: allowWork, call: edit("a\u202etxt.exe"), twin: edit("a.txt")},
	{name: "a line break", policy: allowWork, call: edit("a\n/etc/x"), twin: edit("a")},
	{name: "decomposed characters", policy: allowWork, call: edit("cafe\u0301"), twin: edit("caf\u00e9")},
	{name: "the other case of an allowed name", policy: `{"rules":[{"effect":"allow","paths":["./README"]}]}`, call: edit("readme"), twin: edit("README")},
	{name: "a path longer than any", policy: allowWork, call: edit(strings.Repeat("a/", 1<<12)), twin: edit(strings.Repeat("a/", 1<<8))},
	{name: "a relative path without a directory", policy: `{"rules":[{"effect":"allow","paths":["/**"]}]}`, call: `{"kind":"edit","rawInput":{"path":"~u/x"}}`, twin: edit("/etc/x")},

	// Links.
	{name: "a link out of the directory", policy: allowWork, call: edit("link/x"), twin: edit("lint/x"), links: map[string]string{dir + "/link": "/etc"}},
	{name: "dot dot behind a link", policy: allowWork, call: edit("link/../x"), twin: edit("lint/../x"), links: map[string]string{dir + "/link": "/srv/a/b"}},
	{name: "a link to a sensitive file", policy: allowWork, call: edit("notes.txt"), twin: edit("note.txt"), links: map[string]string{dir + "/notes.txt": ".env"}},
	{name: "a link that cannot be followed", policy: allowWork, call: edit("loop/x"), twin: edit("x"), links: map[string]string{dir + "/loop": "loop"}},
	{name: "an allowed directory that is a link", policy: `{"rules":[{"effect":"allow","paths":["./vendor/**"]}]}`, call: edit("vendor/x"), twin: edit("./vendor/y"), links: map[string]string{dir + "/vendor/x": "/etc/x"}},
	{name: "a link to a denied file", policy: denySecrets, call: edit("mine/key"), twin: edit("mine2/key"), links: map[string]string{dir + "/mine": "secrets"}},
	{name: "a denied directory that is a link", policy: denySecrets, call: edit("/data/key"), twin: edit("/dada/key"), links: map[string]string{dir + "/secrets": "/data"}},

	// Sensitive files.
	{name: "an environment file in the workspace", policy: allowWork, call: edit(".env"), twin: edit(".env.example")},
	{name: "an environment file in another case", policy: allowWork, call: edit("sub/.ENV.local"), twin: edit("sub/env.local.md")},
	{name: "a private key", policy: allowWork, call: edit("deploy/id_ed25519"), twin: edit("deploy/id_ed25519.pub")},
	{name: "a hook that git runs", policy: allowWork, call: edit(".git/hooks/pre-commit"), twin: edit("hooks/pre-commit")},
	{name: "the hooks of a submodule", policy: writeAll, call: edit(".git/modules/a/hooks/post-checkout"), twin: edit("git/modules/a/hooks/post-checkout")},
	{name: "the configuration of a submodule", policy: writeAll, call: edit(".git/modules/a/b/config"), twin: edit("git/modules/a/b/config")},
	{name: "the configuration of a work tree", policy: writeAll, call: edit(".git/config.worktree"), twin: edit(".git/HEAD")},
	{name: "where a work tree is", policy: writeAll, call: edit(".git/worktrees/w/commondir"), twin: edit("git/worktrees/w/commondir")},
	{name: "where a submodule's repository is", policy: writeAll, call: edit("sub/.git"), twin: edit("sub/.gitignore")},
	{name: "the attributes of a repository", policy: writeAll, call: edit(".git/info/attributes"), twin: edit("git/info/attributes")},
	{name: "the hooks of a bare repository", policy: writeAll, call: edit("x.git/hooks/update"), twin: edit("x/hooks/update")},
	{name: "a hook that husky runs", policy: writeAll, call: edit(".husky/pre-commit"), twin: edit("husky/pre-commit")},
	{name: "a task of an editor", policy: writeAll, call: edit(".vscode/tasks.json"), twin: edit(".vscode/extensions.json")},
	{name: "how an editor starts a program", policy: writeAll, call: edit(".vscode/launch.json"), twin: edit("vscode/launch.json")},
	{name: "the settings of an editor", policy: writeAll, call: edit(".vscode/settings.json"), twin: edit("vscode/settings.json")},
	{name: "a workflow of CI", policy: writeAll, call: edit(".github/workflows/ci.yml"), twin: edit(".github/CODEOWNERS")},
	{name: "the settings of an agent", policy: writeAll, call: edit(".claude/settings.local.json"), twin: edit(".claude/CLAUDE.md")},
	{name: "the servers of an agent", policy: writeAll, call: edit(".mcp.json"), twin: edit("mcp.json")},
	{name: "the configuration of cargo", policy: writeAll, call: edit(".cargo/config.toml"), twin: edit("cargo/config.toml")},
	{name: "the configuration of yarn", policy: writeAll, call: edit(".yarnrc.yml"), twin: edit("yarnrc.yml")},
	{name: "the configuration of npm", policy: writeAll, call: edit(".npmrc"), twin: edit("npmrc")},
	{name: "the hooks of pre-commit", policy: writeAll, call: edit(".pre-commit-config.yaml"), twin: edit("pre-commit-config.yaml")},
	{name: "what direnv runs", policy: writeAll, call: edit(".envrc"), twin: edit("envrc")},
	{name: "a dot at the end", policy: allowWork, call: edit(".env."), twin: edit("env.")},
	{name: "a blank at the end", policy: allowWork, call: edit(".env "), twin: edit("env ")},
	{name: "a stream of a file", policy: allowWork, call: edit(".env::$DATA"), twin: edit("env::$DATA")},
	{name: "a sensitive file as an argument", policy: allowMany, call: run("cat ./.env"), twin: run("cat ./env")},
	{name: "a sensitive file as a flag's value", policy: allowMany, call: run("rg --file=.env x"), twin: run("rg --file=env x")},
	{name: "a sensitive file in a shell line", policy: allowShell, call: run("cat a; cat '.env'"), twin: run("cat a; cat 'env'")},
	{name: "a sensitive file under a wildcard that spells its directory", policy: `{"rules":[{"effect":"allow","paths":["./conf/*"]}]}`, call: edit("conf/.env"), twin: edit("conf/env")},
	{name: "a sensitive file under default allow", policy: `{"default":"allow","rules":[]}`, call: edit("~/.ssh/config"), twin: edit("~/x")},

	// Commands.
	{name: "a shell line that begins with an allowed program", policy: allowGit, call: run("git status; evil"), twin: run("git status")},
	{name: "a pipe", policy: allowGit, call: run("git log | sh"), twin: run("git log")},
	{name: "and", policy: allowGit, call: run("git log && evil"), twin: run("git log")},
	{name: "in the background", policy: allowGit, call: run("git log & evil"), twin: run("git log")},
	{name: "command substitution", policy: allowGit, call: run("git log $(evil)"), twin: run("git log evil")},
	{name: "backticks", policy: allowGit, call: run("git log `evil`"), twin: run("git log evil")},
	{name: "substitution in double quotes", policy: allowGit, call: run(`git log "$(evil)"`), twin: run(`git log "(evil)"`)},
	{name: "a redirection", policy: allowGit, call: run("git log > /etc/x"), twin: run("git log x")},
	{name: "process substitution", policy: allowGit, call: run("git diff <(evil)"), twin: run("git diff evil")},
	{name: "a second line", policy: allowGit, call: run("git log\nevil"), twin: run("git log\n")},
	{name: "a carriage return", policy: allowGit, call: run("git log\revil"), twin: run("git log evil")},
	{name: "a glob", policy: allowGit, call: run("git add *"), twin: run("git add x")},
	{name: "a brace expansion", policy: allowGit, call: run("git log {--output,x}"), twin: run("git log x")},
	{name: "a variable", policy: allowGit, call: run("git log $X"), twin: run("git log X")},
	{name: "a Windows variable", policy: allowGit, call: run("git log %X%"), twin: run("git log X")},
	{name: "an open quote", policy: allowGit, call: run(`git log "x`), twin: run(`git log "x"`)},
	{name: "an escaped blank", policy: allowGit, call: run(`git log a\ b`), twin: run(`git log a b`)},
	{name: "a no-break space", policy: allowGit, call: run("git log\u00a0x"), twin: run("git log x")},
	{name: "a program that looks alike", policy: allowGit, call: run("g\u0456t log"), twin: run("git log")},
	{name: "a longer program", policy: allowGit, call: run("git-evil log"), twin: run("git log")},
	{name: "a program here instead of the one in PATH", policy: allowGit, call: run("./git log"), twin: run("git log")},
	{name: "a program elsewhere", policy: allowGit, call: run("/tmp/git log"), twin: run("git log")},
	{name: "a program here under any program", policy: allowAny, call: run("./evil"), twin: run("evil")},
	{name: "an assignment before the program", policy: allowGit, call: run("GIT_PAGER=evil git log"), twin: run("git log")},
	{name: "an environment beside the command", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":"git","args":["log"],"env":[{"name":"GIT_SSH_COMMAND","value":"evil"}]}}`, twin: `{"kind":"execute","rawInput":{"command":"git","args":["log"],"env":[]}}`},
	{name: "another variable than the rule names", policy: `{"rules":[{"effect":"allow","commands":[["CI=*","make","check"]]}]}`, call: run("LD_PRELOAD=./x make check"), twin: run("CI=1 make check")},
	{name: "another directory", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":"git log","cwd":"/tmp"}}`, twin: `{"kind":"execute","rawInput":{"command":"git log","cwd":"sub"}}`},
	{name: "a shell asked for beside the arguments", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":"git","args":["log","; evil"],"shell":true}}`, twin: `{"kind":"execute","rawInput":{"command":"git","args":["log","; evil"],"shell":false}}`},
	{name: "a line as program with arguments", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":"git log;evil","args":["x"]}}`, twin: `{"kind":"execute","rawInput":{"command":"git","args":["log","evil","x"]}}`},
	{name: "arguments as a string with a second command", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":"git","args":"log; evil"}}`, twin: `{"kind":"execute","rawInput":{"command":"git","args":"log evil"}}`},
	{name: "raw input is a line", policy: allowGit, call: `{"kind":"execute","rawInput":"git log; evil"}`, twin: `{"kind":"execute","rawInput":"git log"}`},
	{name: "a shell with a line", policy: allowAny, call: `{"kind":"execute","rawInput":{"command":["bash","-lc","git log"]}}`, twin: `{"kind":"execute","rawInput":{"command":["echo","-lc","git log"]}}`},
	{name: "an interpreter under any program", policy: allowAny, call: run("python3.12 -c x"), twin: run("pythia -c x")},
	{name: "an interpreter in another case", policy: allowAny, call: run("PYTHON.EXE -c x"), twin: run("PYTHIA.EXE -c x")},
	{name: "env", policy: allowAny, call: run("env evil"), twin: run("echo evil")},
	{name: "xargs", policy: allowAny, call: run("xargs evil"), twin: run("echo evil")},
	{name: "sudo", policy: allowAny, call: run("sudo evil"), twin: run("echo evil")},
	{name: "npx", policy: allowAny, call: run("npx evil"), twin: run("echo evil")},
	{name: "docker", policy: allowAny, call: run("docker run evil"), twin: run("echo run evil")},
	{name: "ssh", policy: allowAny, call: run("ssh evil.example"), twin: run("echo evil.example")},
	{name: "setpriv under any program", policy: allowAny, call: run("setpriv evil"), twin: run("echo evil")},
	{name: "prlimit under any program", policy: allowAny, call: run("prlimit evil"), twin: run("echo evil")},
	{name: "choom under any program", policy: allowAny, call: run("choom evil"), twin: run("echo evil")},
	{name: "fakeroot under any program", policy: allowAny, call: run("fakeroot evil"), twin: run("echo evil")},
	{name: "ssh-agent under any program", policy: allowAny, call: run("ssh-agent evil"), twin: run("echo evil")},
	{name: "dbus-run-session under any program", policy: allowAny, call: run("dbus-run-session evil"), twin: run("echo evil")},
	{name: "linux32 under any program", policy: allowAny, call: run("linux32 evil"), twin: run("echo evil")},
	{name: "linux64 under any program", policy: allowAny, call: run("linux64 evil"), twin: run("echo evil")},
	{name: "x86_64 under any program", policy: allowAny, call: run("x86_64 evil"), twin: run("echo evil")},
	{name: "i386 under any program", policy: allowAny, call: run("i386 evil"), twin: run("echo evil")},
	{name: "debconf under any program", policy: allowAny, call: run("debconf evil"), twin: run("echo evil")},
	{name: "unshare under any program", policy: allowAny, call: run("unshare evil"), twin: run("echo evil")},
	{name: "nsenter under any program", policy: allowAny, call: run("nsenter evil"), twin: run("echo evil")},
	{name: "chroot under any program", policy: allowAny, call: run("chroot evil"), twin: run("echo evil")},
	{name: "setsid under any program", policy: allowAny, call: run("setsid evil"), twin: run("echo evil")},
	{name: "nohup under any program", policy: allowAny, call: run("nohup evil"), twin: run("echo evil")},
	{name: "timeout under any program", policy: allowAny, call: run("timeout evil"), twin: run("echo evil")},
	{name: "stdbuf under any program", policy: allowAny, call: run("stdbuf evil"), twin: run("echo evil")},
	{name: "nice under any program", policy: allowAny, call: run("nice evil"), twin: run("echo evil")},
	{name: "ionice under any program", policy: allowAny, call: run("ionice evil"), twin: run("echo evil")},
	{name: "taskset under any program", policy: allowAny, call: run("taskset evil"), twin: run("echo evil")},
	{name: "chrt under any program", policy: allowAny, call: run("chrt evil"), twin: run("echo evil")},
	{name: "script under any program", policy: allowAny, call: run("script evil"), twin: run("echo evil")},
	{name: "watch under any program", policy: allowAny, call: run("watch evil"), twin: run("echo evil")},
	{name: "parallel under any program", policy: allowAny, call: run("parallel evil"), twin: run("echo evil")},
	{name: "flock under any program", policy: allowAny, call: run("flock evil"), twin: run("echo evil")},
	{name: "strace under any program", policy: allowAny, call: run("strace evil"), twin: run("echo evil")},
	{name: "ltrace under any program", policy: allowAny, call: run("ltrace evil"), twin: run("echo evil")},
	{name: "gdb under any program", policy: allowAny, call: run("gdb evil"), twin: run("echo evil")},
	{name: "valgrind under any program", policy: allowAny, call: run("valgrind evil"), twin: run("echo evil")},
	{name: "perf under any program", policy: allowAny, call: run("perf evil"), twin: run("echo evil")},
	{name: "systemd-run under any program", policy: allowAny, call: run("systemd-run evil"), twin: run("echo evil")},
	{name: "doas under any program", policy: allowAny, call: run("doas evil"), twin: run("echo evil")},
	{name: "su under any program", policy: allowAny, call: run("su evil"), twin: run("echo evil")},
	{name: "runuser under any program", policy: allowAny, call: run("runuser evil"), twin: run("echo evil")},
	{name: "busybox under any program", policy: allowAny, call: run("busybox evil"), twin: run("echo evil")},
	{name: "toybox under any program", policy: allowAny, call: run("toybox evil"), twin: run("echo evil")},
	{name: "ld.so under any program", policy: allowAny, call: run("ld.so evil"), twin: run("echo evil")},
	{name: "ld-linux-x86-64.so.2 under any program", policy: allowAny, call: run("ld-linux-x86-64.so.2 evil"), twin: run("echo evil")},
	{name: "ld-musl-x86_64.so.1 under any program", policy: allowAny, call: run("ld-musl-x86_64.so.1 evil"), twin: run("echo evil")},
	{name: "qemu-x86_64 under any program", policy: allowAny, call: run("qemu-x86_64 evil"), twin: run("echo evil")},
	{name: "qemu-aarch64-static under any program", policy: allowAny, call: run("qemu-aarch64-static evil"), twin: run("echo evil")},
	{name: "wine under any program", policy: allowAny, call: run("wine evil"), twin: run("echo evil")},
	{name: "wine64 under any program", policy: allowAny, call: run("wine64 evil"), twin: run("echo evil")},
	{name: "setarch under any program", policy: allowAny, call: run("setarch evil"), twin: run("echo evil")},
	{name: "bwrap under any program", policy: allowAny, call: run("bwrap evil"), twin: run("echo evil")},
	{name: "proot under any program", policy: allowAny, call: run("proot evil"), twin: run("echo evil")},
	{name: "xvfb-run under any program", policy: allowAny, call: run("xvfb-run evil"), twin: run("echo evil")},
	{name: "socat under any program", policy: allowAny, call: run("socat evil"), twin: run("echo evil")},
	{name: "ccache under any program", policy: allowAny, call: run("ccache evil"), twin: run("echo evil")},
	{name: "capsh under any program", policy: allowAny, call: run("capsh evil"), twin: run("echo evil")},
	{name: "runcon under any program", policy: allowAny, call: run("runcon evil"), twin: run("echo evil")},
	{name: "tini under any program", policy: allowAny, call: run("tini evil"), twin: run("echo evil")},
	{name: "torsocks under any program", policy: allowAny, call: run("torsocks evil"), twin: run("echo evil")},
	{name: "proxychains4 under any program", policy: allowAny, call: run("proxychains4 evil"), twin: run("echo evil")},
	{name: "s6-setuidgid under any program", policy: allowAny, call: run("s6-setuidgid evil"), twin: run("echo evil")},
	{name: "numactl under any program", policy: allowAny, call: run("numactl evil"), twin: run("echo evil")},
	{name: "hyperfine under any program", policy: allowAny, call: run("hyperfine evil"), twin: run("echo evil")},
	{name: "ldd under any program", policy: allowAny, call: run("ldd evil"), twin: run("echo evil")},
	{name: "m4 under any program", policy: allowAny, call: run("m4 evil"), twin: run("echo evil")},
	{name: "gcc -wrapper", policy: allowAny, call: run("gcc -wrapper evil a.c"), twin: run("gcc -Wall evil a.c")},
	{name: "cc -wrapper", policy: allowAny, call: run("cc -wrapper evil a.c"), twin: run("cc -Wall evil a.c")},
	{name: "c99 -wrapper", policy: allowAny, call: run("c99 -wrapper evil a.c"), twin: run("c99 -Wall evil a.c")},
	{name: "g++ -wrapper", policy: allowAny, call: run("g++ -wrapper evil a.c"), twin: run("g++ -Wall evil a.c")},
	{name: "clang -wrapper", policy: allowAny, call: run("clang -wrapper evil a.c"), twin: run("clang -Wall evil a.c")},
	{name: "clang++-17 -wrapper", policy: allowAny, call: run("clang++-17 -wrapper evil a.c"), twin: run("clang++-17 -Wall evil a.c")},
	{name: "x86_64-linux-gnu-gcc-12 -wrapper", policy: allowAny, call: run("x86_64-linux-gnu-gcc-12 -wrapper evil a.c"), twin: run("x86_64-linux-gnu-gcc-12 -Wall evil a.c")},
	{name: "arm-none-eabi-g++ -wrapper", policy: allowAny, call: run("arm-none-eabi-g++ -wrapper evil a.c"), twin: run("arm-none-eabi-g++ -Wall evil a.c")},
	{name: "flags of a compiler in a file", policy: allowAny, call: run("cc @evil"), twin: run("cc evil")},
	{name: "the programs of a compiler", policy: allowAny, call: run("cc -Bevil a.c"), twin: run("cc -Devil a.c")},
	{name: "a builtin that runs others", policy: allowAny, call: run("eval git log"), twin: run("echo git log")},
	{name: "git -c", policy: allowGit, call: run("git -c core.pager=evil log"), twin: run("git --no-pager log")},
	{name: "git --exec-path", policy: allowGit, call: run("git --exec-path=. log"), twin: run("git --version")},
	{name: "git --upload-pack", policy: allowGit, call: run("git fetch --upload-pa=evil"), twin: run("git fetch --all")},
	{name: "git config", policy: allowGit, call: run("git config alias.x y"), twin: run("git log")},
	{name: "git in another repository", policy: allowGit, call: run("git -C /tmp/evil log"), twin: run("git log tmp")},
	{name: "git bisect run", policy: allowGit, call: run("git bisect run evil"), twin: run("git blame evil")},
	{name: "git -O", policy: allowGit, call: run("git grep -Oevil x"), twin: run("git grep -n x")},
	{name: "go test -exec", policy: allowGo, call: run("go test -exec evil"), twin: run("go test -run evil")},
	{name: "go test --exec=", policy: allowGo, call: run("go test --exec=evil"), twin: run("go test --run=evil")},
	{name: "go test -toolexec", policy: allowGo, call: run("go test -toolexec=evil ./..."), twin: run("go test -race ./...")},
	{name: "go run", policy: `{"rules":[{"effect":"allow","commands":[["go","**"]]}]}`, call: run("go run evil"), twin: run("go vet evil")},
	{name: "find -exec", policy: allowMany, call: run("find . -exec evil"), twin: run("find . -name evil")},
	{name: "find -delete", policy: allowMany, call: run("find . -delete"), twin: run("find . -print")},
	{name: "tar --to-command", policy: allowMany, call: run("tar xf a.tar --to-command=evil"), twin: run("tar xf a.tar --totals")},
	{name: "tar --to-command abbreviated", policy: allowMany, call: run("tar xf a.tar --to-c evil"), twin: run("tar xf a.tar --keep-old-files evil")},
	{name: "tar with flags in a bundle", policy: allowMany, call: run("tar xIf evil a.tar"), twin: run("tar xzf a.tar")},
	{name: "rsync -e", policy: allowMany, call: run("rsync -ave evil a b"), twin: run("rsync -av a b")},
	{name: "rsync --rsh", policy: allowMany, call: run("rsync --rsh=evil a b"), twin: run("rsync --archive a b")},
	{name: "rg --pre", policy: allowMany, call: run("rg --pre evil x"), twin: run("rg --pretty x")},
	{name: "curl writes a file", policy: allowMany, call: run("curl -so x https://a.example"), twin: run("curl -s https://a.example")},
	{name: "curl sends a file", policy: allowMany, call: run("curl -d@x https://a.example"), twin: run("curl -v https://a.example")},
	{name: "a path out as an argument", policy: allowFiles, call: run("cat /etc/passwd"), twin: run("cat etc/passwd")},
	{name: "a path out in name=value", policy: allowFiles, call: run("dd if=/dev/sda of=x"), twin: run("dd if=a of=x")},
	{name: "a path out in a flag", policy: allowFiles, call: run("cat --file=../x"), twin: run("cat --file=x")},
	{name: "a path out glued to a flag", policy: allowFiles, call: run("cat -f../x"), twin: run("cat -fx")},
	{name: "a path out as an argument, and no paths", policy: allowMany, call: run("cat ../out/secret"), twin: run("cat out/secret")},
	{name: "an absolute path out, and no paths", policy: allowMany, call: run("cat /etc/hostname"), twin: run("cat /home/u/project/hostname")},
	{name: "the home directory as an argument, and no paths", policy: allowMany, call: run("ls -l ~/x"), twin: run("ls -l x~")},
	{name: "a path out glued to a flag, and no paths", policy: allowAny, call: run("cp -t../out x"), twin: run("cp -tout x")},
	{name: "a path out in a flag, and no paths", policy: allowAny, call: run("cp --target-directory=/tmp x"), twin: run("cp --target-directory=tmp x")},
	{name: "a written path out, and no paths", policy: allowAny, call: run("tee ../out/x"), twin: run("tee out/x")},
	{name: "a link out as an argument, and no paths", policy: allowMany, call: run("cat link/x"), twin: run("cat lint/x"), links: map[string]string{dir + "/link": "/etc"}},
	{name: "a path out of another directory, and no paths", policy: allowMany, call: `{"kind":"execute","rawInput":{"command":"cat ../../x","cwd":"sub"}}`, twin: `{"kind":"execute","rawInput":{"command":"cat ../x","cwd":"sub"}}`},
	{name: "a path out, and a kind for files", policy: `{"rules":[{"effect":"allow","kinds":["read","execute"],"commands":[["cat","**"]]}]}`, call: run("cat /etc/x"), twin: run("cat etc/x")},
	{name: "a link out as an argument", policy: allowFiles, call: run("cat link"), twin: run("cat lint"), links: map[string]string{dir + "/link": "/etc/passwd"}},

	// Rules that refuse.
	{name: "a denied program by its path", policy: denySecrets, call: run("/bin/rm x"), twin: run("/bin/ls x")},
	{name: "a denied program in another case", policy: denySecrets, call: run("RM.EXE x"), twin: run("RN.EXE x")},
	{name: "a denied program behind a launcher", policy: denySecrets, call: run("sudo -u root rm x"), twin: run("sudo -u root ls x")},
	{name: "a denied program in a shell line", policy: denySecrets, call: run("cd x && rm -rf y"), twin: run("cd x && ls y")},
	{name: "a denied program in a shell's argument", policy: denySecrets, call: `{"kind":"execute","rawInput":{"command":["bash","-c","cd x; rm y"]}}`, twin: `{"kind":"execute","rawInput":{"command":["bash","-c","cd x; ls y"]}}`},
	{name: "a denied program with quotes in its name", policy: denySecrets, call: run(`r''m x; y`), twin: run(`r''n x; y`)},
	{name: "a denied program with a backslash in its name", policy: denySecrets, call: run(`r\m x`), twin: run(`r\n x`)},
	{name: "a denied program with an assignment before it", policy: denySecrets, call: run(`A=1 rm x`), twin: run(`A=1 ls x`)},
	{name: "a denied program with arguments that the rule does not have", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["rm"]]}]}`, call: run("rm -f victim"), twin: run("ls -f victim")},
	{name: "an asked program with arguments that the rule does not have", policy: `{"default":"allow","rules":[{"effect":"ask","commands":[["git","push"]]}]}`, call: run("git push origin"), twin: run("git pull origin")},
	{name: "a denied command with a flag before its word", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push"]]}]}`, call: run("git --no-pager push"), twin: run("git --no-pager log")},
	{name: "a denied command with a flag and a value before its word", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push"]]}]}`, call: run("git -C x --no-pager push"), twin: run("git -C x --no-pager log")},
	{name: "denied flags in another order", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["rm","-rf"]]}]}`, call: run("rm -v -f -r x"), twin: run("rm -v -f x")},
	{name: "denied flags in another bundle", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["rm","-rf"]]}]}`, call: run("rm x -vfr"), twin: run("rm x -vf")},
	{name: "a denied flag behind an operand", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push","--force"]]}]}`, call: run("git push origin --force"), twin: run("git push origin --follow-tags")},
	{name: "a denied flag cut short", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push","--force"]]}]}`, call: run("git push --forc"), twin: run("git push --dry-run")},
	{name: "a denied flag with a value", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push","--force-with-lease"]]}]}`, call: run("git push --force-with-lease=main"), twin: run("git push --dry-run")},
	{name: "a denied flag of a program without bundles", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["find","-delete"]]}]}`, call: run("find x -name y -delete"), twin: run("find x -name dele")},
	{name: "a denied command with a flag before its word, behind a launcher", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push"]]}]}`, call: run("env A=1 git --no-pager push"), twin: run("env A=1 git --no-pager log")},
	{name: "a denied command with a flag before its word, in a shell line", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push"]]}]}`, call: run("cd x && git -C y push"), twin: run("cd x && git -C y log")},
	{name: "a denied program by its name on Windows", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["rm.exe"]]}]}`, call: run("rm x"), twin: run("rn x")},
	{name: "a denied path in another case", policy: denySecrets, call: edit("SECRETS/key"), twin: edit("SECRET/key")},
	{name: "a denied path with a dot at the end", policy: denySecrets, call: edit("secrets./key"), twin: edit("secret./key")},
	{name: "a denied path with invisible characters", policy: denySecrets, call: edit("sec\u200brets/key"), twin: edit("other/key")},
	{name: "a denied path as an argument", policy: denySecrets, call: run("cat secrets/key"), twin: run("cat secret/key")},
	{name: "a denied path in a shell line", policy: denySecrets, call: run("cat < secrets/key"), twin: run("cat < secret/key")},
	{name: "a denied path's directory deleted", policy: denySecrets, call: `{"kind":"delete","rawInput":{"path":"."}}`, twin: `{"kind":"delete","rawInput":{"path":"sub"}}`},
	{name: "a denied path's directory", policy: `{"default":"allow","rules":[{"effect":"deny","paths":["./secrets"]}]}`, call: edit("secrets/a/b"), twin: edit("secret/a/b")},

	// Shapes of raw input.
	{name: "a second list of arguments", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":"git","args":["log"],"arguments":["-c","x"]}}`, twin: `{"kind":"execute","rawInput":{"command":"git","args":["log"]}}`},
	{name: "a list and a string of arguments", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":["git"],"args":"log; evil"}}`, twin: `{"kind":"execute","rawInput":{"command":["git"],"args":["log"]}}`},
	{name: "arguments that are no words", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":"git","args":["log",["-c"]]}}`, twin: `{"kind":"execute","rawInput":{"command":"git","args":["log",5]}}`},
	{name: "a list of commands in a command", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":[["git","log"],["evil"]]}}`, twin: `{"kind":"execute","rawInput":{"command":[["git","log"],["git","status"]]}}`},
	{name: "a second command under another name", policy: allowGit, call: `{"kind":"execute","rawInput":{"command":"git log","cmd":"evil"}}`, twin: `{"kind":"execute","rawInput":{"command":"git log","cwd":"sub"}}`},
	{name: "argv", policy: allowGit, call: `{"kind":"other","rawInput":{"argv":["evil"]}}`, twin: `{"kind":"execute","rawInput":{"argv":["git","log"]}}`},
	{name: "an environment outside", policy: allowGit, call: `{"kind":"execute","rawInput":{"env":{"GIT_PAGER":"evil"},"tasks":[{"command":"git log"}]}}`, twin: `{"kind":"execute","rawInput":{"env":{},"tasks":[{"command":"git log"}]}}`},
	{name: "a shell outside", policy: allowGit, call: `{"kind":"execute","rawInput":{"shell":"/bin/sh","tasks":[{"command":"git log"}]}}`, twin: `{"kind":"execute","rawInput":{"tasks":[{"command":"git log"}]}}`},
	{name: "a command under a longer name", policy: allowWork, call: `{"kind":"other","rawInput":{"path":"a","preflightCommand":"evil"}}`, twin: `{"kind":"other","rawInput":{"path":"a","preflightComment":"evil"}}`},
	{name: "an editor's verb that executes", policy: `{"rules":[{"effect":"allow","kinds":["edit","execute"],"paths":["./**"]}]}`, call: `{"kind":"execute","rawInput":{"command":"view","path":"a"}}`, twin: `{"kind":"edit","rawInput":{"command":"view","path":"a"}}`},
	{name: "content to write in an object of its own", policy: `{"rules":[{"effect":"allow","kinds":["read"],"paths":["./**"]}]}`, call: `{"kind":"read","rawInput":{"path":"a","edit":{"new_string":"x"}}}`, twin: `{"kind":"read","rawInput":{"path":"a"}}`},
	{name: "arguments in broken JSON", policy: allowWork, call: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"arguments":"{\"path\":\"/etc/x\",}"}}`, twin: `{"kind":"edit","locations":[{"path":"a"}],"rawInput":{"glob":"{a,b}"}}`},
	{name: "a script of the workspace from another directory", policy: `{"rules":[{"effect":"allow","commands":[["./check","**"]]}]}`, call: `{"kind":"execute","rawInput":{"command":"./check","cwd":"sub"}}`, twin: run("./check x")},
	{name: "flags of go are no bundle", policy: allowGo, call: run("go test -o evil"), twin: run("go test -count=1 -v ./...")},
	{name: "more words than are looked at", policy: allowShell, call: run(strings.Repeat("a; ", 2000)), twin: run("a; b")},

	{name: "an edit under a rule for a shell", policy: allowShell, call: edit("a"), twin: run("rm a | b")},
	{name: "a deletion under a rule for a shell", policy: allowShell, call: `{"kind":"delete","locations":[{"path":"a"}]}`, twin: `{"kind":"execute"}`},
	{name: "a thought under a rule for a shell", policy: allowShell, call: `{"kind":"think"}`, twin: run("think")},
	{name: "an opaque call under a rule for a shell", policy: allowShell, call: `{"kind":"other","rawInput":{"x":1}}`, twin: `{"kind":"other","rawInput":{"command":"x"}}`},
	{name: "a read under a rule for a shell and files", policy: `{"rules":[{"effect":"allow","shell":true,"paths":["./**"]}]}`, call: `{"kind":"read","locations":[{"path":"a"}]}`, twin: `{"kind":"execute","locations":[{"path":"a"}],"rawInput":{"command":"cat a"}}`},
	{name: "a command without paths under a rule with paths", policy: `{"rules":[{"effect":"allow","commands":[["ls","**"]],"paths":["/etc/**"]}]}`, call: run("ls -la"), twin: run("ls -la /etc/x")},
	{name: "a sensitive name under a key that is none for paths", policy: allowWork, call: `{"kind":"edit","rawInput":{"path":"a","output":".env"}}`, twin: `{"kind":"edit","rawInput":{"path":"a","output":".envelope"}}`},
	{name: "a sensitive name in an object of its own", policy: allowWork, call: `{"kind":"edit","rawInput":{"path":"a","insert":{"where":".env"}}}`, twin: `{"kind":"edit","rawInput":{"path":"a","insert":{"where":"end"}}}`},
	{name: "a sensitive name that is included", policy: allowWork, call: `{"kind":"read","rawInput":{"path":"a","include":".env"}}`, twin: `{"kind":"read","rawInput":{"path":"a","include":"*.json"}}`},
	{name: "a sensitive name as a resource", policy: allowWork, call: `{"kind":"read","rawInput":{"path":"a","resource":"sub/id_rsa"}}`, twin: `{"kind":"read","rawInput":{"path":"a","resource":"sub/id_rsa.pub"}}`},
	{name: "a sensitive name as a key", policy: allowWork, call: `{"kind":"edit","rawInput":{"path":"a","overrides":{".env":"X=1"}}}`, twin: `{"kind":"edit","rawInput":{"path":"a","overrides":{".envelope":"X=1"}}}`},
	{name: "a sensitive name in a list", policy: allowWork, call: `{"kind":"read","rawInput":{"path":"a","only":["b",".npmrc"]}}`, twin: `{"kind":"read","rawInput":{"path":"a","only":["b","npm"]}}`},
	{name: "a wildcard that spells a sensitive name", policy: allowWork, call: edit(".en?"), twin: edit("en?")},
	{name: "a star that spells a sensitive name", policy: allowWork, call: edit("sub/.env*"), twin: edit("sub/*.ts")},
	{name: "a set that spells a sensitive name", policy: allowWork, call: edit(".[d-f]nv"), twin: edit(".[a-c]nv")},
	{name: "a negated set that spells a sensitive name", policy: allowWork, call: edit(".[!a]nv"), twin: edit(".[!e]nv")},
	{name: "braces that spell a sensitive name", policy: allowWork, call: edit(".{env,x}"), twin: edit(".{y,x}")},
	{name: "braces across directories that spell a sensitive name", policy: allowWork, call: edit("{a,.ssh/x}"), twin: edit("{a,ssh/x}")},
	{name: "more braces than are looked at", policy: allowWork, call: edit(strings.Repeat("{a,b}", 40)), twin: edit("{a,b}{a,b}")},
	{name: "wildcards in two elements that spell a sensitive name", policy: allowWork, call: edit(".docke?/confi?.json"), twin: edit(".docke?/config.jso")},
	{name: "a wildcard that spells an end of sensitive names", policy: allowWork, call: `{"kind":"search","rawInput":{"path":".","include":"**/*.pe?"}}`, twin: `{"kind":"search","rawInput":{"path":".","include":"**/*.p?"}}`},
	{name: "a wildcard that spells a denied name", policy: `{"default":"allow","rules":[{"effect":"deny","paths":["./secrets/**"]}]}`, call: edit("secret?/a"), twin: edit("secret/a")},

	// The network.
	{name: "a path beside an allowed host", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"https://github.com/","output_path":"Makefile"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://github.com/","prompt":"Makefile"}}`},
	{name: "a URL without a scheme", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"evil.net/x"}}`, twin: `{"kind":"fetch","rawInput":{"url":"github.com/x"}}`},
	{name: "a host beside the URL", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"https://github.com/","proxyHost":"evil.net"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://github.com/","proxyHost":"github.com"}}`},
	{name: "a URL behind words", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"request":"GET https://evil.net/"}}`, twin: `{"kind":"fetch","rawInput":{"request":"GET https://github.com/"}}`},
	{name: "a URL with backslashes", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"https:\\\\evil.net","host":"github.com"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://github.com","host":"github.com"}}`},
	{name: "a URL that cannot be read", policy: `{"default":"allow","rules":[{"effect":"deny","hosts":["evil.net"]}]}`, call: `{"kind":"fetch","rawInput":{"url":"https://evil.net\\@github.com"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://github.com"}}`},
	{name: "a host that begins alike", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"https://github.com.evil.net/"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://github.com/"}}`},
	{name: "a host that ends alike", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"https://evilexample.org/"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://a.example.org/"}}`},
	{name: "a host as user name", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"https://github.com@evil.net/"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://evil.net@github.com/"}}`},
	{name: "a backslash in a URL", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"https://evil.net\\@github.com/"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://github.com./"}}`},
	{name: "a second URL", policy: allowFetch, call: `{"kind":"fetch","rawInput":{"url":"https://github.com/","callback":"https://evil.net/"}}`, twin: `{"kind":"fetch","rawInput":{"url":"https://github.com/","callback":"https://github.com/x"}}`},
	{name: "no URL", policy: allowFetch, call: `{"kind":"fetch","title":"https://github.com/"}`, twin: `{"kind":"fetch","rawInput":{"url":"https://GitHub.com/"}}`},
	{name: "a host in a command", policy: `{"rules":[{"effect":"allow","commands":[["git","clone","*"]],"hosts":["github.com"]}]}`, call: run("git clone git@evil.net:x/y"), twin: run("git clone git@github.com:x/y")},
}

func manyPaths(n int) string {
	files := make([]string, n)
	for i := range files {
		files[i] = fmt.Sprintf("f%d", i)
	}
	text, _ := json.Marshal(map[string]any{"kind": "edit", "rawInput": map[string]any{"files": files}})
	return string(text)
}

func TestAttacks(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			policy := rules(t, a.policy)
			for text, want := range map[string]permission.Outcome{a.call: permission.Denied, a.twin: permission.Allowed} {
				req := call(t, text)
				req.Resolve = linked(a.links)
				d, rec := permission.Decide(t.Context(), policy, req)
				if rec.Decision != want || want == permission.Allowed && d.OptionID != "yes" {
					t.Errorf("%s: %s by %q, want %s\n%+v", text, rec.Decision, d.Rule, want, req.Facts())
				}
			}
		})
	}
	t.Run("options", testAttackOptions)
}

// testAttackOptions is about what options say of themselves, against what they are, in
// every order.
func testAttackOptions(t *testing.T) {
	const (
		ao = "allow_once"
		aa = "allow_always"
		ro = "reject_once"
		ra = "reject_always"
	)
	lasting := `{"rules":[{"effect":"allow","kinds":["edit"],"paths":["./**"],"always":true}]}`
	once := `{"rules":[{"effect":"allow","kinds":["edit"],"paths":["./**"]}]}`
	deny := `{"rules":[]}`
	for _, tt := range []struct {
		name, policy, call string
		options            []acp.PermissionOption
		want               string
	}{
		{"ids that lie about their kind", once, edit("a"), options([2]string{aa, "allow_once"}, [2]string{ro, "allow"}, [2]string{ao, "reject"}), "reject"},
		{"ids that lie when denied", deny, edit("a"), options([2]string{ao, "reject"}, [2]string{ro, "allow"}, [2]string{aa, "reject_once"}), "allow"},
		{"only a standing option", once, edit("a"), options([2]string{aa, "A"}, [2]string{ro, "r"}), "r"},
		{"only a standing option, without a reject", once, edit("a"), options([2]string{aa, "A"}), ""},
		{"only a standing option, where it may be", lasting, edit("a"), options([2]string{aa, "A"}, [2]string{ro, "r"}), "A"},
		{"a standing option beside one for once", lasting, edit("a"), options([2]string{aa, "A"}, [2]string{ao, "a"}, [2]string{ro, "r"}), "a"},
		{"two standing options", lasting, edit("a"), options([2]string{aa, "A"}, [2]string{aa, "B"}, [2]string{ro, "r"}), "r"},
		{"a second allow_once that switches the mode", once, edit("a"), options([2]string{ao, "a"}, [2]string{ao, "and-switch"}, [2]string{ro, "r"}), "r"},
		{"a second allow_once, and one is named", `{"choose":["a"],` + once[1:], edit("a"), options([2]string{ao, "and-switch"}, [2]string{ao, "a"}, [2]string{ro, "r"}), "a"},
		{"a named id of another kind", `{"choose":["A","r"],` + lasting[1:], edit("a"), options([2]string{ao, "a"}, [2]string{ao, "b"}, [2]string{aa, "A"}, [2]string{ro, "r"}), "r"},
		{"an id of two kinds", once, edit("a"), options([2]string{ao, "x"}, [2]string{ro, "x"}, [2]string{ro, "r"}), ""},
		{"an id of two kinds when denied", deny, edit("a"), options([2]string{ro, "x"}, [2]string{aa, "x"}, [2]string{ro, "r"}), "r"},
		{"an option twice", once, edit("a"), options([2]string{ao, "a"}, [2]string{ao, "a"}, [2]string{ro, "r"}), "a"},
		{"unknown kinds", once, edit("a"), options([2]string{"allow", "a"}, [2]string{"ALLOW_ONCE", "b"}), ""},
		{"no options", once, edit("a"), options(), ""},
		{"no options when denied", deny, edit("a"), options(), ""},
		{"only allow when denied", deny, edit("a"), options([2]string{ao, "a"}, [2]string{aa, "A"}), ""},
		{"reject_always when denied", deny, edit("a"), options([2]string{ra, "R"}, [2]string{ao, "a"}), "R"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			permute(tt.options, func(o []acp.PermissionOption) {
				req := call(t, tt.call)
				req.Options = o
				if d, _ := permission.Decide(t.Context(), rules(t, tt.policy), req); d.OptionID != tt.want {
					t.Fatalf("%v: got %+v, want %q", o, d, tt.want)
				}
			})
		})
	}
}
