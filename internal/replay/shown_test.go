package replay

import (
	"strings"
	"testing"
)

// Names that the parent chose are shown like its words: nothing in them is obeyed by a
// terminal, and none fills it.
func TestNamesAreShown(t *testing.T) {
	const evil = `\u001b]0;x\u0007\u202e`
	long := strings.Repeat("é", 1e6)
	for _, tt := range []struct{ name, line, want string }{
		{"a method", `> {"jsonrpc":"2.0","id":1,"method":"` + evil + `"}`, `\u{1b}]0;x\u{7}\u{202e} came where`},
		{"a notification", `> {"jsonrpc":"2.0","method":"` + evil + `"}`, `the notification \u{1b}]0;x\u{7}\u{202e} came where`},
		{"a key", `> 1 initialize {"protocolVersion":1,"` + evil + `\n":1}`, `at params.\u{1b}]0;x\u{7}\u{202e}\u{a}: recorded nothing, got 1`},
		{"an id", `> {"jsonrpc":"2.0","id":"` + evil + `","result":{}}`, `with the id "\u001b]0;x\u0007\u202e"`},
		{"a long method", `> {"jsonrpc":"2.0","id":1,"method":"` + long + `"}`, "ééé came where"},
		{"a long key", `> 1 initialize {"protocolVersion":1,"` + long + `":1}`, "ééé: recorded nothing, got 1"},
		{"a long id", `> {"jsonrpc":"2.0","id":` + strings.Repeat("9", 1e6) + `,"result":{}}`, "with the id 999"},
		{"a deep place", `> 1 initialize {"protocolVersion":1,"clientCapabilities":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + "}", "at params.clientCapabilities: recorded nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := serve(t, recording(t, opening+"end 0 eof"), Options{})
			l.converse(tt.line)
			d := l.difference()
			if !strings.Contains(d.Text, tt.want) || len(d.Text) > 1500 || strings.ContainsAny(d.Text, "\x1b\a\n\u202e\ufffd") {
				t.Errorf("%d bytes: %.2000q\nwant %q", len(d.Text), d.Text, tt.want)
			}
			if got := l.stderr.String(); got != "errand replay: "+d.Text+"\n" {
				t.Errorf("stderr %q", got)
			}
		})
	}
	t.Run("what was recorded", func(t *testing.T) {
		l := serve(t, recording(t, "> "+`{"jsonrpc":"2.0","id":1,"method":"`+evil+long+`"}`+"\nend 0 eof"), Options{})
		l.converse("> 1 initialize {}")
		if d := l.difference(); !strings.Contains(d.Text, `where the recording has \u{1b}]0;x\u{7}\u{202e}é`) || len(d.Text) > 1500 {
			t.Errorf("%d bytes: %.2000q", len(d.Text), d.Text)
		}
	})
	t.Run("lenient", func(t *testing.T) {
		l := serve(t, recording(t, opening+"end 0 eof"), Options{Lenient: true})
		l.converse(`> {"jsonrpc":"2.0","id":1,"method":"` + evil + `"}
			< 1 ! {"code":-32601,"message":"errand replay: the recording has no \\u{1b}]0;x\\u{7}\\u{202e}"}
			eof
			end 0`)
	})
}
