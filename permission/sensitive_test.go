package permission_test

import (
	"strings"
	"testing"

	"github.com/errand-acp/errand/permission"
)

// D4: these ask even where the workspace is trusted.
func TestSensitive(t *testing.T) {
	yes := strings.Fields(`/p/.env /p/.env.local /p/.env.production /p/sub/.env-ci /p/prod.env /p/.envrc /p/.ENV /p/.Env.Local /p/.env. /p/id_rsa
		/p/deploy/id_ed25519 /p/server.key /p/cert.pem /p/a.p12 /p/a.pfx /p/a.jks /p/a.kdbx /p/vault.tfvars /p/.netrc /p/.npmrc /p/.pypirc
		/p/.git-credentials /p/.pgpass /p/.git/config /p/.git/hooks/pre-commit /p/sub/.git/hooks /p/.ssh /p/.ssh/known_hosts /home/u/.ssh/id_x
		/home/u/.aws/credentials /home/u/.gnupg/x /home/u/.kube/config /home/u/.docker/config.json /home/u/.config/gh/hosts.yml
		/home/u/.bashrc /home/u/.profile /home/u/Library/Keychains/login.keychain-db /root/.ssh/x /etc/shadow /proc/self/environ /proc/1/environ
		C:\Users\u\.ssh\config /p/.env::$DATA /p/x/../.env //p//.env /p/.env/`)
	// What makes others run something.
	yes = append(yes, strings.Fields(`/p/.git /p/sub/.git /p/.GIT/config /p/git~1/config /p/.git/config.worktree /p/.git/info/attributes /p/.git/info/exclude
		/p/.git/modules/a/config /p/.git/modules/a/b/hooks/post-checkout /p/.git/modules/a/HEAD /p/.git/worktrees/w/gitdir /p/.git/commondir
		/srv/x.git/hooks/update /srv/x.git/config /p/.git/objects/x.git/hooks/update /p/.husky/pre-commit /p/.husky/_/x /p/.githooks/pre-push
		/p/.vscode/tasks.json /p/.vscode/launch.json /p/sub/.vscode/Settings.json /p/.github/workflows/ci.yml /p/.github/actions/a/action.yml
		/p/.claude/settings.json /p/.claude/settings.local.json /p/.mcp.json /p/.cursor/mcp.json /p/.cargo/config /p/.cargo/config.toml /p/.yarnrc.yml
		/p/.yarn/releases/yarn.cjs /p/.npmrc /p/.pre-commit-config.yaml /p/.gitlab-ci.yml /p/.devcontainer/devcontainer.json /p/.gdbinit`)...)
	// Agents, histories, browsers, copies.
	yes = append(yes, strings.Fields(`/home/u/.claude/.credentials.json /home/u/.claude.json /home/u/.codex/auth.json /home/u/.gemini/oauth_creds.json /home/u/.qwen/oauth_creds.json
		/home/u/.local/share/opencode/auth.json /p/.env~ /p/#.env# /p/.#.env /p/.env.swp /p/.id_rsa.swp /p/.flaskenv /p/id_rsa.bak /p/id_ed25519~ /p/server.key.bak /p/server.key.old
		/p/terraform.tfstate /p/terraform.tfstate.backup /etc/shadow- /etc/gshadow- /home/u/.bash_history /home/u/.python_history /home/u/.m2/settings.xml /home/u/.gem/credentials
		/home/u/.gradle/gradle.properties /home/u/.composer/auth.json /home/u/.terraform.d/credentials.tfrc.json /home/u/.config/hub /home/u/.config/github-copilot/apps.json
		/home/u/.config/rclone/rclone.conf /home/u/.config/sops/age/keys.txt /home/u/.config/containers/auth.json /home/u/.anthropic/key /home/u/.config/anthropic /home/u/.curlrc
		/home/u/.mozilla/firefox/x/cookies.sqlite /home/u/.config/google-chrome/Default/Cookies /proc/self/mem /proc/1/mem /etc/ssl/private/x /etc/wireguard/wg0.conf
		/p/opencode.json /p/.opencode/plugin/x.ts /p/.opencode/opencode.json /p/.qwen/settings.json /p/.claude/commands/x.md /p/.claude/agents/x.md /p/.gitattributes /p/.devcontainer.json
		/p/lefthook.toml /p/lefthook.yaml /p/lefthook-local.yml /p/.overcommit.yml /p/.nvim.lua /p/.windsurf/mcp.json /p/.roo/mcp.json /p/.amazonq/mcp.json /p/.copilot/mcp-config.json
		/p/.trae/mcp.json /p/mise.toml /p/.gitlab-ci.yaml /p/azure-pipelines.yaml /p/.woodpecker/x.yml /p/.woodpecker.yml /p/a.code-workspace /p/.vs/tasks.vs.json /p/.git-hooks/x /p/.hooks/x
		/p/.gradle/init.gradle /p/.pnp.cjs /p/.kiro/hooks/x`)...)
	yes = append(yes, "/p/.env ", "/p/.e\u200bnv", "/p/.ſsh/x")
	for _, path := range yes {
		if !permission.Sensitive(path, "/home/u") {
			t.Errorf("%q is not sensitive", path)
		}
	}
	for _, path := range strings.Fields(`/p/main.go /p/.env.example /p/.env.sample /p/.env.template /p/env /p/environment.go /p/envoy.yaml /p/.environment
		/p/id_rsa.pub /p/id_rsa.go /p/keys.go /p/monkey /p/key /p/.github/CODEOWNERS /p/.gitignore /p/.git/HEAD /p/.git/refs/heads/main /p/.git/logs/HEAD /p/x.git /p/x.git/HEAD /p/.vscode /p/.vscode/extensions.json /p/.claude/CLAUDE.md /p/.cargo/bin /p/husky/x /p/tasks.json /p/.env.example~ /p/id_rsa.pub.bak /p/mcp.json /p/AGENTS.md /p/GEMINI.md /p/main.go~ /p/main.go.bak /p/package.json /p/Makefile /p/config.yaml /p/opencode/x.ts /p/.claude/x.md /p/mem /p/a-
		/p/config.toml /p/hooks/x /p/ssh/config /p/.docker/Dockerfile
		/home/u/.config/nvim/init.lua /p/.config/gh/hosts.yml / . /p/.env/bin/python`) {
		if permission.Sensitive(path, "/home/u") {
			t.Errorf("%q is sensitive", path)
		}
	}
	if permission.Sensitive("", "") {
		t.Error("nothing is sensitive")
	}
}

// A rule that spells out a sensitive file is meant.
func TestSensitiveByName(t *testing.T) {
	for _, tt := range []struct {
		name, policy, call string
		want               permission.Effect
	}{
		{"spelled out", `{"rules":[{"effect":"allow","paths":["./.env"]}]}`, edit(".env"), permission.EffectAllow},
		{"spelled out anywhere", `{"rules":[{"effect":"allow","paths":["./**/.env"]}]}`, edit("a/b/.env"), permission.EffectAllow},
		{"with one of another name", `{"rules":[{"effect":"allow","paths":["./.env"]}]}`, `{"kind":"edit","rawInput":{"paths":[".env",".env.local"]}}`, permission.EffectDeny},
		{"by a wildcard", `{"rules":[{"effect":"allow","paths":["./.env*"]}]}`, edit(".env"), permission.EffectAsk},
		{"by another rule's wildcard too", `{"rules":[{"effect":"allow","paths":["./**"]},{"effect":"allow","paths":["./.env"]}]}`, edit(".env"), permission.EffectAllow},
		{"denied as well", `{"rules":[{"effect":"allow","paths":["./.env"]},{"effect":"deny","paths":["./.env"]}]}`, edit(".env"), permission.EffectDeny},
		{"as an argument", `{"rules":[{"effect":"allow","commands":[["cat",".env"]]}]}`, run("cat .env"), permission.EffectAllow},
		{"an argument by a wildcard", `{"rules":[{"effect":"allow","commands":[["cat","*"]]}]}`, run("cat .env"), permission.EffectAsk},
		{"denied outright", `{"sensitive":"deny","rules":[{"effect":"allow","paths":["./**"]}]}`, edit(".env"), permission.EffectDeny},
		{"denied outright, but spelled out", `{"sensitive":"deny","rules":[{"effect":"allow","paths":["./.env"]}]}`, edit(".env"), permission.EffectAllow},
		{"not looked for", `{"sensitive":"allow","rules":[{"effect":"allow","paths":["./**"]}]}`, edit(".env"), permission.EffectAllow},
		{"an ask rule comes first", `{"sensitive":"ask","rules":[{"effect":"ask","paths":["./**"]},{"effect":"allow","paths":["./.env"]}]}`, edit(".env"), permission.EffectAsk},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := rules(t, tt.policy).Explain(call(t, tt.call))
			if v.Effect != tt.want && (tt.want != permission.EffectDeny || v.Effect == permission.EffectAllow) {
				t.Errorf("got %+v, want %s", v, tt.want)
			}
		})
	}
}
