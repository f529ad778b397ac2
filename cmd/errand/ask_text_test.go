package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
)

// yesNo are the options of an ordinary question.
var yesNo = []acp.PermissionOption{
	{OptionId: "no", Kind: acp.PermissionOptionKindRejectOnce, Name: "No, thanks"},
	{OptionId: "ok", Kind: acp.PermissionOptionKindAllowOnce, Name: "Do it"},
}

// asked returns the question that permission.Ask makes of a request.
func asked(t *testing.T, req permission.Request) (q permission.Question) {
	t.Helper()
	permission.Ask{Always: true, Func: func(_ context.Context, asked permission.Question) (permission.Answer, error) {
		q = asked
		return permission.Answer{}, nil
	}}.Decide(t.Context(), req)
	return q
}

// about is a request about a call, in a directory where a link leads out.
func about(call acp.ToolCallUpdate) permission.Request {
	return permission.Request{
		Dir: "/home/u/project", Home: "/home/u", ToolCall: call, Options: yesNo,
		Resolve: func(path string) (string, error) {
			return strings.Replace(path, "/home/u/project/link", "/etc", 1), nil
		},
	}
}

func shownAs(q permission.Question) string {
	text, _ := questionText(q, repliesTo(q), "demo", strings.NewReplacer("hunter2hunter2", "[redacted]").Replace, 80)
	return text
}

func TestQuestionText(t *testing.T) {
	old := "one\ntwo\nthree\n"
	for _, tt := range []struct {
		name string
		req  permission.Request
		want string
	}{
		{"a command", about(acp.ToolCallUpdate{
			Title: new("Run the tests"), Kind: new(acp.ToolKindExecute),
			RawInput: map[string]any{"command": []any{"go", "test", "a b", "-run=hunter2hunter2"}, "url": "https://go.dev/x"},
		}), `
errand: demo asks for permission. What is right of a bar may be in its words.
  title            | Run the tests
  kind             | execute, fetch
  directory        | /home/u/project
  command          | go test "a b" "-run=[redacted]"
  network          | go.dev
    told as        | https://go.dev/x
  arguments        | {"command":["go","test","a b","-run=[redacted]"],"url":"ht
                   | tps://go.dev/x"}

  y  allow once    | Do it
  n  reject once   | No, thanks
once: for this call; always: for as long as the agent remembers it
`},
		{"a shell line", about(acp.ToolCallUpdate{
			RawInput: map[string]any{"command": "ls; cat ~/.ssh/id_rsa"},
		}), `
errand: demo asks for permission. What is right of a bar may be in its words.
  title            |
  kind             | execute
  directory        | /home/u/project
! shell line       | ls; cat ~/.ssh/id_rsa
  arguments        | {"command":"ls; cat ~/.ssh/id_rsa"}
! risk             | shell line
! risk             | sensitive file: ~/.ssh/id_rsa

  y  allow once    | Do it
  n  reject once   | No, thanks
once: for this call; always: for as long as the agent remembers it
`},
		{"an edit", about(acp.ToolCallUpdate{
			Title: new("Edit"), Kind: new(acp.ToolKindEdit),
			Locations: []acp.ToolCallLocation{{Path: "a.txt"}, {Path: "link/passwd"}, {Path: ".env"}, {Path: "../b"}},
			Content:   []acp.ToolCallContent{{Diff: &acp.ToolCallContentDiff{Path: "a.txt", OldText: &old, NewText: "one\n2\nthree"}}},
		}), `
errand: demo asks for permission. What is right of a bar may be in its words.
  title            | Edit
  kind             | edit
  directory        | /home/u/project
! path outside     | link/passwd
!   leads to       | /etc/passwd
! sensitive path   | .env
! path outside     | ../b
!   leads to       | /home/u/b
  path             | a.txt
  changes          | /home/u/project/a.txt
                   | @@ -1,3 +1,3 @@
                   |  one
                   | -two
                   | -three
                   | +2
                   | +three (no line end)
! risk             | sensitive file: .env
! risk             | outside the directory: link/passwd
! risk             | outside the directory: ../b

  y  allow once    | Do it
  n  reject once   | No, thanks
once: for this call; always: for as long as the agent remembers it
`},
		{"an act of ours", permission.Request{
			Method: acp.ClientMethodFsWriteTextFile, Dir: "/d", Options: yesNo,
			ToolCall: acp.ToolCallUpdate{
				Title: new("Write /d/n"), Kind: new(acp.ToolKindEdit), RawInput: map[string]any{"path": "/d/n", "content": "x\n"},
				Content: []acp.ToolCallContent{{Diff: &acp.ToolCallContentDiff{Path: "/d/n", NewText: "x\n"}}},
			},
		}, `
errand: demo wants errand to do it: fs/write_text_file. What is right of a bar may be in its words.
  kind             | edit
  directory        | /d
  path             | /d/n
  new text of      | /d/n
                   | @@ -0,0 +1,1 @@
                   | +x

  y  allow once    | Do it
  n  reject once   | No, thanks
once: for this call; always: for as long as the agent remembers it
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, shownAs(asked(t, tt.req))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Whatever the agent writes and wherever: nothing of it is obeyed, none looks like a line
// of ours, and it ends.
func TestQuestionTextOfAnEnemy(t *testing.T) {
	for name, evil := range map[string]string{
		"escapes":     "\x1b[2J\x1b]52;c;ZXZpbA==\a",
		"controls":    "\r\b\b\x00\x7f\u009b1A\xff",
		"bidi":        "\u202egnp.exe\u2066\u200b",
		"lines":       "x\n  y  allow once    | harmless\n\u2028errand: harmless\v\f",
		"wrapped":     "x" + strings.Repeat(" ", 200) + "y  reject once   | no",
		"wide":        strings.Repeat("界", 300),
		"long":        strings.Repeat("long ", 5_000),
		"many lines":  strings.Repeat("evil\n", 5_000),
		"a cut glyph": strings.Repeat("a", maxText-1) + "é" + strings.Repeat("a", 10),
	} {
		t.Run(name, func(t *testing.T) {
			many := map[string]any{"command": []any{evil, evil}, "path": evil, "url": "https://x/" + evil, "tool_name": evil, evil: evil}
			req := about(acp.ToolCallUpdate{Title: &evil, Kind: (*acp.ToolKind)(&evil), RawInput: many})
			req.Dir += evil[:min(len(evil), 100)]
			for i := range 12 {
				told := fmt.Sprint(evil, i)
				req.ToolCall.Locations = append(req.ToolCall.Locations, acp.ToolCallLocation{Path: told})
				req.ToolCall.Content = append(req.ToolCall.Content, acp.ToolCallContent{Diff: &acp.ToolCallContentDiff{Path: told, OldText: &told, NewText: evil}})
				for _, kind := range []acp.PermissionOptionKind{"allow_once", "allow_always", "reject_once", "reject_always", acp.PermissionOptionKind(evil)} {
					req.Options = append(req.Options, acp.PermissionOption{OptionId: acp.PermissionOptionId(fmt.Sprint(kind, i)), Kind: kind, Name: evil})
				}
			}
			text := shownAs(asked(t, req))
			if strings.Count(text, "\n") > 500 {
				t.Errorf("%d lines", strings.Count(text, "\n"))
			}
			ours := 0
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' }) {
					t.Errorf("%q is not visible", line)
				}
				if len(line) < labelWidth+3 || line[labelWidth+2] != '|' {
					ours++
					continue
				}
				if n := fits(line, 80); n < len(line) {
					t.Errorf("%q is longer than the terminal", line)
				}
			}
			if ours != 5 { // the head, two empty ones, the scope, what is left out
				t.Errorf("%d lines without a bar:\n%s", ours, text)
			}
		})
	}
}

func TestQuestionTextSaysWhatIsLeftOut(t *testing.T) {
	long := strings.Repeat("x\n", 5000)
	req := about(acp.ToolCallUpdate{
		Title:   new(strings.Repeat("x", 3*58) + "the end"),
		Content: []acp.ToolCallContent{{Diff: &acp.ToolCallContentDiff{Path: "a", NewText: long}}},
	})
	for i := range maxRows + 3 {
		req.ToolCall.Locations = append(req.ToolCall.Locations, acp.ToolCallLocation{Path: fmt.Sprint("f", i)})
	}
	// What is outside is not what is left out.
	req.ToolCall.Locations = append(req.ToolCall.Locations, acp.ToolCallLocation{Path: "/etc/shadow"})
	has(t, "the question", shownAs(asked(t, req)),
		"! not shown        | 58 more bytes\n                   | the end\n", "! not shown        | 5 more paths\n", "! not shown        | 4942 more lines of it\n",
		"! sensitive path   | /etc/shadow\n")
}

// The end of what is too long is where something may be hidden.
func TestQuestionTextShowsTheEnd(t *testing.T) {
	for name, line := range map[string]string{
		"blanks":         "ls" + strings.Repeat(" ", 3000) + "; rm -rf /",
		"words":          "ls" + strings.Repeat(" x", 3000) + "; rm -rf /",
		"lines":          "ls" + strings.Repeat("\n", 3000) + "; rm -rf /",
		"more than that": "ls" + strings.Repeat(" x", 30_000) + "; rm -rf /",
		"wide":           "ls" + strings.Repeat("界", 30_000) + "; rm -rf /",
	} {
		q := asked(t, about(acp.ToolCallUpdate{RawInput: map[string]any{"command": line}}))
		text, whole := questionText(q, repliesTo(q), "demo", strings.ToLower, 80)
		has(t, name, text, "! shell line       | ls", "; rm -r")
		if whole != (name == "blanks") {
			t.Errorf("%s: whole: %v", name, whole)
		}
		if name == "blanks" {
			has(t, name, text, "| ls [3000 blanks] ; rm -rf /\n")
		} else {
			has(t, name, text, "! not shown        | ", "Not all of it is shown.")
		}
	}
}

// What is not shown whole is said to be so.
func TestQuestionIsWhole(t *testing.T) {
	diff := func(n int) acp.ToolCallContent {
		return acp.ToolCallContent{Diff: &acp.ToolCallContentDiff{Path: "a", NewText: strings.Repeat("x\n", n)}}
	}
	var locations []acp.ToolCallLocation
	var commands []any
	var diffs []acp.ToolCallContent
	for i := range maxRows + 1 {
		locations = append(locations, acp.ToolCallLocation{Path: fmt.Sprint("f", i)})
		commands = append(commands, fmt.Sprint("ls ", i))
		diffs = append(diffs, diff(1))
	}
	for name, tt := range map[string]struct {
		call  acp.ToolCallUpdate
		whole bool
	}{
		"all":           {acp.ToolCallUpdate{Locations: locations[2:], Content: diffs[1:], RawInput: map[string]any{"commands": commands[1:]}}, true},
		"more paths":    {acp.ToolCallUpdate{Locations: locations}, false},
		"more commands": {acp.ToolCallUpdate{RawInput: map[string]any{"commands": commands}}, false},
		"more diffs":    {acp.ToolCallUpdate{Content: diffs}, false},
		"a long diff":   {acp.ToolCallUpdate{Content: []acp.ToolCallContent{diff(diffText + 10)}}, false},
		"a long title":  {acp.ToolCallUpdate{Title: new(strings.Repeat("x", 1000))}, false},
	} {
		q := asked(t, about(tt.call))
		if _, whole := questionText(q, repliesTo(q), "demo", strings.ToLower, 80); whole != tt.whole {
			t.Errorf("%s: whole: %v", name, whole)
		}
	}
}
