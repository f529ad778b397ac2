package client

import (
	"slices"
	"time"
)

// Preset is what is known of one agent: how it is started, and how it behaves where
// that differs from what the defaults are made for. It is data and starts nothing.
type Preset struct {
	// Name is what the preset is asked for by; Title names the agent for people.
	Name  string
	Title string
	// Path and Args are its command, as in Command.
	Path string
	Args []string
	// Env holds KEY=VALUE entries that fit it. None of them is a secret.
	Env []string
	// SecretEnv names the variables that it reads its credentials from. They are
	// held back like any other secret; an error text can say which of them to let
	// through. It needs one at the most, and none where it has logged in before.
	SecretEnv []string
	// Graces are the waits that fit it; a zero field means the default.
	Graces Graces
	// Sweep is SweepGroup where processes that it leaves behind are meant to stay.
	Sweep SweepMode
	// Install is the command that installs it.
	Install string
	// Quirks are short facts on what it does otherwise than others.
	Quirks []string
	// Unverified says that nobody has driven this agent with Errand: what stands here
	// is what its documentation says, and its waits are the defaults.
	Unverified bool
}

// Presets returns what is known of agents, sorted by name. The caller may change
// what it gets.
func Presets() []Preset {
	list := make([]Preset, len(presets))
	for i, p := range presets {
		list[i] = p.clone()
	}
	return list
}

// LookupPreset returns the preset of that name.
func LookupPreset(name string) (Preset, bool) {
	for _, p := range presets {
		if p.Name == name {
			return p.clone(), true
		}
	}
	return Preset{}, false
}

// clone returns p with lists of its own, none of them nil.
func (p Preset) clone() Preset {
	for _, list := range []*[]string{&p.Args, &p.Env, &p.SecretEnv, &p.Quirks} {
		*list = append(make([]string, 0, len(*list)), *list...)
	}
	return p
}

// Command is the preset's command, with env after its own variables. Dir is left to
// the caller.
func (p Preset) Command(env ...string) Command {
	return Command{Path: p.Path, Args: slices.Clone(p.Args), Env: append(slices.Clone(p.Env), env...)}
}

// deafToEOF and deafToTerm are the waits for an agent that never ends when its stdin
// does, or on SIGTERM: long enough for what it may be writing, and no more.
const (
	deafToEOF  = 200 * time.Millisecond
	deafToTerm = 200 * time.Millisecond
)

// presets is sorted by name. The figures come from driving each agent over stdio,
// idle and in the middle of a turn; what was never driven has none, and is unverified.
var presets = []Preset{
	{
		Name: "claude", Title: "Claude Agent (ACP adapter)",
		Path:      "claude-agent-acp",
		Env:       []string{"DISABLE_AUTOUPDATER=1"},
		SecretEnv: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		Install:   "npm install -g @agentclientprotocol/claude-agent-acp",
	},
	{
		Name: "claude-code", Title: "Claude Code (the older adapter)",
		Path:      "claude-code-acp",
		Env:       []string{"DISABLE_AUTOUPDATER=1"},
		SecretEnv: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		Graces:    Graces{EOF: deafToEOF},
		Install:   "npm install -g @zed-industries/claude-code-acp",
		Quirks: []string{
			"never exits when its stdin ends",
			"killed in the middle of a turn it leaves its child behind, which the group's signal ends",
		},
	},
	{
		Name: "cline", Title: "Cline",
		Path: "cline", Args: []string{"--acp"},
		Env:       []string{"CLINE_NO_AUTO_UPDATE=1"},
		SecretEnv: []string{"OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"},
		Graces:    Graces{EOF: 12 * time.Second, Term: deafToTerm},
		Sweep:     SweepGroup,
		Install:   "npm install -g cline",
		Quirks: []string{
			"takes 8 to 9 seconds to exit when its stdin ends, and ignores SIGTERM",
			"leaves a daemon that later runs share, so only its process group is ended",
		},
	},
	{
		Name: "codex", Title: "Codex (ACP adapter)",
		Path:      "codex-acp",
		SecretEnv: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		Install:   "npm install -g @agentclientprotocol/codex-acp",
		Quirks:    []string{"takes 2 seconds to exit when its stdin ends", "its program has the name of codex-zed's: which one runs is what is installed"},
	},
	{
		Name: "codex-zed", Title: "Codex (the adapter in Rust)",
		Path:      "codex-acp",
		SecretEnv: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		Graces:    Graces{EOF: deafToEOF},
		Install:   "npm install -g @zed-industries/codex-acp",
		Quirks:    []string{"never exits when its stdin ends", "its program has the name of codex's: which one runs is what is installed"},
	},
	{
		Name: "copilot", Title: "GitHub Copilot CLI",
		Path: "copilot", Args: []string{"--acp"},
		Env:       []string{"COPILOT_AUTO_UPDATE=false"},
		SecretEnv: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"},
		Graces:    Graces{Term: time.Second},
		Install:   "npm install -g @github/copilot",
		Quirks: []string{
			"in the middle of a turn it takes 2 seconds to exit when its stdin ends",
			"on SIGTERM its launcher dies and its child lingers, which the end of the ladder kills",
		},
	},
	{
		Name: "dcode", Title: "Deep Agents Code",
		Path: "dcode", Args: []string{"--acp"},
		Env:        []string{"DEEPAGENTS_CODE_AUTO_UPDATE=0"},
		SecretEnv:  []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"},
		Install:    "uv tool install deepagents-code",
		Unverified: true,
	},
	{
		Name: "dsh", Title: "DeepSeek Harness",
		Path: "dsh", Args: []string{"--profile", "acp"},
		SecretEnv: []string{"DEEPSEEK_API_KEY"},
		Install:   "npm install -g @deepseek-ai/dsh",
		Quirks: []string{
			"on a Node older than 22.19, or 24.0 and 24.1, it exits without a word",
			"other packages have a program called dsh: which one runs is what is installed",
		},
		Unverified: true,
	},
	{
		Name: "example-go", Title: "The example agent of acp-go-sdk (no model)",
		Path:    "agent",
		Install: "go install github.com/coder/acp-go-sdk/example/agent@v0.13.5",
		Quirks:  []string{"answers with fixed text and asks for one permission"},
	},
	{
		Name: "example-ts", Title: "The example agent of the TypeScript SDK (no model)",
		Path: "node", Args: []string{"-e", `import(require.resolve("@agentclientprotocol/sdk").replace(/acp\.js$/, "examples/agent.js"))`},
		Install: "npm install @agentclientprotocol/sdk@1.9.0",
		Quirks:  []string{"found where the package is installed in the agent's directory, in one above it, or in $NODE_PATH"},
	},
	{
		Name: "gemini", Title: "Gemini CLI",
		Path: "gemini", Args: []string{"--acp"},
		SecretEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		Graces:    Graces{EOF: time.Second},
		Install:   "npm install -g @google/gemini-cli",
		Quirks: []string{
			"in the middle of a turn it exits only when the turn ends, up to half a minute after its stdin, so SIGTERM comes early",
			"in a folder that it does not trust it ignores the project's settings; GEMINI_CLI_TRUST_WORKSPACE=true trusts it",
		},
	},
	{
		Name: "goose", Title: "goose",
		Path: "goose", Args: []string{"acp"},
		SecretEnv: []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"},
		Install:   "curl -fsSL https://github.com/aaif-goose/goose/releases/download/stable/download_cli.sh | bash",
		Quirks: []string{
			"GOOSE_PROVIDER and GOOSE_MODEL, or 'goose configure' before, say which model it asks",
			"asks for no permission unless GOOSE_MODE is approve or smart_approve",
		},
		Unverified: true,
	},
	{
		Name: "hermes", Title: "Hermes Agent",
		Path: "hermes", Args: []string{"acp"},
		SecretEnv: []string{"OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"},
		Install:   "uv tool install 'hermes-agent[acp]'",
		Quirks: []string{
			"'hermes model' says which model it asks; its keys may stand in its own ~/.hermes/.env",
			"its tools run commands as a terminal does; it asks about those that it holds dangerous",
		},
		Unverified: true,
	},
	{
		Name: "kimi", Title: "Kimi Code CLI",
		Path: "kimi", Args: []string{"acp"},
		Env:       []string{"KIMI_CODE_NO_AUTO_UPDATE=1"},
		SecretEnv: []string{"KIMI_MODEL_API_KEY", "KIMI_API_KEY"},
		Install:   "npm install -g @moonshot-ai/kimi-code",
		Quirks: []string{
			"wants 'kimi login' before, or KIMI_MODEL_NAME beside KIMI_MODEL_API_KEY; KIMI_API_KEY alone is read only by its older form in Python",
		},
		Unverified: true,
	},
	{
		Name: "opencode", Title: "OpenCode",
		Path: "opencode", Args: []string{"acp"},
		Env:       []string{"OPENCODE_DISABLE_AUTOUPDATE=1"},
		SecretEnv: []string{"OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"},
		Install:   "npm install -g opencode-ai",
		Quirks:    []string{"takes about 2 seconds and half a gigabyte of memory to start"},
	},
	{
		Name: "pi", Title: "pi (ACP adapter)",
		Path:      "pi-acp",
		Env:       []string{"PI_SKIP_VERSION_CHECK=1"},
		SecretEnv: []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"},
		Install:   "npm install -g pi-acp",
	},
	{
		Name: "qwen", Title: "Qwen Code",
		Path: "qwen", Args: []string{"--acp"},
		SecretEnv: []string{"OPENAI_API_KEY", "DASHSCOPE_API_KEY"},
		Install:   "npm install -g @qwen-code/qwen-code",
	},
}
