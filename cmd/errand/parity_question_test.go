package main

import (
	"context"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// The question shows where a call would go on the network, and what each answer is for.
func parityScope(t *testing.T) {
	for name, tt := range map[string]struct {
		input  any
		always bool // the policy gives standing grants
		want   []string
		not    string
	}{
		"a URL":                {map[string]any{"url": "https://API.example.com:8443/v1?q=x"}, true, []string{"network | api.example.com", "told as | https://API.example.com:8443/v1?q=x"}, "!"},
		"a host in a command":  {map[string]any{"command": "curl -s https://a.example/x"}, true, []string{"network | a.example", "command | curl -s https://a.example/x"}, "!"},
		"two of them":          {map[string]any{"urls": []any{"https://a.example", "https://b.example"}}, true, []string{"network | a.example", "network | b.example"}, "!"},
		"one that is odd":      {map[string]any{"url": `https://a.example\@b.example/`}, true, []string{`! network | https://a.example\@b.example/`, "- allow always | For good"}, "a  allow always"},
		"where none may last":  {map[string]any{"url": "https://a.example"}, false, []string{"y allow once | Do it", "- allow always | For good"}, "a  allow always"},
		"where one may last":   {map[string]any{"url": "https://a.example"}, true, []string{"y allow once | Do it", "a allow always | For good", "n reject once | No", "once: for this call; always: for as long as the agent remembers it"}, "not offered"},
		"a call without a net": {map[string]any{"path": "a"}, true, []string{"path | a"}, "network"},
	} {
		t.Run(name, func(t *testing.T) {
			var text string
			permission.Ask{Always: tt.always, Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
				text, _ = questionText(q, repliesTo(q), "demo", func(s string) string { return s }, 200)
				return permission.Answer{}, nil
			}}.Decide(t.Context(), permission.Request{
				Dir: "/home/u/project", ToolCall: acp.ToolCallUpdate{RawInput: tt.input},
				Options: []acp.PermissionOption{
					{OptionId: "n", Kind: acp.PermissionOptionKindRejectOnce, Name: "No"},
					{OptionId: "a", Kind: acp.PermissionOptionKindAllowAlways, Name: "For good"},
					{OptionId: "y", Kind: acp.PermissionOptionKindAllowOnce, Name: "Do it"},
				},
			})
			shown := []string{}
			for line := range strings.Lines(text) {
				shown = append(shown, strings.Join(strings.Fields(line), " "))
			}
			for _, want := range tt.want {
				has(t, "the question", strings.Join(shown, "\n")+"\n", want+"\n")
			}
			if strings.Contains(text, tt.not) {
				t.Errorf("it shows %q:\n%s", tt.not, text)
			}
		})
	}
}
