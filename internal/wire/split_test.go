package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	const one, two = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"m"}`
	tests := []struct {
		name, line string
		want       []string
	}{
		{"nothing", "", nil},
		{"blanks", " \t\r", nil},
		{"one", one, []string{one}},
		{"CRLF", one + "\r", []string{one}},
		{"a byte order mark", "\ufeff" + one, []string{one}},
		{"an escape sequence", "\x1b[2K" + one, []string{one}},
		{"white space inside stays", `{ "id" : 1 }`, []string{`{ "id" : 1 }`}},
		{"a log line", `{"level":"info"}`, []string{`{"level":"info"}`}},
		{"an array", "[" + one + "," + two + "]", []string{"[" + one + "," + two + "]"}},
		{"several", one + two + " " + one, []string{one, two, one}},
		{"several, not all of them frames", one + `{"level":"info"}`, nil},
		{"something behind it", one + " done", nil},
		{"something before it", "done " + one, nil},
		{"cut", one[:len(one)-1], nil},
		{"a number", "12", nil},
		{"a string", `"x"`, nil},
		{"not UTF-8", "{\"a\":\"\xff\"}", []string{"{\"a\":\"\xff\"}"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range Split([]byte(tt.line)) {
				got = append(got, string(f))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
