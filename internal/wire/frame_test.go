package wire

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What one line, or a few, is taken for, while call 1 (to peer/call) is pending.
func TestLine(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":"ok"}`
	const note = `{"jsonrpc":"2.0","method":"notify/a","params":[1]}`
	type want struct {
		Run     []string // notifications
		Served  []string // requests
		Result  string   // of the call, once the peer has gone
		Noise   int64
		Strays  int64 // late, duplicate, stray
		Dropped int64
	}
	for _, tt := range []struct {
		name, text string
		want       want
	}{
		{"reply", answer, want{Result: "ok"}},
		{"CRLF", note + "\r\n" + answer + "\r", want{Run: []string{"notify/a [1]"}, Result: "ok"}},
		{"blank lines", "\n  \n\t\r\n" + answer + "\n\n", want{Result: "ok"}},
		{"byte order mark", "\ufeff" + answer, want{Result: "ok"}},
		{"no final newline", "\n" + answer + "\x00", want{Result: "ok"}},
		{"colour", "\x1b[0m\x1b[38;5;12m" + answer, want{Result: "ok"}},
		{"cursor and title", "\x1b[?25h\x1b]0;an agent\x07\r\x1b[2K" + answer, want{Result: "ok"}},
		{"title ended by ST", "\x1b]8;;http://x\x1b\\" + answer, want{Result: "ok"}},
		{"charset, keypad, save", "\x1b(B\x1b=\x1b7\x07" + answer, want{Result: "ok"}},
		{"device string", "\x1bP+q544e\x1b\\" + answer, want{Result: "ok"}},
		{"escape after the frame", answer + "\x1b[0m", want{Result: "ok"}},
		{"only an escape", "\x1b[0m\n" + answer, want{Result: "ok"}},
		{"array", "[" + note + "," + answer + "]", want{Run: []string{"notify/a [1]"}, Result: "ok"}},
		{"array with noise", "[" + note + ",17," + answer + "]", want{Run: []string{"notify/a [1]"}, Result: "ok", Noise: 1}},
		{"array that is cut", "[" + note + "," + answer, want{Noise: 1}},
		{"empty array", "[]", want{Noise: 1}},
		{"array of arrays", "[[" + note + "]]", want{Noise: 1}},
		{"log with brackets", "[INFO] starting", want{Noise: 1}},
		{"text", "hello\n" + answer, want{Noise: 1, Result: "ok"}},
		{"text before a frame", "ready " + answer, want{Noise: 1}},
		{"a prompt before a frame", "> " + answer, want{Noise: 1}},
		{"text after a frame", note + " done\n" + answer, want{Noise: 1, Result: "ok"}},
		{"frames on a line", note + note + answer, want{Run: []string{"notify/a [1]", "notify/a [1]"}, Result: "ok"}},
		{"frames with blanks and escapes between", note + " \r\x1b[0m\t" + answer + " ", want{Run: []string{"notify/a [1]"}, Result: "ok"}},
		{"frames on a line, their line ends after them", note + note + "\n\n" + answer, want{Run: []string{"notify/a [1]", "notify/a [1]"}, Result: "ok"}},
		{"a reply twice on a line", answer + answer, want{Result: "ok", Strays: 1}},
		{"requests on a line", `{"jsonrpc":"2.0","id":"a","method":"ask/a"}{"jsonrpc":"2.0","id":"b","method":"ask/a"}`, want{Served: []string{`ask/a  "a"`, `ask/a  "b"`}}},
		{"a frame and half of one", note + answer[:20] + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"a log object before a frame", `{"level":"debug","msg":"sent"} {"jsonrpc":"2.0","id":1,"result":"no"}` + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"a log object after a frame", `{"jsonrpc":"2.0","id":1,"result":"no"} {"took":3}` + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"a frame before an array", note + "[" + answer + "]\n" + answer, want{Noise: 1, Result: "ok"}},
		{"pretty-printed", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": 1\n}", want{Noise: 5}},
		{"invalid UTF-8", `{"jsonrpc":"2.0","id":1,"result":"a` + "\xff\xfe" + `b"}`, want{Result: "a\ufffd\ufffdb"}},
		{"lone surrogate", `{"jsonrpc":"2.0","id":1,"result":"\ud800"}`, want{Result: "\ufffd"}},
		{"duplicate members", `{"jsonrpc":"2.0","id":7,"id":1,"result":1,"result":"ok"}`, want{Result: "ok"}},
		{"white space", ` { "jsonrpc" : "2.0" , "id" : 1 , "result" : "ok" } `, want{Result: "ok"}},
		{"escaped names", `{"jsonrpc":"2.0","\u0069d":1,"result":"ok"}`, want{Result: "ok"}},
		{"other order, more members", `{"x":{"id":2},"result":"ok","id":1}`, want{Result: "ok"}},
		{"noise that nests too deep", strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"control character", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\tb\"}", want{Noise: 1}},

		{"id as string", `{"jsonrpc":"2.0","id":"1","result":"ok"}`, want{Result: "ok"}},
		{"id as float", `{"jsonrpc":"2.0","id":1.0,"result":"ok"}`, want{Result: "ok"}},
		{"id as exponent", `{"jsonrpc":"2.0","id":10e-1,"result":"ok"}`, want{Result: "ok"}},
		{"id as float in a string", `{"jsonrpc":"2.0","id":"1.0","result":"ok"}`, want{Result: "ok"}},
		{"log with our id", `{"level":"info","id":1,"msg":"x"}` + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"log with our id and an error text", `{"level":"error","id":1,"error":"no route"}` + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"null error", `{"jsonrpc":"2.0","id":1,"error":null,"result":"ok"}`, want{Result: "ok"}},
		{"only a null error", `{"jsonrpc":"2.0","id":1,"error":null}` + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"error and null result", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"bad"},"result":null}`, want{Result: "error -1: bad"}},
		{"error and result", `{"jsonrpc":"2.0","id":1,"result":"ok","error":{"code":-1,"message":"bad"}}`, want{Result: "error -1: bad"}},
		{"null result", `{"jsonrpc":"2.0","id":1,"result":null}`, want{Result: "null"}},
		{"error as text", `{"jsonrpc":"2.0","id":1,"error":"bad"}`, want{Result: "error -32603: bad"}},
		{"odd error", `{"jsonrpc":"2.0","id":1,"error":{"code":"401","message":["a"]}}`, want{Result: `error 401: ["a"]`}},
		{"empty error", `{"jsonrpc":"2.0","id":1,"error":{}}`, want{Result: "error -32603: "}},
		{"all members", `{"jsonrpc":"2.0","id":1,"method":"","params":null,"result":"ok","error":null}`, want{Result: "ok"}},
		{"request with all members", `{"jsonrpc":"2.0","id":1,"method":"ask/a","params":{},"result":null,"error":null}`, want{Served: []string{"ask/a {} 1"}}},
		{"reply that names the method", `{"jsonrpc":"2.0","id":1,"method":"peer/call","result":"ok"}`, want{Result: "ok"}},
		{"duplicate and stray", answer + "\n" + answer + "\n" + `{"jsonrpc":"2.0","id":99,"result":1}` + "\n" + `{"jsonrpc":"2.0","id":"uuid","result":1}`,
			want{Result: "ok", Strays: 3}},
		{"error without an id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}` + "\n" + `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`,
			want{Strays: 2}},
		{"result without an id", `{"result":17}`, want{Noise: 1}},

		{"notification", note, want{Run: []string{"notify/a [1]"}}},
		{"notification with null id", `{"jsonrpc":"2.0","method":"notify/a","id":null}`, want{Run: []string{"notify/a "}}},
		{"notification as request", `{"jsonrpc":"2.0","method":"notify/a","id":5}`, want{Run: []string{"notify/a "}}},
		{"unknown notification", `{"jsonrpc":"2.0","method":"vendor/x"}`, want{Run: []string{"vendor/x "}}},
		{"log with a method", `{"level":"info","method":"GET","path":"/"}` + "\n" + `{"method":"GET","id":3}`, want{Noise: 2}},
		{"known method without version", `{"method":"notify/a"}` + "\n" + `{"id":"q","method":"ask/a"}`, want{Run: []string{"notify/a "}, Served: []string{`ask/a  "q"`}}},
		{"method that is no string", `{"jsonrpc":"2.0","method":7}`, want{Noise: 1}},
		{"our id in a request", `{"jsonrpc":"2.0","id":1,"method":"ask/a"}` + "\n" + answer, want{Served: []string{"ask/a  1"}, Result: "ok"}},
		{"object without anything", `{}`, want{Noise: 1}},

		{"byte order marks within", note + "\n\ufeff\n\ufeff" + answer, want{Run: []string{"notify/a [1]"}, Result: "ok"}},
		{"UTF-16", utf16(answer) + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"NUL bytes between frames", "\x00" + note + "\x00\n\x00\x00\n" + answer, want{Run: []string{"notify/a [1]"}, Result: "ok"}},
		{"NUL byte within a frame", `{"jsonrpc":"2.0",` + "\x00" + `"id":1,"result":"no"}` + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"carriage returns around frames", "\r\r" + note + "\r\r\n\r" + answer + "\r", want{Run: []string{"notify/a [1]"}, Result: "ok"}},
		{"carriage returns within a frame", strings.ReplaceAll(answer, ",", "\r,\r"), want{Result: "ok"}},
		{"carriage return within a string", `{"jsonrpc":"2.0","id":1,"result":"a` + "\r" + `b"}` + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"compressed", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff{\n" + answer, want{Noise: 1, Result: "ok"}},
		{"an error page", "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<html>{\"id\":1,\"result\":2}</html>\r\n" + answer, want{Noise: 3, Result: "ok"}},
		{"headers before frames", "Content-Length: 50\r\n\r\n" + note + "\nContent-Length: 38\r\n\r\n" + answer, want{Run: []string{"notify/a [1]"}, Noise: 2, Result: "ok"}},
		{"server-sent events", "event: message\ndata: " + note + "\n\n" + answer, want{Noise: 2, Result: "ok"}},
		{"an escape that does not end", "\x1b]0;title " + note + "\n" + answer, want{Result: "ok"}},
		{"half a frame, then a whole one", answer[:20] + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"half a frame at the end", note + "\n" + answer[:len(answer)-1], want{Run: []string{"notify/a [1]"}, Noise: 1}},
		{"members in another case", `{"JSONRPC":"2.0","ID":1,"RESULT":"no"}` + "\n" + answer, want{Noise: 1, Result: "ok"}},
		{"method in another case", `{"jsonrpc":"2.0","id":"q","method":"ASK/a"}` + "\n" + answer, want{Served: []string{`ASK/a  "q"`}, Result: "ok"}},
		{"huge ids", `{"jsonrpc":"2.0","id":1e999,"result":1}` + "\n" + `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 400) + `,"result":1}` + "\n" + `{"jsonrpc":"2.0","id":18446744073709551617,"result":1}` + "\n" + answer, want{Strays: 3, Result: "ok"}},
		{"negative id", `{"jsonrpc":"2.0","id":-1,"result":1}` + "\n" + `{"jsonrpc":"2.0","id":0,"result":1}` + "\n" + answer, want{Strays: 2, Result: "ok"}},
		{"reply with an odd id", `{"jsonrpc":"2.0","id":[1],"result":1}` + "\n" + `{"jsonrpc":"2.0","id":{"id":1},"result":1}` + "\n" + `{"jsonrpc":"2.0","id":true,"result":1}` + "\n" + answer, want{Strays: 3, Result: "ok"}},
		{"request with an odd id", `{"jsonrpc":"2.0","id":[1],"method":"ask/a"}` + "\n" + `{"jsonrpc":"2.0","id":{},"method":"ask/a"}` + "\n" + answer, want{Served: []string{"ask/a  [1]", "ask/a  {}"}, Result: "ok"}},
		{"the last of several ids counts", `{"jsonrpc":"2.0","id":1,"id":99,"result":1}` + "\n" + answer, want{Strays: 1, Result: "ok"}},
		{"the last of several methods counts", `{"jsonrpc":"2.0","method":"ask/a","method":"notify/a"}` + "\n" + answer, want{Run: []string{"notify/a "}, Result: "ok"}},
		{"array with several replies", "[" + answer + "," + answer + `,{"jsonrpc":"2.0","id":"q","method":"ask/a"}]`, want{Served: []string{`ask/a  "q"`}, Result: "ok", Strays: 1}},
		{"array within an array", "[" + note + ",[" + answer + "]]\n" + answer, want{Run: []string{"notify/a [1]"}, Noise: 1, Result: "ok"}},
		{"array, pretty-printed", "[\n" + note + ",\n" + answer + "\n]", want{Noise: 3, Result: "ok"}},
		{"array with white space", " [ " + note + " , " + answer + " ] ", want{Run: []string{"notify/a [1]"}, Result: "ok"}},
		{"lone surrogates in names", `{"jsonrpc":"2.0","\ud800":1,"id":1,"result":"\udc00\ud800x"}`, want{Result: "\ufffd\ufffdx"}},
		{"overlong and surrogate bytes", `{"jsonrpc":"2.0","id":1,"result":"` + "\xc0\xaf\xed\xa0\x80" + `"}`, want{Result: strings.Repeat("\ufffd", 5)}},
	} {
		for how, size := range map[string]int{"": len(tt.text) + 1, " in pieces": 1 + len(tt.text)/100} {
			t.Run(tt.name+how, func(t *testing.T) {
				var ran, served log
				p := dial(t, &hooks{
					run:   func(_ context.Context, method, params string) { ran.add("%s %s", method, params) },
					serve: func(r *Request) (any, error) { served.add("%s %s %s", r.Method, r.Params, r.id); return nil, nil },
				}, nil)
				call := p.call(t.Context(), "peer/call")
				p.read()
				answers := make(chan struct{})
				go func() {
					defer close(answers)
					for {
						if _, err := p.got.ReadString('\n'); err != nil {
							return
						}
					}
				}()
				for piece := range slices.Chunk([]byte(tt.text), size) {
					if _, err := p.out.Write(piece); err != nil {
						t.Fatal(err)
					}
				}
				p.out.Close()
				var got want
				text, err := p.result(call)
				switch e := err.(type) {
				case nil:
					got.Result = text
					if text[0] == '"' {
						got.Result = Unquote([]byte(text))
					}
				case *Error:
					got.Result = e.Error()
				}
				p.wait(p.conn.Done(), "end of the reading")
				eventually(t, "all is served", func() bool { return p.conn.Stats().Open == 0 })
				s := p.conn.Stats()
				got.Run, got.Served = ran.all(), served.all()
				slices.Sort(got.Served) // they are served at once
				got.Noise, got.Strays, got.Dropped = s.NoiseLines, s.Late+s.Duplicate+s.Stray, s.Dropped
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				p.in.Close()
				p.wait(answers, "end of the answers")
			})
		}
	}
}

// utf16 writes ASCII text in UTF-16.
func utf16(text string) string {
	return "\xff\xfe" + strings.Join(strings.Split(text, ""), "\x00") + "\x00"
}

func TestOurID(t *testing.T) {
	for raw, want := range map[string]int64{
		`0`: 0, `7`: 7, `"7"`: 7, `7.0`: 7, `"7.00"`: 7, `70e-1`: 7, `7e0`: 7, `0.7E1`: 7, `9007199254740993`: 9007199254740993,
	} {
		if got, ok := ourID([]byte(raw)); !ok || got != want {
			t.Errorf("%s: %d, %v, want %d", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `-7`, `7.5`, `"x"`, `""`, `null`, `true`, `[7]`, `{"a":7}`, `"0x7"`, `1e300`, `"+7"`, `" 7"`, `"1_0"`} {
		if got, ok := ourID([]byte(raw)); ok {
			t.Errorf("%s: %d, want none", raw, got)
		}
	}
}
