package main

import (
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/errand-acp/errand/subagent"
)

func TestParsePrompts(t *testing.T) {
	text := func(s string) *string { return &s }
	uri := acp.ResourceLinkBlock("main.go", "file:///main.go")
	for _, tt := range []struct {
		name, in string
		want     []promptLine
	}{
		{"lines", "one\ntwo words\n", []promptLine{
			{number: 1, prompt: subagent.Text("one")}, {number: 2, prompt: subagent.Text("two words")},
		}},
		{"blank lines count and are none", "\n  \none", []promptLine{{number: 3, prompt: subagent.Text("one")}}},
		{"line ends and a BOM", "\ufeffone\r\n two \r\n", []promptLine{
			{number: 1, prompt: subagent.Text("one")}, {number: 2, prompt: subagent.Text(" two ")},
		}},
		{"a list and a heading are texts", "[1] fix\n# title\n\"quoted\"", []promptLine{
			{number: 1, prompt: subagent.Text("[1] fix")}, {number: 2, prompt: subagent.Text("# title")}, {number: 3, prompt: subagent.Text(`"quoted"`)},
		}},
		{"an object", `{"prompt": "a\nb", "dir": "/d", "agent": "demo", "labels": {"k": "v"}, "name": "n", "timeout": "5s"}`, []promptLine{{
			number: 1, prompt: subagent.Text("a\nb"), dir: text("/d"), agent: text("demo"), labels: map[string]string{"k": "v"}, name: "n", timeout: text("5s"),
		}}},
		{"blanks before the brace", "  {\"prompt\": \"a\"}  \n", []promptLine{{number: 1, prompt: subagent.Text("a")}}},
		{"content blocks", `{"prompt": [{"type": "text", "text": "see"}, {"type": "resource_link", "name": "main.go", "uri": "file:///main.go"}]}`, []promptLine{{
			number: 1, prompt: []acp.ContentBlock{acp.TextBlock("see"), uri},
		}}},
		{"null says nothing", `{"prompt": "a", "dir": null, "agent": null, "timeout": null}`, []promptLine{{number: 1, prompt: subagent.Text("a")}}},
		{"empty ones are left to be refused", `{"prompt": "a", "dir": ""}`, []promptLine{{number: 1, prompt: subagent.Text("a"), dir: text("")}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parsePrompts("f", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(promptLine{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePromptsRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", "--prompts f: there is no prompt in it"},
		{"blank lines only", "\n \n", "--prompts f: there is no prompt in it"},
		{"an unknown field", "one\n\n" + `{"prompt": "a", "model": "x"}`, `--prompts f:3: `},
		{"its name is in the error", `{"prompt": "a", "model": "x"}`, `--prompts f:1: there is no field "model": a line that begins with a brace has prompt, dir, agent, labels, name and timeout`},
		{"another case", `{"Prompt": "a"}`, `"Prompt"`},
		{"the same field twice", `{"prompt": "a", "prompt": "b"}`, `duplicate`},
		{"no JSON", `{fix this}`, "--prompts f:1: a line that begins with a brace is a JSON object"},
		{"more than an object", `{"prompt": "a"} x`, "--prompts f:1: "},
		{"torn", `{"prompt": "a"`, "--prompts f:1: "},
		{"no prompt", `{"name": "n"}`, "--prompts f:1: there is no prompt in it"},
		{"an empty prompt", `{"prompt": " "}`, "--prompts f:1: the prompt is empty"},
		{"no blocks", `{"prompt": []}`, "--prompts f:1: the prompt is empty"},
		{"empty blocks", `{"prompt": [{"type": "text", "text": ""}]}`, "--prompts f:1: the prompt is empty"},
		{"a block of no type that there is", `{"prompt": [{"type": "video", "text": "x"}]}`, `no content of the type "video"`},
		{"a number as prompt", `{"prompt": 1}`, "neither a text nor a list"},
		{"null as prompt", `{"prompt": null}`, "neither a text nor a list"},
		{"a number as name", `{"prompt": "a", "name": 1}`, "--prompts f:1: name is no text"},
		{"a number as label", `{"prompt": "a", "labels": {"n": 1}}`, "--prompts f:1: labels.n is no text"},
		{"labels as a list", `{"prompt": "a", "labels": ["n"]}`, "--prompts f:1: labels is no object"},
		{"a label without a name", `{"prompt": "a", "labels": {"": "x"}}`, "--prompts f:1: a label has no name"},
		{"a number as timeout", `{"prompt": "a", "timeout": 5}`, `--prompts f:1: timeout is no text: write "5s"`},
		{"no UTF-8", "one\na\xff", "--prompts f:2: it is not UTF-8 text"},
		{"too long", strings.Repeat("x", maxPrompt+1), "--prompts f:1: it is longer than 32 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parsePrompts("f", []byte(tt.in))
			if err == nil {
				t.Fatalf("it is taken for %+v", got)
			}
			has(t, "the error", err.Error(), tt.want)
		})
	}
}

func FuzzParsePrompts(f *testing.F) {
	f.Add("one\n{\"prompt\": \"two\"}\n")
	f.Add(`{"prompt": [{"type": "text", "text": "see"}], "labels": {"a": "b"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := parsePrompts("f", []byte(text))
		if (err == nil) != (len(lines) > 0) {
			t.Fatalf("%d lines, error %v", len(lines), err)
		}
		last := 0
		for _, line := range lines {
			if line.number <= last || len(line.prompt) == 0 {
				t.Errorf("line %d after %d has %d blocks", line.number, last, len(line.prompt))
			}
			last = line.number
		}
	})
}
