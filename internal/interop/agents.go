package main

import "strings"

// agent is somebody else's agent, as data. In command, env and files {root} stands for
// where it is installed, {home} for its HOME, {url} for the model server and {key} for
// the API key.
type agent struct {
	// name is that of its preset; title has the package, whose version is pinned.
	name, title string
	// npm says that npm/NAME pins it; otherwise goPackage is built, as go.mod pins it.
	npm       bool
	goPackage string
	command   []string
	env       []string
	files     map[string]string // by their place below HOME
	// model says that it asks a model, and so does as the prompt says.
	model bool
	// asks says that it asks before it acts, here.
	asks bool
	// ok is what it is known to do right: with an allowed request it writes the file,
	// with a rejected one it does not, and the test kit's conversation works.
	ok bool
	// note is for people: what its lines in the document depend on.
	note string
}

// The examples of the protocol's SDKs ask no model: each plays one turn of about five
// seconds, two tool calls long, and asks before the second. These are in their answers.
const (
	exampleAllowed  = "successfully updated the configuration"
	exampleRejected = "skip the configuration update"
)

var agents = []agent{
	{
		name: "example-go", title: "acp-go-sdk v0.13.5, example/agent",
		goPackage: "github.com/coder/acp-go-sdk/example/agent",
		command:   []string{"{root}/agent"}, asks: true, ok: true,
	},
	{
		name: "example-ts", title: "@agentclientprotocol/sdk, examples/agent.js", npm: true,
		command: []string{"node", "{root}/node_modules/@agentclientprotocol/sdk/dist/examples/agent.js"}, asks: true, ok: true,
	},
	{
		name: "opencode", title: "opencode-linux-x64, what opencode-ai starts", npm: true, model: true, asks: true, ok: true,
		command: []string{"{root}/node_modules/opencode-linux-x64/bin/opencode", "acp"},
		env:     []string{"OPENCODE_CONFIG={home}/opencode.json", "OPENCODE_DISABLE_AUTOUPDATE=1", "MODEL_SERVER_KEY={key}"},
		files: map[string]string{"opencode.json": `{
			"autoupdate": false, "model": "local/m", "small_model": "local/m",
			"permission": {"edit": "ask", "bash": "ask"},
			"provider": {"local": {
				"npm": "@ai-sdk/openai-compatible", "name": "local", "models": {"m": {"name": "m"}},
				"options": {"baseURL": "{url}/v1", "apiKey": "{env:MODEL_SERVER_KEY}"}}}}`},
	},
	{
		name: "gemini", title: "@google/gemini-cli", npm: true, model: true, asks: true, ok: true,
		command: []string{"node", "{root}/node_modules/@google/gemini-cli/bundle/gemini.js", "--acp", "-m", "gemini-2.5-flash"},
		env:     []string{"GEMINI_API_KEY={key}", "GOOGLE_GEMINI_BASE_URL={url}", "GEMINI_CLI_TRUST_WORKSPACE=true"},
		files: map[string]string{".gemini/settings.json": `{
			"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": false},
			"privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false, "disableUpdateNag": true}}`},
	},
	{
		name: "claude", title: "@agentclientprotocol/claude-agent-acp", npm: true, model: true,
		command: []string{"node", "{root}/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js"},
		env:     claudeEnv,
		files:   map[string]string{".claude/settings.json": `{"permissions": {"defaultMode": "default", "ask": ["Write", "Edit", "Bash"]}}`},
		asks:    true,
		note:    "its settings ask before each tool",
	},
	{
		name: "claude-code", title: "@zed-industries/claude-code-acp", npm: true, model: true,
		command: []string{"node", "{root}/node_modules/@zed-industries/claude-code-acp/dist/index.js"},
		env:     claudeEnv, asks: true,
	},
	{
		name: "codex", title: "@agentclientprotocol/codex-acp", npm: true, model: true,
		command: []string{"node", "{root}/node_modules/@agentclientprotocol/codex-acp/dist/index.js"},
		env:     []string{"CODEX_API_KEY={key}"},
		files:   map[string]string{".codex/config.toml": codexConfig},
		note:    "it asks before what its sandbox forbids, and has none here",
	},
	{
		name: "codex-zed", title: "@zed-industries/codex-acp, the platform's package", npm: true, model: true,
		command: []string{"{root}/node_modules/@zed-industries/codex-acp-linux-x64/bin/codex-acp"},
		env:     []string{"CODEX_API_KEY={key}"},
		files:   map[string]string{".codex/config.toml": "approval_policy = \"untrusted\"\nsandbox_mode = \"danger-full-access\"\n" + codexConfig},
		asks:    true,
		note:    "its settings ask before each command",
	},
	{
		name: "copilot", title: "@github/copilot", npm: true, model: true,
		command: []string{"node", "{root}/node_modules/@github/copilot/npm-loader.js", "--acp"},
		env: []string{
			"COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_BASE_URL={url}/v1", "COPILOT_PROVIDER_API_KEY={key}",
			"COPILOT_MODEL=m", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
		},
		asks: true,
		note: "with a provider of one's own",
	},
	{
		name: "cline", title: "@cline/cli-linux-x64, what cline starts", npm: true, model: true, asks: true,
		command: []string{"{root}/node_modules/@cline/cli-linux-x64/bin/cline", "--acp"},
		env:     []string{"CLINE_API_KEY={key}", "CLINE_PROVIDER=openai-compatible", "CLINE_MODEL=m", "CLINE_NO_AUTO_UPDATE=1"},
		files: map[string]string{".cline/data/settings/providers.json": `{
			"version": 1, "lastUsedProvider": "openai-compatible", "modes": {},
			"providers": {"openai-compatible": {"tokenSource": "manual", "updatedAt": "2026-01-01T00:00:00.000Z", "settings": {
				"provider": "openai-compatible", "model": "m", "baseUrl": "{url}/v1", "apiKey": "{key}"}}}}`},
		note: "its daemon is swept away with the run; as a preset it is left",
	},
}

// The agent refuses to run as root unless it is told that this is a sandbox.
var claudeEnv = []string{
	"ANTHROPIC_API_KEY={key}", "ANTHROPIC_BASE_URL={url}", "DISABLE_AUTOUPDATER=1",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1",
}

const codexConfig = `model = "m"
model_provider = "local"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.local]
name = "local"
base_url = "{url}/v1"
env_key = "CODEX_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`

// fill replaces what stands for places and keys.
func fill(text string, p *place) string {
	return strings.NewReplacer("{root}", p.root, "{home}", p.home, "{url}", p.url, "{key}", p.key).Replace(text)
}
