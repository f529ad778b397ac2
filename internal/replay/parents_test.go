package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Parents say the same in more than one way, and not all of them say goodbye.

// What a client is able to is compared by what it means: what is not said, null and false
// are no, and so is an empty object where the schema has one by default, but not where one
// says yes.
func TestCapabilities(t *testing.T) {
	same := []string{
		``,
		`"clientCapabilities":null`,
		`"clientCapabilities":{}`,
		`"clientCapabilities":{"auth":{},"fs":{}}`,
		`"clientCapabilities":{"auth":null,"fs":{"readTextFile":false,"writeTextFile":null},"terminal":false,"elicitation":null}`,
		`"clientCapabilities":{"auth":{"terminal":false},"fs":{"_meta":{"a":1}},"vendor":false}`,
	}
	for _, recorded := range same {
		for _, live := range same {
			initializes(t, recorded, live, "")
		}
	}
	const able = `"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":true,"elicitation":{"form":{}}}`
	initializes(t, able, `"clientCapabilities":{"terminal":true,"fs":{"readTextFile":true},"auth":{},"elicitation":{"form":{},"url":null}}`, "")
	for _, tt := range []struct{ recorded, live, want string }{
		{able, ``, `at params.clientCapabilities: recorded {"elicitation"`},
		{``, able, `at params.clientCapabilities: recorded nothing, got {"elicitation"`},
		{able, strings.Replace(able, `"terminal":true`, `"terminal":false`, 1), `at params.clientCapabilities.terminal: recorded true, got false`},
		{able, strings.Replace(able, `"readTextFile":true,`, ``, 1), `at params.clientCapabilities.fs.readTextFile: recorded true, got nothing`},
		{able, strings.Replace(able, `"form":{}`, ``, 1), `at params.clientCapabilities.elicitation.form: recorded {}, got nothing`},
		{``, `"clientCapabilities":{"planCapabilities":{}}`, `at params.clientCapabilities: recorded nothing, got {"planCapabilities":{}}`},
		{`"clientCapabilities":{"auth":{}}`, `"clientCapabilities":{"fs":{},"planCapabilities":{}}`, `at params.clientCapabilities.planCapabilities: recorded nothing, got {}`},
		{``, `"clientInfo":{"name":"x"},"vendor":false`, `at params.vendor: recorded nothing, got false`},
	} {
		initializes(t, tt.recorded, tt.live, tt.want)
	}
}

// initializes has initialize sent with further params than were recorded; want is the
// difference, empty for none.
func initializes(t *testing.T, recorded, live, want string) {
	t.Helper()
	params := func(more string) string { return `{"protocolVersion":1,` + more + `}` }
	if recorded == "" {
		recorded = `"_meta":{}`
	}
	if live == "" {
		live = `"_meta":{}`
	}
	l := serve(t, recording(t, "> 1 initialize "+params(recorded)+"\n< 1 = {}\nend 0 eof"), Options{})
	l.converse("> 7 initialize " + params(live))
	if want == "" {
		l.converse("< 7 = {}\neof\nend 0")
		return
	}
	if d := l.difference(); !strings.Contains(d.Text, want) {
		t.Errorf("got  %s\nwant %s", d.Text, want)
	}
}

// A parent that has played all that the recording has may close stdin without more ado.
func TestGoodbyes(t *testing.T) {
	twelve := strings.Replace(prompt3, "> 3", "> 12", 1)
	turn := opening + prompt3 + "< 3 = {}\n"
	const closing = `> 4 session/close {"sessionId":"s"}
		< ` + `session/update {"sessionId":"s","update":"closing"}
		< 4 = {}
		`
	tests := []struct {
		name, recorded, live string
		want                 string // the difference
	}{
		{"session/close", turn + closing + "2 bye\nend 3 eof", hello + twelve + "< 12 = {}\neof\nend 3\nstderr bye", ""},
		{"session/close, after which it went", turn + closing + "end 0 close", hello + twelve + "< 12 = {}\neof\nend 0", ""},
		{"logout", turn + closing + "> 5 logout {}\n< 5 = {}\nend 0 eof", hello + twelve + "< 12 = {}\neof\nend 0", ""},
		{"the second of them", turn + closing + "> 5 logout {}\n< 5 = {}\nend 0 eof", hello + twelve + `< 12 = {}
			> 13 session/close {"sessionId":"s"}
			< session/update {"sessionId":"s","update":"closing"}
			< 13 = {}
			eof
			end 0`, ""},
		{"an answer that nothing but they came after", opening + prompt3 + askAllow + "< 3 = {}\n> 7 = {}\n" + closing + "end 0 eof", hello + twelve + askAllow + "< 12 = {}\neof\nend 0", ""},
		{"no answer to it was recorded", turn + `> 4 session/close {"sessionId":"s"}` + "\n", hello + twelve + "< 12 = {}\neof\nend 0", ""},
		{"$/cancel_request", turn + "> $/cancel_request {\"requestId\":3}\nend 0 eof", hello + twelve + "< 12 = {}\neof\nend 0", ""},
		{"one that ended a turn", opening + prompt3 + `> 4 session/close {"sessionId":"s"}
			< 3 = {}
			< 4 = {}
			end 0 eof`, hello + twelve + "eof", "stdin ended where the recording has session/close (entry 6)"},
		{"not all was played", turn + closing + `> 5 session/new {}
			< 5 = {}
			end 0 eof`, hello + twelve + "< 12 = {}\neof", "stdin ended where the recording has session/new (entry 10)"},
		{"something else instead", turn + closing + "end 0 eof", hello + twelve + "< 12 = {}\n> 13 session/new {}", "session/new came where the recording has session/close (entry 7)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := serve(t, recording(t, tt.recorded), Options{})
			l.converse(tt.live)
			if tt.want != "" {
				if d := l.difference(); d.Text != tt.want {
					t.Errorf("got  %s\nwant %s", d.Text, tt.want)
				}
			}
		})
	}
	t.Run("lenient", func(t *testing.T) {
		l := serve(t, recording(t, turn+closing+"2 bye\nend 3 eof"), Options{Lenient: true})
		l.converse(hello + twelve + "< 12 = {}\neof\nend 3\nstderr bye")
	})
}

// What differs is told, though nobody reads it and the context ends meanwhile.
func TestDifferenceBeforeTheContextsEnd(t *testing.T) {
	l := serve(t, recording(t, opening+prompt3+"< 3 = {}\nend 0 eof"), Options{})
	l.converse(hello + "> 12 other {}")
	for deadline := time.Now().Add(tooLong); l.stderr.String() == ""; {
		if time.Now().After(deadline) {
			t.Fatal("nothing on stderr")
		}
		time.Sleep(time.Millisecond)
	}
	l.converse("stop") // while the error is being written, which nobody reads
	<-l.ended
	if d, ok := errors.AsType[*Difference](l.err); !ok || l.status != 1 {
		t.Errorf("status %d, %v; want a difference", l.status, l.err)
	} else if want := fmt.Sprintf("errand replay: %s\n", d.Text); l.stderr.String() != want {
		t.Errorf("stderr %q, want %q", l.stderr, want)
	}
}
