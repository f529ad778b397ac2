package main

import "testing"

func TestNearPreset(t *testing.T) {
	for name, want := range map[string]string{
		"gemini": "gemini", "Gemini": "gemini", "gemni": "gemini", "gemnii": "gemini", "opencod": "opencode", "open-code": "opencode", "copilott": "copilot",
		"claude-agent-acp": "claude", "claude-code-acp": "claude-code", "qwne": "qwen", "opencode-acp": "opencode", "cdoex": "codex",
		"": "", "cat": "", "my-agent": "", "go": "", "ls": "", "claude23x": "", "pip": "", "vi": "", "node": "", "agent": "", "example-ts": "",
	} {
		p, ok := nearPreset(name)
		if p.Name != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", name, p.Name, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "ab", 1},
		{"abc", "xabc", 1}, {"kitten", "sitting", 3}, {"abcd", "badc", 2},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
