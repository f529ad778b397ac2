package permission_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/errand-acp/errand/permission"
)

const (
	allowSrc   = `{"rules":[{"effect":"allow","commands":[["cat","**"],["grep","**"],["curl","**"]],"paths":["./src/**"]}]}`
	allowKnown = `{"rules":[{"effect":"allow","commands":[["go","**"],["sort","**"],["tar","**"],["git","**"],["gcc","**"],["npm","**"],["rsync","**"],["zip","**"],["cpio","**"],["diff3","**"],["sdiff","**"],["ssh-keygen","**"],["wc","**"],["svn","**"],["hg","**"],["patch","**"],["less","**"]]}]}`
	denyRm     = `{"default":"allow","rules":[{"effect":"deny","commands":[["rm"]]}]}`
	denySecret = `{"default":"allow","rules":[{"effect":"deny","paths":["./secret/**"]}]}`
)

// exec is a call of a program with those arguments.
func exec(argv ...string) string {
	text, _ := json.Marshal(map[string]any{"kind": "execute", "rawInput": map[string]any{"command": argv}})
	return string(text)
}

// manyWords are n words with several paths each.
func manyWords(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.Repeat(fmt.Sprintf("a%d:", i), 3) + strings.Join([]string{"b", "c", "d", "e", "f", "g", "h", "i"}, fmt.Sprintf("%d,", i))
	}
	return out
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
	{name: "more paths in words than are looked at", policy: allowMany, call: exec(append([]string{"cat"}, manyWords(900)...)...), twin: exec(append([]string{"cat"}, manyWords(20)...)...)},
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

	// A directory as a whole.
	{name: "a denied path's directory searched", policy: denySecret, call: `{"kind":"search","rawInput":{"path":"."}}`, twin: `{"kind":"search","rawInput":{"path":"sub"}}`},
	{name: "a denied path's directory searched by its whole name", policy: denySecret, call: `{"kind":"search","rawInput":{"pattern":"KEY","path":"/home/u/project"}}`, twin: `{"kind":"search","rawInput":{"pattern":"KEY","path":"/home/u/projects"}}`},
	{name: "all of the machine searched", policy: denySecret, call: `{"kind":"search","rawInput":{"path":"/"}}`, twin: `{"kind":"search","rawInput":{"path":"/x"}}`},
	{name: "a denied path's directory: rm -rf .", policy: denySecret, call: run(`rm -rf .`), twin: run(`rm -rf sub`)},
	{name: "a denied path's directory: mv . x", policy: denySecret, call: run(`mv . x`), twin: run(`mv y x`)},
	{name: "a denied path's directory: cp -r . x", policy: denySecret, call: run(`cp -r . x`), twin: run(`cp -r y x`)},
	{name: "a denied path's directory: tar cf x .", policy: denySecret, call: run(`tar cf x .`), twin: run(`tar cf x y`)},
	{name: "a denied path's directory: grep -r KEY .", policy: denySecret, call: run(`grep -r KEY .`), twin: run(`grep -r KEY sub`)},
	{name: "a denied path's directory: rm -rf *", policy: denySecret, call: run(`rm -rf *`), twin: run(`rm -rf x*`)},
	{name: "a denied path's directory: grep -r KEY ../project", policy: denySecret, call: run(`grep -r KEY ../project`), twin: run(`grep -r KEY ../projects`)},
	{name: "a directory that holds a denied name", policy: `{"default":"allow","rules":[{"effect":"deny","paths":["./a/**/*.pem"]}]}`, call: run(`grep -r KEY a`), twin: run(`cat b a.txt`)},
	{name: "the directory of denied names anywhere", policy: `{"default":"allow","rules":[{"effect":"deny","paths":["./**/*.pem"]}]}`, call: run(`grep -r KEY .`), twin: `{"kind":"execute","rawInput":{"command":"cat main.go","cwd":"/home/u/project"}}`},
	{name: "a denied path in a glob", policy: denySecret, call: `{"kind":"read","rawInput":{"path":"a","glob":"secret/*"}}`, twin: `{"kind":"read","rawInput":{"path":"a","glob":"secrets/*"}}`},
	{name: "a denied file in a glob", policy: `{"default":"allow","rules":[{"effect":"deny","paths":["./secret/key"]}]}`, call: `{"kind":"read","rawInput":{"path":"a","glob":"secret/ke*"}}`, twin: `{"kind":"read","rawInput":{"path":"a","glob":"secret/kx*"}}`},
	{name: "a denied path in a list of what is included", policy: denySecret, call: `{"kind":"read","rawInput":{"path":"a","include":["secret/key"]}}`, twin: `{"kind":"read","rawInput":{"path":"a","include":["secrets/key"]}}`},
	{name: "a denied path as a resource", policy: denySecret, call: `{"kind":"read","rawInput":{"path":"a","resource":"secret/key"}}`, twin: `{"kind":"read","rawInput":{"path":"a","resource":"secrets/key"}}`},

	// What a denied program is called, and who else runs it.
	{name: "find -exec runs a denied program", policy: denyRm, call: exec("find", ".", "-exec", "rm", "{}", ";"), twin: exec("find", ".", "-exec", "ls", "{}", ";")},
	{name: "an alias of git runs a denied program", policy: denyRm, call: exec("git", "-c", "alias.x=!rm", "x"), twin: exec("git", "-c", "alias.x=!ls", "x")},
	{name: "git bisect run runs a denied program", policy: denyRm, call: exec("git", "bisect", "run", "rm", "x"), twin: exec("git", "log", "rm", "x")},
	{name: "git rebase --exec runs a denied program", policy: denyRm, call: exec("git", "rebase", "--exec", "rm x"), twin: exec("git", "rebase", "--onto", "rm")},
	{name: "git rebase -x runs a denied program", policy: denyRm, call: exec("git", "rebase", "-xrm x"), twin: exec("git", "rebase", "-r", "rm")},
	{name: "git submodule foreach runs a denied program", policy: denyRm, call: exec("git", "submodule", "foreach", "rm x"), twin: exec("git", "commit", "-m", "rm x")},
	{name: "tar --to-command runs a denied program", policy: denyRm, call: exec("tar", "xf", "a.tar", "--to-command=rm"), twin: exec("tar", "xf", "a.tar", "rm")},
	{name: "tar --checkpoint-action runs a denied program", policy: denyRm, call: exec("tar", "xf", "a.tar", "--checkpoint-action=exec=/bin/rm"), twin: exec("tar", "xf", "a.tar", "--totals=rm")},
	{name: "rsync -e runs a denied program", policy: denyRm, call: exec("rsync", "-e", "rm", "a", "b"), twin: exec("rsync", "-v", "rm", "b")},
	{name: "rsync with a glued -e runs a denied program", policy: denyRm, call: exec("rsync", "-averm", "a", "b"), twin: exec("rsync", "-avz", "rm", "b")},
	{name: "go test -exec runs a denied program", policy: denyRm, call: exec("go", "test", "-exec=rm"), twin: exec("go", "test", "-run=rm")},
	{name: "gcc -wrapper runs a denied program", policy: denyRm, call: exec("gcc", "-wrapper", "rm,-f", "x.c"), twin: exec("gcc", "-o", "rm", "x.c")},
	{name: "rg --pre runs a denied program", policy: denyRm, call: exec("rg", "--pre", "rm", "x"), twin: exec("rg", "rm", "x")},
	{name: "sort --compress-program runs a denied program", policy: denyRm, call: exec("sort", "--compress-program=rm", "x"), twin: exec("sort", "rm", "x")},
	{name: "ip netns exec runs a denied program", policy: denyRm, call: exec("ip", "netns", "exec", "x", "rm"), twin: exec("ip", "addr", "show", "rm")},
	{name: "npm exec runs a denied program", policy: denyRm, call: exec("npm", "exec", "rm"), twin: exec("npx", "ls")},
	{name: "a link to a denied program", policy: denyRm, call: run(`./x v`), twin: run(`./y v`), links: map[string]string{dir + "/x": "/bin/rm"}},
	{name: "a link to a denied program in PATH", policy: denyRm, call: run(`x v`), twin: run(`y v`), links: map[string]string{"/usr/bin/x": "/bin/rm"}},
	{name: "a link to a denied program behind a launcher", policy: denyRm, call: run(`env ./x v`), twin: run(`env ./y v`), links: map[string]string{dir + "/x": "/bin/rm"}},
	{name: "a program that is denied by its path", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["/usr/bin/touch"]]}]}`, call: run(`touch x`), twin: run(`tee x`)},
	{name: "a program that is denied by another path of it", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["/bin/rm"]]}]}`, call: run(`/usr/bin/rm x`), twin: run(`/usr/bin/rn x`)},
	{name: "a program that is denied by its path, with two slashes", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["/bin/rm"]]}]}`, call: run(`//bin/rm x`), twin: run(`//bin/rn x`)},
	{name: "a script that is denied by its path", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["./deploy.sh"]]}]}`, call: run(`././deploy.sh`), twin: run(`././check.sh`)},
	{name: "a script that is denied by its path, with two slashes", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["./deploy.sh"]]}]}`, call: run(`.//deploy.sh`), twin: run(`.//check.sh`)},
	{name: "a script that is denied by its path, behind a shell", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["./deploy.sh"]]}]}`, call: run(`sh deploy.sh`), twin: run(`sh check.sh`)},
	{name: "a link to a script that is denied", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["./deploy.sh"]]}]}`, call: run(`./x`), twin: run(`./y`), links: map[string]string{dir + "/x": dir + "/deploy.sh"}},
	{name: "a directory of programs that is denied", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["./bin/*"]]}]}`, call: run(`./bin/../bin/x`), twin: run(`./bind/x`)},
	{name: "a directory of programs that is denied, behind a shell", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["./bin/*"]]}]}`, call: run(`sh bin/x`), twin: run(`sh bind/x`)},
	{name: "a denied interpreter of a version", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["python3"]]}]}`, call: run(`python3.11 x`), twin: run(`pythia3.11 x`)},
	{name: "a denied interpreter without a version", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["python3"]]}]}`, call: run(`python x`), twin: run(`pythia x`)},
	{name: "a denied interpreter of a platform", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["perl"]]}]}`, call: run(`perl5.36-x86_64-linux-gnu x`), twin: run(`pearl5.36-x86_64-linux-gnu x`)},
	{name: "a denied shell under another name", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["bash"]]}]}`, call: run(`rbash x`), twin: run(`mash x`), links: map[string]string{"/usr/bin/rbash": "bash"}},
	{name: "a denied editor under another name", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["vim"]]}]}`, call: run(`vi x`), twin: run(`vie x`), links: map[string]string{"/usr/bin/vi": "/etc/alternatives/vi", "/etc/alternatives/vi": "/usr/bin/vim.basic"}},
	{name: "a denied verb as a program", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push"]]}]}`, call: run(`git-push origin`), twin: run(`git-pull origin`)},
	{name: "a denied verb under another name", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push"]]}]}`, call: run(`git send-pack origin`), twin: run(`git fetch-pack origin`)},
	{name: "a denied verb of a subtree", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git","push"]]}]}`, call: run(`git subtree push x y`), twin: run(`git subtree pull x y`)},
	{name: "a denied flag of any program", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["*","--force"]]}]}`, call: run(`git push --force`), twin: run(`git push --follow-tags`)},

	{name: "denied letters as long flags", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["rm", "-rf"]]}]}`, call: run(`rm --recursive --force x`), twin: run(`rm --recursive --verbose x`)},
	{name: "a denied letter in the other case", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["rm", "-rf"]]}]}`, call: run(`rm -Rf x`), twin: run(`rm -R x`)},
	{name: "a denied long flag as a letter", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git", "push", "--force"]]}]}`, call: run(`git push -uf`), twin: run(`git push -u`)},
	{name: "a denied verb cut short", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["npm", "install"]]}]}`, call: run(`npm i x`), twin: run(`npm view x`)},
	{name: "a denied verb by its long name", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["npm", "i"]]}]}`, call: run(`npm install x`), twin: run(`npm view x`)},
	{name: "a denied verb behind a noun", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["docker", "push"]]}]}`, call: run(`docker image push x`), twin: run(`docker image pull x`)},
	{name: "a denied verb in another case", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git", "PUSH"]]}]}`, call: run(`git push`), twin: run(`git pull`)},
	{name: "a denied dashed verb", policy: `{"default":"allow","rules":[{"effect":"deny","commands":[["git-push"]]}]}`, call: run(`git push`), twin: run(`git pull`)},

	// What a rule for any program does not mean.
	{name: "an interpreter under another name", policy: allowAny, call: run(`visual x`), twin: run(`list x`), links: map[string]string{"/usr/bin/visual": "/etc/alternatives/editor", "/etc/alternatives/editor": "/usr/bin/vim.basic", "/usr/bin/list": "/bin/busybox"}},
	{name: "rbash under any program", policy: allowAny, call: run(`rbash zz`), twin: run(`echo rbash zz`)},
	{name: "vimdiff under any program", policy: allowAny, call: run(`vimdiff zz`), twin: run(`echo vimdiff zz`)},
	{name: "editor under any program", policy: allowAny, call: run(`editor zz`), twin: run(`echo editor zz`)},
	{name: "prove under any program", policy: allowAny, call: run(`prove zz`), twin: run(`echo prove zz`)},
	{name: "memusage under any program", policy: allowAny, call: run(`memusage zz`), twin: run(`echo memusage zz`)},
	{name: "sotruss under any program", policy: allowAny, call: run(`sotruss zz`), twin: run(`echo sotruss zz`)},
	{name: "not-14 under any program", policy: allowAny, call: run(`not-14 zz`), twin: run(`echo not-14 zz`)},
	{name: "pg_virtualenv under any program", policy: allowAny, call: run(`pg_virtualenv zz`), twin: run(`echo pg_virtualenv zz`)},
	{name: "systemd-cat under any program", policy: allowAny, call: run(`systemd-cat zz`), twin: run(`echo systemd-cat zz`)},
	{name: "systemd-inhibit under any program", policy: allowAny, call: run(`systemd-inhibit zz`), twin: run(`echo systemd-inhibit zz`)},
	{name: "uclampset under any program", policy: allowAny, call: run(`uclampset zz`), twin: run(`echo uclampset zz`)},
	{name: "python3.7m under any program", policy: allowAny, call: run(`python3.7m zz`), twin: run(`echo python3.7m zz`)},
	{name: "slogin under any program", policy: allowAny, call: run(`slogin zz`), twin: run(`echo slogin zz`)},
	{name: "jdb under any program", policy: allowAny, call: run(`jdb zz`), twin: run(`echo jdb zz`)},
	{name: "lli under any program", policy: allowAny, call: run(`lli zz`), twin: run(`echo lli zz`)},
	{name: "perl5.36-x86_64-linux-gnu under any program", policy: allowAny, call: run(`perl5.36-x86_64-linux-gnu zz`), twin: run(`echo perl5.36-x86_64-linux-gnu zz`)},
	{name: "npm under any program", policy: allowAny, call: run(`npm zz`), twin: run(`echo npm zz`)},

	// Ways out of known programs.
	{name: "go fix -fixtool=./evil", policy: allowKnown, call: run(`go fix -fixtool=./evil`), twin: run(`go fix ./...`)},
	{name: "go test -test.cpuprofile=x", policy: allowKnown, call: run(`go test -test.cpuprofile=x`), twin: run(`go test -test.run=x`)},
	{name: "sort --files0-from=l", policy: allowKnown, call: run(`sort --files0-from=l`), twin: run(`sort --field-separator=l`)},
	{name: "tar cf x -T l", policy: allowKnown, call: run(`tar cf x -T l`), twin: run(`tar cf x -v l`)},
	{name: "tar cf x --files-from=l", policy: allowKnown, call: run(`tar cf x --files-from=l`), twin: run(`tar cf x --format=gnu l`)},
	{name: "git merge-index evil", policy: allowKnown, call: run(`git merge-index evil`), twin: run(`git merge-base evil`)},
	{name: "git maintenance start", policy: allowKnown, call: run(`git maintenance start`), twin: run(`git log start`)},
	{name: "git remote-ext x", policy: allowKnown, call: run(`git remote-ext x`), twin: run(`git remote show x`)},
	{name: "git web--browse x", policy: allowKnown, call: run(`git web--browse x`), twin: run(`git show x`)},
	{name: "git p4 submit", policy: allowKnown, call: run(`git p4 submit`), twin: run(`git status p4x`)},
	{name: "git clone ext::sh", policy: allowKnown, call: run(`git clone ext::sh`), twin: run(`git clone https://example.com/a`)},
	{name: "gcc -Wl,-plugin,./evil.so x.c", policy: allowKnown, call: run(`gcc -Wl,-plugin,./evil.so x.c`), twin: run(`gcc -Wl,-z,relro x.c`)},
	{name: "gcc -Xlinker -plugin x.c", policy: allowKnown, call: run(`gcc -Xlinker -plugin x.c`), twin: run(`gcc -Xpreprocessor -v x.c`)},
	{name: "npm add evil", policy: allowKnown, call: run(`npm add evil`), twin: run(`npm view evil`)},
	{name: "npm init evil", policy: allowKnown, call: run(`npm init evil`), twin: run(`npm view init2`)},
	{name: "npm create evil", policy: allowKnown, call: run(`npm create evil`), twin: run(`npm ls`)},
	{name: "npm clean-install", policy: allowKnown, call: run(`npm clean-install`), twin: run(`npm outdated`)},
	{name: "npm it", policy: allowKnown, call: run(`npm it`), twin: run(`npm audit`)},
	{name: "npm cit", policy: allowKnown, call: run(`npm cit`), twin: run(`npm help`)},
	{name: "npm rebuild", policy: allowKnown, call: run(`npm rebuild`), twin: run(`npm root`)},
	{name: "npm update", policy: allowKnown, call: run(`npm update`), twin: run(`npm search update2`)},
	{name: "npm version patch", policy: allowKnown, call: run(`npm version patch`), twin: run(`npm whoami`)},
	{name: "npm pack", policy: allowKnown, call: run(`npm pack`), twin: run(`npm ping`)},
	{name: "npm publish", policy: allowKnown, call: run(`npm publish`), twin: run(`npm prefix`)},
	{name: "rsync --files-from=l a b", policy: allowKnown, call: run(`rsync --files-from=l a b`), twin: run(`rsync --archive a b`)},
	{name: "zip -@ x", policy: allowKnown, call: run(`zip -@ x`), twin: run(`zip -r x y`)},
	{name: "cpio --rsh-command=x", policy: allowKnown, call: run(`cpio --rsh-command=x`), twin: run(`cpio --list`)},
	{name: "diff3 --diff-program=x a b c", policy: allowKnown, call: run(`diff3 --diff-program=x a b c`), twin: run(`diff3 --text a b c`)},
	{name: "sdiff --diff-program=x a b", policy: allowKnown, call: run(`sdiff --diff-program=x a b`), twin: run(`sdiff --text a b`)},
	{name: "ssh-keygen -D x.so", policy: allowKnown, call: run(`ssh-keygen -D x.so`), twin: run(`ssh-keygen -l x`)},
	{name: "wc --files0-from=l", policy: allowKnown, call: run(`wc --files0-from=l`), twin: run(`wc --lines l`)},
	{name: "svn --config-option x log", policy: allowKnown, call: run(`svn --config-option x log`), twin: run(`svn --xml log`)},
	{name: "hg --config x log", policy: allowKnown, call: run(`hg --config x log`), twin: run(`hg log`)},
	{name: "patch -e x", policy: allowKnown, call: run(`patch -e x`), twin: run(`patch -R x`)},
	{name: "less +!cmd", policy: allowKnown, call: exec("less", "+!id", "x"), twin: exec("less", "-N", "x")},
	{name: "a sensitive file behind what leaves files out, and two dashes", policy: allowMany, call: exec("ls", "--", "-I", ".env"), twin: exec("ls", "-I", ".env")},
	{name: "a file of what is left out", policy: `{"rules":[{"effect":"allow","commands":[["grep","**"]]}]}`, call: run("grep -rn --exclude-from=.env x"), twin: run("grep -rn --exclude-dir=.env x")},
	{name: "a flag for what is left out, as the value of another one", policy: `{"rules":[{"effect":"allow","commands":[["grep","**"]]}]}`, call: run("grep -e --exclude .env"), twin: run("grep -e --exclude=.env")},
	{name: "a sensitive file that is left out twice", policy: allowMany, call: exec("find", ".", "-not", "-not", "-path", "*/.env"), twin: exec("find", ".", "-not", "-path", "*/.env")},
	{name: "a sensitive file that an edit ignores", policy: allowWork, call: `{"kind":"edit","rawInput":{"path":"a","ignore":".env"}}`, twin: `{"kind":"read","rawInput":{"path":"a","ignore":".env"}}`},
	{name: "a denied file that is left out", policy: denySecret, call: run("grep -r x --exclude-dir=secret/key y"), twin: run("grep -r x --exclude-dir=secrets/key y")},
	{name: "a search of all there is, without a path", policy: denySecret, call: `{"kind":"search","rawInput":{"pattern":"KEY"}}`, twin: `{"kind":"search","rawInput":{"pattern":"KEY","path":"sub"}}`},
	{name: "a read without a path", policy: allowWork, call: `{"kind":"read","rawInput":{"pattern":"TODO"}}`, twin: `{"kind":"search","rawInput":{"pattern":"TODO"}}`},
	{name: "fdfind -x", policy: allowAny, call: run("fdfind -x evil"), twin: run("fdfind -a evil")},
	{name: "batcat --pager", policy: allowAny, call: run("batcat --pager=evil x"), twin: run("batcat --plain x")},
	{name: "bsdtar --use-compress-program", policy: allowAny, call: run("bsdtar --use-compress-program evil"), twin: run("bsdtar --list")},
	{name: "gtar --to-command", policy: allowAny, call: run("gtar xf a --to-command=evil"), twin: run("gtar xf a --verbose")},
	{name: "gtar -I in a bundle without a dash", policy: allowAny, call: run("gtar xIf evil a"), twin: run("gtar xvf evil a")},
	{name: "gfind -exec", policy: allowAny, call: exec("gfind", ".", "-exec", "evil", ";"), twin: exec("gfind", ".", "-name", "evil")},
	{name: "gsort --compress-program", policy: allowAny, call: run("gsort --compress-program=evil"), twin: run("gsort --reverse")},
	{name: "gsplit --filter", policy: allowAny, call: run("gsplit --filter=evil"), twin: run("gsplit --lines=3")},
	{name: "git submodule--helper foreach", policy: allowKnown, call: run("git submodule--helper foreach evil"), twin: run("git submodule status evil")},
	{name: "git bisect--helper run", policy: allowKnown, call: run("git bisect--helper run evil"), twin: run("git bisect good evil")},
	{name: "fdfind -x runs a denied program", policy: denyRm, call: exec("fdfind", "-x", "rm"), twin: exec("fdfind", "-a", "rm")},
	{name: "gfind -exec runs a denied program", policy: denyRm, call: exec("gfind", ".", "-exec", "rm", ";"), twin: exec("gfind", ".", "-name", "rm")},
	{name: "gtar --to-command runs a denied program", policy: denyRm, call: exec("gtar", "xf", "a", "--to-command=rm"), twin: exec("gtar", "xf", "a", "--totals=rm")},
	{name: "socat EXEC runs a denied program", policy: denyRm, call: exec("socat", "-", "EXEC:rm"), twin: exec("socat", "-", "OPEN:rn")},
	{name: "git clone ext:: runs a denied program", policy: denyRm, call: exec("git", "clone", "ext::rm x"), twin: exec("git", "clone", "rm")},
	{name: "a denied path from a directory that a line goes to", policy: denySecret, call: run("cd src && cat ../secret/key"), twin: run("cd src && cat ../secrets/key")},
	{name: "a denied path from a directory that a shell goes to", policy: denySecret, call: exec("sh", "-c", "cd src; rm ../secret/key"), twin: exec("sh", "-c", "cd src; rm ../secrets/key")},
	{name: "a denied path beside a directory that a line goes to", policy: `{"default":"allow","rules":[{"effect":"deny","paths":["./a/secret/**"]}]}`, call: run("cd a/b; cat ../secret/key"), twin: run("cd c/b; cat ../secret/key")},
	{name: "git -c before its verb", policy: allowKnown, call: run("git -c a=b log"), twin: run("git log -c a")},
	{name: "git -C before its verb, behind another flag", policy: allowKnown, call: run("git --no-pager -C sub log"), twin: run("git --no-pager log -C sub")},
	{name: "git -c behind what may be its verb", policy: allowKnown, call: run("git --attr-source log -c a=b x"), twin: run("git --attr-source=log log")},
	{name: "git clone -c", policy: allowKnown, call: run("git clone -c a=b x"), twin: run("git switch -c ab x")},
	{name: "git clone with -u in a bundle", policy: allowKnown, call: run("git clone -qu evil x"), twin: run("git push -qu origin x")},
	{name: "git pull -u", policy: allowKnown, call: run("git pull -u evil"), twin: run("git push -u evil")},
	{name: "git rebase -x", policy: allowKnown, call: run("git rebase -x evil"), twin: run("git cherry-pick -x evil")},
	{name: "git bisect run", policy: allowKnown, call: run("git bisect run evil"), twin: run("git bisect bad evil")},
	{name: "git submodule foreach", policy: allowKnown, call: run("git submodule foreach evil"), twin: run("git submodule status evil")},
	{name: "cargo evil", policy: allowAny, call: run(`cargo evil`), twin: run(`echo evil`)},
}

// found finds programs in /usr/bin.
func found(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	return "/usr/bin/" + name, nil
}

func TestCommandAttacks(t *testing.T) {
	for _, a := range slices.Concat(commandAttacks, hostAttacks) {
		t.Run(a.name, func(t *testing.T) {
			policy := rules(t, a.policy)
			for text, want := range map[string]permission.Outcome{a.call: permission.Denied, a.twin: permission.Allowed} {
				req := call(t, text)
				req.Resolve, req.LookPath = linked(a.links), found
				_, rec := permission.Decide(t.Context(), policy, req)
				if rec.Decision != want {
					t.Errorf("%s: %s by %q, want %s\n%+v", text, rec.Decision, rec.Rule, want, req.Facts())
				}
			}
		})
	}
}
