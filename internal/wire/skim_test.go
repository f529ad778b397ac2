package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
)

// seen is what can be known of a frame that is too large.
type seen struct {
	Method, ID                string
	Marked, HasID, Reply, Err bool
}

func look(f *frame) seen {
	return seen{Method: string(f.method), ID: string(f.id), Marked: f.marked, HasID: f.id != nil, Reply: f.isReply(), Err: f.fails()}
}

func skimmed(text string, cut int) (got []seen) {
	s := skim{emit: func(f frame) { got = append(got, look(&f)) }}
	for len(text) > 0 {
		n := min(cut, len(text))
		s.feed([]byte(text[:n]))
		text = text[n:]
	}
	return got
}

func TestSkim(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []seen
	}{
		{"notification", `{"jsonrpc":"2.0","method":"session/update","params":{"id":7,"method":"no","result":1}}`,
			[]seen{{Method: "session/update", Marked: true}}},
		{"reply, id first", `{"jsonrpc":"2.0","id":3,"result":{"a":["}",{"id":9}]}}`,
			[]seen{{ID: "3", HasID: true, Marked: true, Reply: true}}},
		{"reply, id last", `{"result":{"a":"\"id\":4,"},"id":"3" , "jsonrpc" : "2.0"}`,
			[]seen{{ID: `"3"`, HasID: true, Marked: true, Reply: true}}},
		{"error", `{"jsonrpc":"2.0","id":3,"error":{"code":1},"result":null}`,
			[]seen{{ID: "3", HasID: true, Marked: true, Reply: true, Err: true}}},
		{"null error", `{"jsonrpc":"2.0","id":3,"error":null,"result":"x"}`,
			[]seen{{ID: "3", HasID: true, Marked: true, Reply: true}}},
		{"request", `{"id":"a\"b","params":[[]],"method":"fs/read_text_file"}`,
			[]seen{{Method: "fs/read_text_file", ID: `"a\"b"`, HasID: true}}},
		{"null id", `{"id":null,"method":"m"}`, []seen{{Method: "m", ID: "null", HasID: true}}},
		{"array", `[{"method":"a"},{"id":1,"result":{}} , {"method":"b","params":[{"method":"c"}]}]`,
			[]seen{{Method: "a"}, {ID: "1", HasID: true, Reply: true}, {Method: "b"}}},
		{"not ended", `{"method":"a","params":{"x":"`, nil},
		{"text", `loading {"method":"a"}`, nil},
		{"number", `17`, nil},
		{"id is an object", `{"id":{"a":1},"method":"m"}`, nil},
		{"brackets in strings", `{"method":"a","params":{"x":"}}]]\"}}","y":{}}}`, []seen{{Method: "a"}}},
		{"after the end", `{"method":"a"}{"method":"b"}`, []seen{{Method: "a"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for cut := 1; cut <= len(tt.text); cut++ {
				if diff := cmp.Diff(tt.want, skimmed(tt.text, cut)); diff != "" {
					t.Fatalf("in pieces of %d (-want +got)\n%s", cut, diff)
				}
			}
		})
	}
}

// skim sees the same in a frame as parseFrame does.
func FuzzSkim(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":[1,"x"]},"error":null}`))
	f.Add([]byte(`{"method":"a","params":{"id":3},"id":"x"}`))
	f.Add([]byte(`{"error":{},"id":1.5e3,"jsonrpc":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		check.Cost(t, len(text))
		got := skimmed(string(text), 7) // must not panic, whatever it is
		s := NewScan(text)
		fr, ok := parseFrame(&s, nil)
		if !ok || !s.End() {
			return
		}
		// Not kept, or not at that length: names with escapes, ids that are none.
		id := NewScan(fr.id)
		for _, raw := range [][]byte{fr.id, fr.method} {
			if len(raw) > maxToken-2 {
				return
			}
		}
		if fr.id != nil && (id.Kind() == '{' || id.Kind() == '[') {
			return
		}
		for _, c := range text {
			if c == '\\' {
				return
			}
		}
		if diff := cmp.Diff([]seen{look(&fr)}, got); diff != "" {
			t.Fatalf("%s (-parsed +skimmed)\n%s", text, diff)
		}
	})
}
