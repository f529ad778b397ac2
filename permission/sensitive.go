package permission

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Sensitive reports whether the absolute path is of a file that is not to be read or
// written because somebody trusts the workspace it lies in: environment files, private
// keys, stores of credentials, and files that make others run what is in them: a git
// repository's own (all below .git or a name.git, but its history), and what hooks, editors,
// agents, build tools and CI are set up with. home is the home directory; empty means that
// nothing is looked for in it. Case, and dots and blanks at the end of a name, make no
// difference.
func Sensitive(path, home string) bool {
	path = filepath.Clean(path)
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	for i := range elements {
		elements[i] = fold(elements[i])
	}
	if len(elements) == 0 {
		return false
	}
	for i, e := range elements {
		next := ""
		if i+1 < len(elements) {
			next = elements[i+1]
		}
		switch {
		case secretDirs[e], gitDir(e, next), next != "" && anyGlob(secretIn[e], next):
			return true
		case e == ".kube" && next != "cache" && next != "",
			e == "proc" && i == 0 && slices.Contains([]string{"environ", "mem", "kcore"}, elements[len(elements)-1]),
			i > 0 && strings.HasPrefix(elements[i-1], ".") && glob("mcp*.json", e):
			return true
		}
	}
	if home != "" && within(path, filepath.Clean(home)) {
		depth := len(strings.FieldsFunc(filepath.Clean(home), func(r rune) bool { return r == '/' || r == '\\' }))
		if depth < len(elements) && homeSecret(strings.Join(elements[depth:], "/")) {
			return true
		}
	}
	return secretName(elements[len(elements)-1])
}

var (
	secretDirs = words(`.ssh .gnupg .aws .azure .gcloud .password-store .husky .githooks .circleci .buildkite .devcontainer .woodpecker .git-hooks .hooks
		.anthropic .mozilla .thunderbird .emacs.d .vim`)
	// secretIn are names that count in a directory of that name only.
	secretIn = map[string][]string{
		".docker": {"config.json"}, ".vscode": {"tasks.json", "launch.json", "settings.json", "mcp.json"},
		".idea": {"runconfigurations", "workspace.xml", "externaltools.xml", "watchertasks.xml"}, ".zed": {"settings.json", "tasks.json", "debug.json"},
		".github": {"workflows", "actions"}, ".gitea": {"workflows"}, ".forgejo": {"workflows"},
		".claude": {"settings*.json", "hooks", "commands", "agents", "skills", "plugins", ".credentials.json"}, ".cursor": {"mcp.json", "hooks*"},
		".gemini": {"settings.json", "oauth_creds.json", "commands", "extensions"}, ".qwen": {"settings.json", "oauth_creds.json", "commands", "extensions"},
		".codex": {"config.toml", "auth.json", "prompts"}, ".opencode": {"opencode.json*", "plugin*", "agent*", "command*", "tool*"},
		".kiro": {"hooks", "settings"}, ".continue": {"config*"}, ".vs": {"tasks.vs.json", "launch.vs.json"}, ".mise": {"config*.toml"},
		".m2": {"settings*.xml"}, ".gem": {"credentials"}, ".gradle": {"gradle.properties", "init.gradle", "init.d"}, ".composer": {"auth.json"}, ".terraform.d": {"credentials*"},
		"ssl": {"private"}, "wireguard": {"*.conf"},
		".cargo": {"config", "config.toml", "credentials*"}, ".yarn": {"releases", "plugins"}, ".bundle": {"config"}, ".mvn": {"extensions.xml", "jvm.config", "maven.config", "wrapper"},
	}
	homeDirs = []string{".config/gh", ".config/gcloud", ".config/op", ".config/git", ".local/share/keyrings", "library/keychains", ".config/systemd", ".config/autostart", ".config/fish",
		".config/hub", ".config/github-copilot", ".config/glab-cli", ".config/rclone", ".config/sops", ".config/containers", ".config/anthropic", ".config/opencode", ".config/composer", ".config/mise",
		".local/share/opencode/auth.json", ".config/google-chrome", ".config/chromium", ".config/bravesoftware", ".config/microsoft-edge",
		"library/application support/google/chrome", "library/application support/firefox", "library/cookies", "appdata/local/google/chrome", "appdata/local/microsoft/edge", "appdata/roaming/mozilla"}
	secretFiles = words(`.netrc _netrc .npmrc .pypirc .git-credentials .pgpass .my.cnf .htpasswd .vault-token .dockercfg .boto .s3cfg .claude.json .flaskenv .wgetrc .curlrc terraform.tfstate
		.bash_history .zsh_history .histfile .python_history .psql_history .mysql_history .sqlite_history .node_repl_history .rediscli_history .irb_history
		.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .envrc .gitconfig
		id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk credentials.json service-account.json kubeconfig shadow gshadow
		sudoers master.passwd application_default_credentials.json authorized_keys
		.mcp.json .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .pre-commit-config.yml .overcommit.yml .huskyrc .gitattributes opencode.json opencode.jsonc .devcontainer.json
		lefthook.yml lefthook.toml lefthook.json lefthook-local.yml lefthook-local.toml lefthook-local.json .lefthook.yml .lefthook.toml .lefthook-local.yml .lefthook-local.toml
		.gitlab-ci.yml .travis.yml jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml .drone.yml .woodpecker.yml mise.toml mise.local.toml .mise.toml .mise.local.toml .bazelrc
		.gdbinit .lldbinit .vimrc .nvimrc .nvim.lua .lvimrc .emacs .exrc .dir-locals.el .irbrc .pryrc .rprofile sitecustomize.py usercustomize.py .inputrc .tmux.conf .xprofile .xinitrc`)
	// gitHistory is what a repository has that makes git run nothing.
	gitHistory = words("head index logs objects packed-refs refs")
	secretEnds = []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".env", ".tfvars", ".tfstate", ".ovpn", ".asc.key", ".code-workspace"}
	// backupEnds are what editors and others put behind the name of a file they keep.
	backupEnds  = []string{"~", "#", "-", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo"}
	harmlessEnv = words("example sample template dist tmpl defaults")
)

// gitDir reports whether name, with next in it, is a repository's own. As a file it says
// where the repository is; GIT~1 is its short name on Windows. Alone, a name.git is
// more often the end of an address.
func gitDir(name, next string) bool {
	return (name == ".git" || name == "git~1" || next != "" && strings.HasSuffix(name, ".git")) && !gitHistory[next]
}

func homeSecret(rel string) bool {
	for _, dir := range homeDirs {
		if rel == dir || strings.HasPrefix(rel, dir+"/") {
			return true
		}
	}
	return false
}

func secretName(name string) bool {
	if plain := original(name); plain != name {
		return secretName(plain) || secretName(strings.TrimPrefix(plain, ".")) // vim keeps id_rsa in .id_rsa.swp
	}
	if strings.HasSuffix(name, ".yaml") {
		name = strings.TrimSuffix(name, ".yaml") + ".yml"
	}
	if secretFiles[name] {
		return true
	}
	if rest, ok := strings.CutPrefix(name, ".env"); ok && (rest == "" || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "_")) {
		return !harmlessEnv[strings.TrimLeft(filepath.Ext(name), ".")]
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// original returns the name of the file that one of this name is a copy of: id_rsa for
// id_rsa~, #id_rsa#, .#id_rsa and id_rsa.bak.
func original(name string) string {
	for _, end := range backupEnds {
		if rest, ok := strings.CutSuffix(name, end); ok && rest != "" {
			return strings.TrimPrefix(rest, "#")
		}
	}
	return strings.TrimPrefix(name, ".#")
}

// fold makes names equal that some file system takes for the same file: it drops what
// cannot be seen, case, a Windows stream, and dots and blanks at the end.
func fold(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		name = strings.Map(func(r rune) rune {
			if invisible(r) {
				return -1
			}
			low := r
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				low = min(low, f)
			}
			return unicode.ToLower(low)
		}, name)
	} else {
		name = strings.ToLower(name) // most are, and this is quick
	}
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	if trimmed := strings.TrimRight(name, ". "); trimmed != "" {
		return trimmed
	}
	return name
}

// sensitive reports whether the path, or what it leads to, is sensitive.
func (p *place) sensitive(path Path) bool {
	key := [2]string{path.Abs, path.Resolved}
	p.mu.Lock()
	bad, ok := p.bad[key]
	p.mu.Unlock()
	if !ok {
		bad = p.isSensitive(path)
		p.mu.Lock()
		p.bad[key] = bad
		p.mu.Unlock()
	}
	return bad
}

func (p *place) isSensitive(path Path) bool {
	for _, home := range p.homes {
		if !p.spend(256 + len(path.Abs) + len(path.Resolved)) {
			return true
		}
		if path.Abs != "" && (Sensitive(path.Abs, home) || p.spellsSensitive(path.Abs, home)) || path.Resolved != "" && Sensitive(path.Resolved, home) {
			return true
		}
	}
	return false
}
