package permission

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// othersPrograms are interpreters and launchers: what runs is in their arguments, so
// that a rule for any program does not mean them.
var othersPrograms = words(`
	sh bash zsh dash ash ksh mksh csh tcsh fish nu elvish xonsh rc busybox toybox cmd powershell pwsh command.com
	python pypy ipython node nodejs deno bun tsx ts-node perl ruby irb jruby php lua luajit tclsh wish expect r rscript
	julia ghci runghc runhaskell groovy scala kotlin jshell java javaw racket guile sbcl clisp emacs elixir iex erl
	escript swipl dotnet mono wine osascript wscript cscript mshta rundll32 regsvr32 msbuild jq-repl awk gawk mawk nawk
	sed ed ex vi vim nvim view dc bc gdb lldb sqlite sqlite3 psql mysql
	env xargs sudo doas su runuser pkexec gosu nohup nice ionice chrt taskset setsid setarch stdbuf unbuffer timeout time watch
	strace ltrace perf valgrind script screen tmux at batch crontab parallel flock chroot unshare nsenter bwrap firejail
	systemd-run run-parts chpst daemonize start-stop-daemon ld.so ld-linux ld-linux-x86-64.so busctl entr
	direnv nix nix-shell guix conda mamba poetry pipenv pipx uv uvx rye hatch tox nox npx bunx pnpx yarn pnpm volta corepack
	bundle rake make gmake nmake ninja just task rtx mise asdf gradle gradlew mvn mvnw ant bazel sbt lein
	ssh rsh mosh telnet sshpass scp sftp docker podman nerdctl kubectl oc lxc lxd vagrant multipass wsl adb ansible
	ansible-playbook terraform pulumi
	setpriv prlimit choom fakeroot fakechroot proot pseudo capsh runcon sg newgrp run0 runas su-exec setuidgid softlimit envdir envuidgid
	tini dumb-init catatonit numactl cgexec cpulimit trickle eatmydata faketime torify torsocks tsocks proxychains xvfb-run caffeinate
	sandbox-exec nsjail minijail0 systemd-nspawn schroot switch_root openvt rlwrap dtach abduco tmate zellij byobu xterm urxvt konsole
	gnome-terminal alacritty kitty foot ssh-agent gpg-agent keychain dbus-run-session dbus-launch autossh pdsh pssh mpirun mpiexec srun
	linux32 linux64 x86_64 i386 i486 i586 i686 uname26 arch debconf ldd gtime hyperfine watchexec nodemon chronic ifne tsp
	gdbserver lldb-server rr heaptrack uftrace trace-cmd bpftrace dtrace dtruss ccache sccache distcc icecc bear scan-build intercept-build
	wine64 box64 box86 darling socat pre-commit m4 tcc cling ocaml octave gnuplot maxima qjs crystal nim zig dart swift
	cabal stack mix rebar3 composer rustup rbenv pyenv nodenv jenv nvm fnm bmake pmake redo tup buck meson scons waf lerna turbo nx grunt gulp
	docker-compose podman-compose crictl ctr runc crun buildah distrobox toolbox flatpak snap apptainer singularity
	dpkg apt apt-get rpm yum dnf apk pacman brew open xdg-open start forfiles msiexec installutil
	rbash sash yash posh oksh loksh pdksh lksh osh ysh ion murex static-sh rview rvim vimdiff rvimdiff vimtutor gvim gview gvimdiff evim eview nvi elvis neovim
	editor sensible-editor sensible-pager sensible-browser x-terminal-emulator x-www-browser www-browser run-mailcap see edit compose
	prove cpan cpanm erb gem bundler pydoc pdb phpdbg php-cgi phar csi fsi lli jdb lein clj clojure node-gyp perldoc ocamlrun
	memusage sotruss catchsegv xtrace not cargo pg_virtualenv systemd-cat systemd-inhibit machinectl uclampset slogin rlogin rexec logsave lckdo run-one
	with-lock-ex mispipe pee vipe vidir dpkg-architecture npm
		gdbtui rust-gdb rust-gdbgui rust-lldb jrunscript jexec idle isympy flask dotenv easy_install mvndebug msgexec msgfilter luit ssh-argv0 llvm-jitlink
		dpkg-buildpackage service systemd-socket-activate pyenv-exec pygrun genv gxargs gtimeout gnohup gnice gstdbuf gchroot gsed invoke-rc.d gprofng gp-collect-app scalar vipw vigr login sulogin`)

// othersLike are those whose name says for what they are.
var othersLike = []string{"qemu-*", "ld-*.so", "ld.so*", "ld64.so*", "wine-*", "proxychains*", "s6-*", "lxc-*", "dbus-run-*", "*-static", "vim.*", "emacs*", "fakeroot-*", "debconf-*"}

// multicalls are programs that do what the name says under which they are called: a link to
// one is no launcher.
var multicalls = words("busybox toybox coreutils snap rustup ccache sccache distcc icecc mise volta-shim sudo-rs systemctl")

// smuggled are the arguments by which a program that looks harmless runs another one,
// or works elsewhere than it seems: flags, and words without a dash. A wildcard of a
// rule does not stand for them.
var smuggled = map[string][]string{
	"git": {
		"-c", "-C", "-u", "-x", "-O", "--config-env", "--exec-path", "--git-dir", "--work-tree", "--upload-pack",
		"--receive-pack", "--exec", "--ext-diff", "--textconv", "--extcmd", "--tool", "--open-files-in-pager",
		"--paginate", "--template", "--config", "--namespace", "--index-filter", "--tree-filter", "--msg-filter", "--env-filter",
		"--commit-filter", "--tag-name-filter", "--parent-filter", "--output",
		"config", "bisect", "submodule", "filter-branch", "difftool", "mergetool", "hook", "daemon", "instaweb", "send-email",
		"merge-index", "submodule--*", "bisect--*", "difftool--*", "mergetool--*", "fsmonitor--*", "maintenance", "remote-ext", "remote-fd", "web--browse", "p4", "svn", "gui", "citool", "cvsserver", "shell", "credential",
		"fast-import", "for-each-repo", "imap-send", "ext::*", "fd::*",
	},
	"go": {
		"-C", "-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "-o", "-ldflags", "-gcflags", "-asmflags", "-gccgoflags",
		"-compiler", "-pkgdir", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace", "-outputdir",
		"-fixtool", "-fuzzcachedir", "-test.*profile", "-test.outputdir", "-test.gocoverdir", "-http", "telemetry",
		"run", "generate", "tool", "install", "get", "env", "bug",
	},
	"gofmt":   {"-w", "-cpuprofile"},
	"find":    {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"},
	"fd":      {"-x", "-X", "--exec", "--exec-batch"},
	"tar":     {"-I", "-F", "-C", "-P", "--to-command", "--use-compress-program", "--checkpoint-action", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command", "--absolute-names", "--directory", "-T", "--files-from"},
	"rsync":   {"-e", "-M", "--rsh", "--rsync-path", "--remote-option", "--daemon", "--config", "--files-from"},
	"zip":     {"-T", "-TT", "--unzip-command", "-@"},
	"rg":      {"--pre", "--hostname-bin", "--search-zip", "-z"},
	"ag":      {"--pager"},
	"man":     {"-P", "-H", "--pager", "--html", "-C"},
	"less":    {"-o", "-O", "-k", "+*", "--lesskey-src", "--lesskey-file", "--lesskey-content"},
	"sort":    {"-o", "-T", "--compress-program", "--output", "--files0-from"},
	"split":   {"--filter"},
	"tcpdump": {"-z", "-w"},
	"curl": {"-K", "-o", "-O", "-T", "-F", "-d", "--config", "--output", "--output-dir", "--remote-name", "--upload-file", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--form", "--json", "--engine", "--dump-header", "--cookie-jar", "--trace", "--trace-ascii", "--stderr", "--unix-socket", "--abstract-unix-socket", "--libcurl", "-c", "-D",
		"--proxy", "-x", "--preproxy", "--proxy1.0", "--socks4", "--socks4a", "--socks5", "--socks5-hostname", "--connect-to", "--resolve", "--doh-url", "--dns-servers",
		"--ftp-port", "-P", "--haproxy-clientip", "--etag-save", "--hsts", "--alt-svc", "--netrc-file"},
	"wget": {"-O", "-i", "-e", "-P", "-o", "-a", "--execute", "--use-askpass", "--output-document", "--input-file", "--directory-prefix", "--post-file", "--body-file", "--config", "--output-file"},
	"npm": {
		"exec", "x", "run", "run-script", "rum", "urn", "explore", "start", "stop", "restart", "test", "t", "tst", "install", "i", "ci", "config", "c", "set",
		"--prefix", "--script-shell", "--git", "--node-gyp", "--globalconfig", "--userconfig", "--registry", "-C", "add", "in", "ins", "inst", "insta", "instal",
		"isnt", "isnta", "isntal", "isntall", "install-test", "it", "install-ci-test", "cit", "clean-install", "ic", "install-clean", "clean-install-test", "sit",
		"init", "create", "innit", "link", "ln", "rebuild", "rb", "update", "up", "upgrade", "udpate", "version", "verison", "pack", "publish", "edit", "pkg",
		"set-script", "dedupe", "ddp", "prune", "uninstall", "un", "unlink", "remove", "rm", "r",
	},
	"pip":        {"install", "download", "wheel", "config", "--index-url", "--extra-index-url", "--python"},
	"cargo":      {"run", "r", "install", "--config", "-C", "--manifest-path", "rustc", "rustdoc", "-Z"},
	"cmake":      {"-P", "-E", "--build", "--install"},
	"gcc":        {"-wrapper", "-B*", "-specs", "-fplugin", "-fpass-plugin", "-fuse-ld", "--ld-path", "-load", "-Xclang", "-Xlinker", "-Wl,*plugin*", "-Wl,@*", "-ccc-*", "--config*", "@*"},
	"install":    {"--strip-program"},
	"ip":         {"netns", "net", "netn", "vrf", "-b", "-batch"},
	"nc":         {"-e", "-c", "--exec", "--sh-exec", "--lua-exec"},
	"ncat":       {"-e", "-c", "--exec", "--sh-exec", "--lua-exec"},
	"pytest":     {"-c", "-p", "--rootdir", "--confcutdir", "--pyargs", "-o", "--override-ini"},
	"wc":         {"--files0-from"},
	"du":         {"--files0-from"},
	"bat":        {"--pager"},
	"hg":         {"--config", "--cwd", "-R", "--repository", "--debugger", "extdiff", "serve", "ext::*"},
	"svn":        {"--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd", "--merge-cmd"},
	"gh":         {"alias", "extension", "extensions", "ext", "codespace", "cs", "config"},
	"pylint":     {"--init-hook", "--load-plugins", "--rcfile"},
	"aria2c":     {"--on-download-complete", "--on-download-error", "--on-download-pause", "--on-download-start", "--on-download-stop", "--on-bt-download-complete", "--input-file", "-i", "--conf-path", "--all-proxy", "--http-proxy", "--https-proxy"},
	"patch":      {"-e", "--ed"},
	"cpio":       {"--rsh-command", "--rmt-command"},
	"diff3":      {"--diff-program"},
	"sdiff":      {"--diff-program"},
	"ssh-keygen": {"-D", "-w"},
	"eslint":     {"-c", "-f", "--config", "--format", "--rulesdir", "--plugin", "--resolve-plugins-relative-to", "--parser"},
}

// bundles are programs that take their first argument for flags without a dash.
var bundles = words("tar ar")

// spelled are programs whose flags of more than a letter have one dash, so that short
// ones are not bundled.
var spelled = words("go gofmt find gcc")

// aliases are what distributions call a program; GNU's have a g before their names, too.
var aliases = map[string]string{"fdfind": "fd", "batcat": "bat", "bsdtar": "tar", "bfind": "find", "bfs": "find"}

// compilers take gcc's flags.
var compilers = []string{"cc", "c89", "c99", "c++", "cpp", "g++", "clang*", "gfortran", "gdc", "gccgo", "nvcc", "icc", "icx", "*-cc", "*-c++", "*-gcc", "*-g++", "*-clang*", "*-cpp"}

// programName returns what a program is known as: without its directory, an .exe and a
// version.
func programName(argv0 string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(argv0, `\`, "/")))
	for _, ext := range []string{".exe", ".cmd", ".bat", ".com", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// withoutVersion is programName's python3.12 as python.
func withoutVersion(name string) string {
	return strings.TrimRightFunc(name, func(r rune) bool { return unicode.IsDigit(r) || r == '.' || r == '-' })
}

// versioned is a name with a version and what stands behind it: perl5.36-x86_64-linux-gnu,
// python3.7m.
var versioned = regexp.MustCompile(`^([a-z][a-z+_-]*?)-?\d+(?:\.\d+)*d?m?u?t?(?:-.*)?$`)

// namesOf returns what a program may be known as, with its version and without.
func namesOf(argv0 string) []string {
	name := programName(argv0)
	if len(name) > maxName {
		return nil // no file is called so
	}
	stem, _, _ := strings.Cut(name, ".") // vim.basic
	names := []string{name, withoutVersion(name), stem}
	if m := versioned.FindStringSubmatch(name); m != nil {
		names = append(names, m[1])
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// runsOthers reports whether the command is an interpreter or a launcher.
func runsOthers(argv []string) bool {
	return len(argv) > 0 && slices.ContainsFunc(namesOf(argv[0]), func(name string) bool {
		return othersPrograms[name] || anyGlob(othersLike, name)
	})
}

// launches is runsOthers for what the program's links lead to as well.
func (f *Facts) launches(c Command) bool {
	return !c.Shell && (runsOthers(c.Argv) || slices.ContainsFunc(f.at.files(c), func(file string) bool { return runsOthers([]string{file}) }))
}

// files returns the file that is run, and where its links lead.
func (p *place) files(c Command) []string {
	if c.Program == "" {
		return nil
	}
	real := p.real(c.Program)
	if multicalls[programName(real)] {
		return []string{c.Program}
	}
	return []string{c.Program, real}
}

// smugglerOf returns the name under which smuggled has a program.
func smugglerOf(word string) string {
	name := programName(word)
	if known, ok := aliases[name]; ok {
		name = known
	}
	if _, ok := smuggled[name]; ok || len(name) > maxName {
		return name
	}
	if gnu, ok := strings.CutPrefix(name, "g"); ok && smuggled[gnu] != nil {
		return gnu
	}
	if bare := withoutVersion(name); !anyGlob(compilers, name) && !anyGlob(compilers, bare) {
		return bare
	}
	return "gcc"
}

// smugglers are the programs of smuggled in a command, each with where it stands first.
func smugglers(argv []string) map[string]int {
	out := map[string]int{}
	for at, word := range argv {
		name := smugglerOf(word)
		if _, ok := out[name]; !ok && smuggled[name] != nil {
			out[name] = at
		}
	}
	return out
}

// smuggles reports whether argv[i] makes one of the programs in argv run another one.
func smuggles(programs map[string]int, argv []string, i int) bool {
	for name, at := range programs {
		if at < i && slices.ContainsFunc(smuggled[name], func(flag string) bool {
			if name == "git" && at == 0 && behindVerb(argv, i, flag) {
				return false
			}
			if spelled[name] {
				word, _, _ := strings.Cut(argv[i], "=")
				return glob(flag, word) || strings.HasPrefix(flag, "-") && glob("-"+flag, word)
			}
			return strings.HasSuffix(flag, "*") && glob(flag, argv[i]) || means(argv[i], flag, bundles[name] && smugglerOf(argv[i-1]) == name)
		}) {
			return true
		}
	}
	return false
}

var (
	// gitVerbs are those of git's for which -c, -C, -u and -x are something else than before a
	// verb, or for clone and its like, or rebase.
	gitVerbs = words(`add am annotate apply bisect blame branch checkout cherry cherry-pick clean commit describe diff diff-files diff-index diff-tree
		format-patch grep log ls-files ls-tree merge mv notes push range-diff reflog reset restore rev-list rev-parse revert rm shortlog show
		show-branch stash status submodule switch tag update-index whatchanged worktree`)
	// gitTells are what verbs of git's that run others do besides.
	gitTells = map[string]map[string]bool{"bisect": words("start good bad new old skip reset log terms"), "submodule": words("status summary")}
	// gitPlain are flags before the verb that have no value.
	gitPlain = words("--no-pager --no-optional-locks --no-replace-objects --literal-pathspecs -P")
)

// behindVerb reports whether argv[i], of a command of git's, is harmless though it may be flag
// because of where it stands.
func behindVerb(argv []string, i int, flag string) bool {
	verb := 1
	for verb < len(argv) && gitPlain[argv[verb]] {
		verb++
	}
	if i == verb {
		return len(argv) > i+1 && gitTells[argv[i]][argv[i+1]]
	}
	return i > verb && len(flag) == 2 && strings.Contains("cCux", flag[1:]) && gitVerbs[argv[verb]]
}

// means reports whether arg may be flag: as it stands, with a value, abbreviated as
// getopt allows it, or in a bundle of short ones.
func means(arg, flag string, bundled bool) bool {
	name, _, _ := strings.Cut(arg, "=")
	switch {
	case name == flag:
		return true
	case strings.HasPrefix(flag, "--"):
		return len(name) > 2 && strings.HasPrefix(flag, name)
	case len(flag) != 2 || flag[0] != '-' || strings.HasPrefix(arg, "--") || !strings.HasPrefix(arg, "-") && !bundled:
		return false
	}
	letters := strings.TrimPrefix(arg, "-")
	if end := strings.IndexFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		letters = letters[:end]
	}
	return strings.Contains(letters, flag[1:])
}
