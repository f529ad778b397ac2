package acptest

import (
	"fmt"
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

// A diff shows what is different, all of it, and little else.
func TestDiff(t *testing.T) {
	t.Parallel()
	said := func(text string) string {
		return `{"from":"agent","frame":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}}`
	}
	const (
		ask    = `{"from":"client","frame":{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{}}}`
		answer = `{"from":"agent","frame":{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}}`
		end    = `{"end":{"code":0,"signal":null,"rung":"eof"}}`
	)
	long := strings.Repeat("long ", 100)
	for name, tt := range map[string]struct {
		want, got []string
		diff      string
	}{
		"nothing": {[]string{ask, end}, []string{ask, end}, ""},
		"other JSON": {
			[]string{`{"from":"agent","frame":{"jsonrpc":"2.0","id":3,"result":{"a":1,"b":"<é"}}}`},
			[]string{`{"from":"agent","frame":{"id": 3, "result": {"b": "\u003c\u00e9", "a": 1}, "jsonrpc": "2.0"}}`}, "",
		},
		"added and removed": {
			[]string{ask, said("one"), said("two"), said("three"), said("four"), answer, end},
			[]string{ask, said("two"), said("three"), said("four"), answer, said(long), said("late"), end},
			`
  run: {"client":{"name":"errand","version":"1"},"command":["a"],"dir":"/d","runId":"r","transcript":1}
  client -> session/prompt #3 {}
- agent  -> session/update {"sessionId":"s","update":{"content":{"text":"one","type":"text"},"sessionUpdate":"agent_message_chunk"}}
  agent  -> session/update {"sessionId":"s","update":{"content":{"text":"two","type":"text"},"sessionUpdate":"agent_message_chunk"}}
  agent  -> session/update {"sessionId":"s","update":{"content":{"text":"three","type":"text"},"sessionUpdate":"agent_message_chunk"}}
  agent  -> session/update {"sessionId":"s","update":{"content":{"text":"four","type":"text"},"sessionUpdate":"agent_message_chunk"}}
  agent  -> #3 = {"stopReason":"end_turn"}
+ agent  -> session/update {"sessionId":"s","update":{"content":{"text":"` + long + `","type":"text"},"sessionUpdate":"agent_message_chunk"}}
+ agent  -> session/update {"sessionId":"s","update":{"content":{"text":"late","type":"text"},"sessionUpdate":"agent_message_chunk"}}
  end: {"code":0,"signal":null,"rung":"eof"}`,
		},
		"changed, in a long line": {
			[]string{ask, ask, ask, ask, ask, said("é" + long + "ONE" + long), ask, ask, ask, end},
			[]string{ask, ask, ask, ask, ask, said("é" + long + "TWO, longer" + long), ask, ask, ask, end},
			`
  … the same 4 lines
  client -> session/prompt #3 {}
  client -> session/prompt #3 {}
- agent  -> session/update …` + strings.Repeat("long ", 12) + `ONE` + strings.Repeat("long ", 12) + `…
+ agent  -> session/update …` + strings.Repeat("long ", 12) + `TWO, longer` + strings.Repeat("long ", 12) + `…
  client -> session/prompt #3 {}
  client -> session/prompt #3 {}
  … the same 2 lines`,
		},
		"a long line beside it": {
			[]string{said(long + "é"), ask, end}, []string{said(long + "é"), answer, end},
			`
  run: {"client":{"name":"errand","version":"1"},"command":["a"],"dir":"/d","runId":"r","transcript":1}
  agent  -> session/update {"sessionId":"s","update":{"content":{"text":"long long long long long long long long long long long long long long…
- client -> session/prompt #3 {}
+ agent  -> #3 = {"stopReason":"end_turn"}
  end: {"code":0,"signal":null,"rung":"eof"}`,
		},
		"every part of an entry": {
			[]string{
				`{"ms":1.5,"from":"stderr","text":"a"}`,
				`{"from":"agent","text":"a","bytes":7}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","id":1,"error":{"code":1}}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","id":"1","method":"a b"}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","method":"a","params":null}}`,
				`{"from":"agent","frame":{"method":"a"}}`,
				`{"from":"agent","frame":[{"jsonrpc":"2.0","method":"a"}]}`,
				end,
			},
			[]string{
				`{"from":"stderr","text":"a\u202e"}`,
				`{"from":"agent","text":"a"}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","id":1,"error":{"code":1},"result":{}}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","id":1,"method":"a b"}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","method":"a"}}`,
				`{"from":"agent","frame":{"jsonrpc":"2.0","method":"a","extra":1}}`,
				`{"from":"client","frame":{"jsonrpc":"2.0","id":null,"method":"a"}}`,
				`{"end":{"code":null,"signal":"SIGKILL","rung":"sigkill"}}`,
			},
			`
  run: {"client":{"name":"errand","version":"1"},"command":["a"],"dir":"/d","runId":"r","transcript":1}
-      1.500 stderr |  "a"
+ stderr |  "a\u{202e}"
- agent  |  "a" (7 bytes)
+ agent  |  "a"
- agent  -> #1 = error {"code":1}
+ agent  -> {"error":{"code":1},"id":1,"jsonrpc":"2.0","result":{}}
- agent  -> {"id":"1","jsonrpc":"2.0","method":"a b"}
+ agent  -> {"id":1,"jsonrpc":"2.0","method":"a b"}
- agent  -> a null
+ agent  -> a
- agent  -> {"method":"a"}
+ agent  -> {"extra":1,"jsonrpc":"2.0","method":"a"}
- agent  -> [{"jsonrpc":"2.0","method":"a"}]
+ client -> a #null
- end: {"code":0,"signal":null,"rung":"eof"}
+ end: {"code":null,"signal":"SIGKILL","rung":"sigkill"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := diff(lines(conversationOf(t, tt.want...)), lines(conversationOf(t, tt.got...)))
			if d := cmp.Diff(strings.TrimPrefix(tt.diff, "\n"), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// However long a conversation is, its diff has an end, and is there soon.
func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	var want, got []line
	for i := range 20_000 {
		want = append(want, line{"a", fmt.Sprint(i)})
		got = append(got, line{"b", fmt.Sprint(i)})
	}
	text := diff(want, got)
	if n := strings.Count(text, "\n") + 1; n != mostLines+1 || !strings.HasSuffix(text, "  … and 39800 lines more") {
		t.Errorf("it has %d lines, and ends with %q", n, text[len(text)-40:])
	}
	if text := diff(want, append(want[1:len(want):len(want)], line{"c", ""})); strings.Count(text, "\n") < mostLines {
		t.Errorf("it says %s", text)
	}
	large := strings.Repeat("é", 1<<20)
	if text := diff(want[:1], []line{want[0], {"b", large}}); len(text) > mostLine+100 || !strings.HasSuffix(text, "é…") {
		t.Errorf("%d bytes of a line are shown", len(text))
	}
	if text := diff([]line{{"a", "ONE" + large}}, []line{{"a", "TWO" + strings.ToUpper(large)}}); len(text) > 2*(mostLine+100) {
		t.Errorf("%d bytes of two lines are shown", len(text))
	}
	if text := diff(nil, nil); text != "" {
		t.Errorf("nothing differs from nothing: %s", text)
	}
}
