package check

import (
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	const asked, reply = `{"jsonrpc":"2.0","id":7,"method":"m"}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`
	for _, tt := range []struct {
		name  string
		lines []string
		want  string // the reply to 1
		asks  int
	}{
		{"reply", []string{asked, "noise", reply, reply}, `{"a":1}`, 1},
		{"another id", []string{strings.Replace(reply, "1,", "2,", 1)}, "", 0},
		{"after what may be one", []string{`[` + reply + `]`, reply}, "", 0},
		{"after one in another notation", []string{strings.Replace(reply, "1,", `"1",`, 1), reply}, "", 0},
		{"after an echo", []string{strings.Replace(asked, "7", "1", 1), reply}, "", 1},
		{"too long", []string{reply + strings.Repeat(" ", 100)}, "", 0},
		{"an error", []string{strings.Replace(reply, "result", "error", 1)}, "", 0},
		{"no requests", []string{strings.Replace(asked, "7", "null", 1), strings.Replace(asked, "7", "[]", 1), strings.Replace(asked, `"id":7,`, "", 1)}, "", 0},
	} {
		fs := ReadFrames(strings.Join(tt.lines, "\n"), 100)
		asks := 0
		for _, f := range fs.List {
			if f.Asks() {
				asks++
			}
		}
		got, _ := fs.Reply("1")
		Equal(t, tt.name, string(got), tt.want)
		Equal(t, tt.name+", requests", asks, tt.asks)
	}
}

func TestMember(t *testing.T) {
	raw := []byte(`{"a":{"b":"x","c":7}}`)
	for _, tt := range []struct {
		path, want string
		ok         bool
	}{
		{"a b", "x", true}, {"a c", "", false}, {"a B", "", false}, {"b", "", false}, {"a b c", "", false},
	} {
		got, ok := Member(raw, strings.Fields(tt.path)...)
		Equal(t, tt.path, got, tt.want)
		Equal(t, tt.path, ok, tt.ok)
	}
}
