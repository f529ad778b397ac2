package main

import (
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
)

func TestChooseAgent(t *testing.T) {
	type want struct {
		name, path string
		note       bool
		err        string
	}
	tests := []struct {
		name        string
		flags       runFlags
		command     []string
		environment string
		terminal    bool
		want        want
	}{
		{"a preset", runFlags{agent: "opencode", agentSet: true}, nil, "gemini", true, want{name: "opencode", path: "opencode"}},
		{"a command", runFlags{command: true}, []string{"/opt/my-agent", "--acp"}, "gemini", true, want{name: "my-agent", path: "/opt/my-agent"}},
		{"a command that has a preset's name is a command", runFlags{command: true}, []string{"cline"}, "", true, want{name: "cline", path: "cline"}},
		{"the environment", runFlags{}, nil, "gemini", false, want{name: "gemini", path: "gemini"}},
		{"a path in the environment", runFlags{}, nil, "./agents/mine", false, want{name: "mine", path: "./agents/mine"}},
		{"the demo by name", runFlags{agent: "demo", agentSet: true}, nil, "", false, want{name: "demo"}},
		{"the demo in the environment", runFlags{}, nil, "demo", false, want{name: "demo"}},
		{"nothing, on a terminal", runFlags{}, nil, "", true, want{name: "demo", note: true}},
		{"nothing, in a job", runFlags{}, nil, "", false, want{err: "no agent"}},
		{"both", runFlags{agent: "opencode", agentSet: true, command: true}, []string{"x"}, "", true, want{err: "exclude each other"}},
		{"unknown", runFlags{agent: "x", agentSet: true}, nil, "", true, want{err: `no agent "x"`}},
		{"empty", runFlags{agentSet: true}, nil, "gemini", true, want{err: `no agent ""`}},
		{"unknown in the environment", runFlags{}, nil, "x", true, want{err: "$ERRAND_AGENT"}},
		{"no command", runFlags{command: true}, nil, "gemini", true, want{err: "no COMMAND"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := tt.flags.chooseAgent(tt.command, tt.environment, tt.terminal)
			if tt.want.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want.err) {
					t.Errorf("error %v, want %q", err, tt.want.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.name != tt.want.name || tt.want.path != "" && c.command.Path != tt.want.path || len(c.notes) > 0 != tt.want.note {
				t.Errorf("got %+v, want %+v", c, tt.want)
			}
		})
	}
}

// What is known of an agent goes with it when it is named, and not with a command
// that happens to be called so.
func TestPresetGoesWithItsName(t *testing.T) {
	named, err := (&runFlags{agent: "cline", agentSet: true}).chooseAgent(nil, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if named.sweep != client.SweepGroup || named.graces.EOF == 0 || len(named.hints) == 0 || len(named.command.Env) == 0 || named.install == "" {
		t.Errorf("got %+v", named)
	}
	bare, err := (&runFlags{command: true}).chooseAgent([]string{"cline", "--acp"}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if bare.sweep != "" || bare.graces != (client.Graces{}) || bare.hints != nil || bare.command.Env != nil {
		t.Errorf("got %+v", bare)
	}
}
