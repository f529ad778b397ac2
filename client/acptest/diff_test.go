package acptest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
)

// conversationOf reads lines of a transcript, without its header.
func conversationOf(t *testing.T, lines ...string) *transcript.Transcript {
	t.Helper()
	all, err := transcript.Read(strings.NewReader(`{"transcript":1,"runId":"r","client":{"name":"errand","version":"1"},"command":["a"],"dir":"/d"}` + "\n" +
		strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// changes are the lines that a diff says were removed or added, whatever white space and
// quotes cmp has around them.
func changes(diff string) []string {
	var all []string
	for _, line := range strings.Split(diff, "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
			all = append(all, line[:1]+" "+strings.Trim(line[1:], " \",`"))
		}
	}
	return all
}

// A diff shows what is different, all of it, and little else.
func TestDiff(t *testing.T) {
	t.Parallel()
	said := func(text string) string {
		return `{"from":"agent","frame":{"jsonrpc":"2.0","method":"session/update","params":{"text":"` + text + `"}}}`
	}
	many := func(n int, what string) []string {
		var all []string
		for i := range n {
			all = append(all, said(fmt.Sprintf("%s %d", what, i)))
		}
		return all
	}
	const (
		ask    = `{"from":"client","frame":{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{}}}`
		answer = `{"from":"agent","frame":{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}}`
		end    = `{"end":{"code":0,"signal":null,"rung":"eof"}}`
	)
	long := strings.Repeat("x", 1000)
	for name, tt := range map[string]struct {
		want, got []string
		changes   []string
		shows     []string // beside them
		hides     []string
	}{
		"nothing": {want: []string{ask, end}, got: []string{ask, end}},
		"other JSON": {
			want: []string{`{"from":"agent","frame":{"jsonrpc":"2.0","id":3,"result":{"a":1,"b":"<é"}}}`},
			got:  []string{`{"from":"agent","frame":{"id": 3, "result": {"b": "\u003c\u00e9", "a": 1}, "jsonrpc": "2.0"}}`},
		},
		"added and removed": {
			want:    []string{ask, said("one"), said("two"), said("three"), said("four"), answer, end},
			got:     []string{ask, said("two"), said("three"), said("four"), answer, said("late"), end},
			changes: []string{`- agent -> session/update {"text":"one"}`, `+ agent -> session/update {"text":"late"}`},
			shows:   []string{"client -> session/prompt #3 {}", `{"text":"two"}`, `#3 = {"stopReason":"end_turn"}`, `end: {"code":0`},
		},
		"one among a thousand": {
			want:    many(1000, "word"),
			got:     slices.Insert(many(1000, "word"), 500, said("late")),
			changes: []string{`+ agent -> session/update {"text":"late"}`},
			shows:   []string{"… identical lines: 498", `"word 498"`, `"word 499"`, `"word 500"`, `"word 501"`, "… identical lines: 499"},
			hides:   []string{`"word 497"`, `"word 502"`},
		},
		"one word of a long line": {
			want: []string{ask, said(long + "ONE" + long), end},
			got:  []string{ask, said(long + "TWO" + long), end},
			changes: []string{
				"- … " + long[:92] + "ONE" + long[:139],
				"+ … " + long[:92] + "TWO" + long[:139],
			},
		},
		"a long line, whole": {
			want: []string{ask, end},
			got:  []string{ask, said(strings.Repeat("é", 300)), end},
			changes: []string{
				`+ agent -> session/update {"text":"` + strings.Repeat("é", 103),
				"+ … " + strings.Repeat("é", 117),
				"+ … " + strings.Repeat("é", 80) + `"}`,
			},
		},
		"what could not be read": {
			want: []string{said("`` ` ``"), said(`...`), said(`\"\"\"`), `{"from":"stderr","text":"a"}`},
			got:  []string{said("`go\u3000test`"), said(`... `), said(`\"\" \"`), `{"from":"stderr","text":"\"a\u202e\u00a0\u001b[31m"}`},
			changes: []string{
				`- agent -> session/update {"text":"\u{60}\u{60} \u{60} \u{60}\u{60}"}`,
				`+ agent -> session/update {"text":"\u{60}go\u{3000}test\u{60}"}`,
				`- agent -> session/update {"text":"..."}`,
				`+ agent -> session/update {"text":"... "}`,
				`- agent -> session/update {"text":"\"\"\""}`,
				`+ agent -> session/update {"text":"\"\" \""}`,
				`- stderr | "a`,
				`+ stderr | "\"a\u{202e}\u{a0}\u001b[31m`,
			},
		},
		"every part of an entry": {
			want: []string{
				`{"ms":1.5,"from":"stderr","text":"a"}`,
				`{"from":"agent","text":"a","bytes":7}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","id":1,"error":{"code":1}}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","id":"1","method":"a b"}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","method":"a","params":null}}`,
				`{"from":"agent","frame":{"method":"a"}}`,
				`{"from":"agent","frame":[{"jsonrpc":"2.0","method":"a"}]}`,
				end,
			},
			got: []string{
				`{"from":"stderr","text":"a"}`,
				`{"from":"agent","text":"a"}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","id":1,"error":{"code":1},"result":{}}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","id":1,"method":"a b"}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","method":"a"}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","method":"a","extra":1}}`,
				`{"from":"client","frame":{"jsonrpc":"2.0","id":null,"method":"a"}}`,
				`{"end":{"code":null,"signal":"SIGKILL","rung":"sigkill"}}`,
			},
			changes: []string{
				`- 1.500 stderr | "a`,
				`+ stderr | "a`,
				`- agent | "a" (7 bytes)`,
				`+ agent | "a`,
				`- agent -> #1 = error {"code":1}`,
				`+ agent -> {"error":{"code":1},"id":1,"jsonrpc":"2.0","result":{}}`,
				`- agent -> {"id":"1","jsonrpc":"2.0","method":"a b"}`,
				`+ agent -> {"id":1,"jsonrpc":"2.0","method":"a b"}`,
				`- agent -> a null`,
				`+ agent -> a`,
				`- agent -> {"method":"a"}`,
				`+ agent -> {"extra":1,"jsonrpc":"2.0","method":"a"}`,
				`- agent -> [{"jsonrpc":"2.0","method":"a"}]`,
				`+ client -> a #null`,
				`- end: {"code":0,"signal":null,"rung":"eof"}`,
				`+ end: {"code":null,"signal":"SIGKILL","rung":"sigkill"}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := diff(lines(conversationOf(t, tt.want...)), lines(conversationOf(t, tt.got...)))
			if d := cmp.Diff(tt.changes, changes(got)); d != "" {
				t.Errorf("the changes (-want +got):\n%s\nof\n%s", d, got)
			}
			if (got == "") != (tt.changes == nil) {
				t.Errorf("it says %q", got)
			}
			for _, part := range tt.shows {
				if !strings.Contains(strings.Join(strings.Fields(got), " "), part) {
					t.Errorf("it does not say %q:\n%s", part, got)
				}
			}
			for _, part := range tt.hides {
				if strings.Contains(got, part) {
					t.Errorf("it says %q:\n%s", part, got)
				}
			}
		})
	}
}

// However long a conversation is, its diff has an end, and is there soon.
func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	short := func(what string) []string {
		var all []string
		for i := range 20_000 {
			all = append(all, fmt.Sprint(what, i))
		}
		return all
	}
	many := func(what string) []string { // that are folded
		all := short(what)
		for i := range all {
			all[i] += strings.Repeat(" "+what, 400)
		}
		return all
	}
	long := strings.Repeat("é", 1<<19) // 1 MiB
	same := many("s")
	for name, tt := range map[string]struct {
		want, got []string
		shows     []string
	}{
		"all lines":                  {many("a"), many("b"), []string{"… and 76000 lines more, not compared"}},
		"all of many that are short": {short("a"), short("b"), []string{"… and 7802 lines more", "… and 16000 lines more, not compared"}},
		"one after many":             {append(many("a"), "ONE"), append(many("a"), "TWO"), []string{"… identical lines: 79998", "ONE", "TWO"}},
		"one more after many":        {many("a"), append(many("a"), "TWO"), []string{"… identical lines: 79998", "TWO"}},
		"one before many":            {append([]string{"ONE"}, same...), append([]string{"TWO"}, same...), []string{"ONE", "TWO", "… identical lines: 79998"}},
		"one before many, and after": {
			slices.Concat([]string{"ONE"}, same, []string{"ONE"}), slices.Concat([]string{"TWO"}, same, []string{"TWO"}),
			[]string{"ONE", "TWO", "… and 76002 lines more, not compared"},
		},
		"a long line":            {[]string{"ask"}, []string{"ask", long}, []string{"lines more"}},
		"the end of a long line": {[]string{long + "ONE"}, []string{long + "TWO"}, []string{"ONE", "TWO"}},
		"all of a long line":     {[]string{long}, []string{strings.ToUpper(long)}, []string{"lines more", "lines more, not compared"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := diff(tt.want, tt.got)
			if n := strings.Count(got, "\n"); n > mostShown+3 || len(got) > mostShown*3*width {
				t.Errorf("it has %d lines and %d bytes", n, len(got))
			}
			for _, part := range tt.shows {
				if !strings.Contains(got, part) {
					t.Errorf("it does not say %q:\n%.2000s", part, got)
				}
			}
		})
	}
}
