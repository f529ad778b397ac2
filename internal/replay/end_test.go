package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client/transcript"
)

func TestEnds(t *testing.T) {
	twelve := strings.Replace(prompt3, "> 3", "> 12", 1)
	tests := []struct {
		name, recorded, live string
		signal               string
	}{
		{"a crash in the middle of a turn", opening + prompt3 + "< " + update("half") + "2 panic: oh\nend 2 exit", hello + twelve + "< " + update("half") + "end 2\nstderr panic: oh", ""},
		{"a signal in the middle of a turn", opening + prompt3 + "< " + update("half") + "end SIGSEGV exit", hello + twelve + "< " + update("half") + "end 139", "SIGSEGV"},
		{"by itself at once", "2 no such flag\nend 64 exit", "end 64\nstderr no such flag", ""},
		{"by itself after a cancel", opening + prompt3 + "> session/cancel {\"sessionId\":\"s\"}\nend 7 cancel", hello + twelve + "> session/cancel {\"sessionId\":\"s\"}\nend 7", ""},
		{"by itself after session/close", opening + "> 3 session/close {\"sessionId\":\"s\"}\n< 3 = {}\nend 0 close", hello + "> 12 session/close {\"sessionId\":\"s\"}\n< 12 = {}\nend 0", ""},
		{"stdin, in the middle of a turn", opening + prompt3 + "< " + update("half") + "end 9 eof", hello + twelve + "< " + update("half") + "eof\nend 9", ""},
		{"deaf until SIGTERM, with a status of its own", opening + "end 3 sigterm", hello + "eof\nstop\nend 3", ""},
		{"deaf until SIGTERM", opening + "end SIGTERM sigterm", hello + "eof\nstop\nend 143", "SIGTERM"},
		{"deaf until SIGKILL", opening + "end SIGKILL sigkill", hello + "eof\nstop\nend 137", "SIGKILL"},
		{"cut off between turns", opening, hello + "eof\nend 0", ""},
		{"cut off in a turn", opening + prompt3 + "< " + update("half"), hello + twelve + "< " + update("half") + `< 12 ! {"code":-32603,"message":"errand replay: the recording was cut off here"}
			eof
			end 0`, ""},
		{"cut off while it asked", opening + prompt3 + askAllow, hello + twelve + askAllow + `< 12 ! {"code":-32603,"message":"errand replay: the recording was cut off here"}
			> 7 = {"outcome":"any"}
			eof
			end 0`, ""},
		{"nothing recorded", "", "eof\nend 0", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := serve(t, recording(t, tt.recorded), Options{})
			l.converse(tt.live)
			killed, ok := errors.AsType[*SignalError](l.err)
			if ok != (tt.signal != "") || ok && killed.Signal != tt.signal {
				t.Errorf("error %v, want signal %q", l.err, tt.signal)
			}
		})
	}
}

// The end of the context is the end, whatever is under way.
func TestContextEnds(t *testing.T) {
	many := opening + prompt3 + strings.Repeat("< "+update("x"), 1000) + "end 0 eof"
	l := serve(t, recording(t, many), Options{})
	// Nobody reads what it says.
	l.converse(hello + strings.Replace(prompt3, "> 3", "> 12", 1) + "< " + update("x") + "stop")
	<-l.ended
	if l.status != 1 || !errors.Is(l.err, context.Canceled) {
		t.Errorf("status %d, %v", l.status, l.err)
	}
}

// A parent that does not read is heard all the same, and one that reads no more is told
// from one that is slow.
func TestParentThatDoesNotRead(t *testing.T) {
	many := opening + prompt3 + strings.Repeat("< "+update("x"), 1000) + "> session/cancel {\"sessionId\":\"s\"}\n< 3 = {}\nend 0 eof"
	l := serve(t, recording(t, many), Options{})
	l.converse(hello + strings.Replace(prompt3, "> 3", "> 12", 1) + "> session/cancel {\"sessionId\":\"s\"}\neof")
	l.converse(strings.Repeat("< "+update("x"), 1000) + "< 12 = {}\nend 0")

	l = serve(t, recording(t, many), Options{})
	l.converse(hello)
	l.outEnd.CloseWithError(io.ErrClosedPipe)
	l.converse(strings.Replace(prompt3, "> 3", "> 12", 1))
	<-l.ended
	if l.status != 1 || !errors.Is(l.err, io.ErrClosedPipe) {
		t.Errorf("status %d, %v", l.status, l.err)
	}
}

// A long recording is said as fast as it is read.
func TestManyUpdates(t *testing.T) {
	const n = 20_000
	tr := recording(t, opening+prompt3)
	for i := range n {
		tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromAgent, Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%d}}`, i)})
	}
	tr.Entries = append(tr.Entries, recording(t, "< 3 = {}\nend 0 eof").Entries...)
	tr.Cut = false
	for _, o := range []Options{{}, {Lenient: true}} {
		l := serve(t, tr, o)
		l.converse(hello + strings.Replace(prompt3, "> 3", "> 12", 1))
		for i := range n {
			line, err := l.out.ReadString('\n')
			if want := fmt.Sprintf(`"update":%d}}`+"\n", i); err != nil || !strings.HasSuffix(line, want) {
				t.Fatalf("%q, %v; want %q", line, err, want)
			}
		}
		l.converse("< 12 = {}\neof\nend 0")
	}
}

// A line that was too long for the recording is as long again.
func TestLongLine(t *testing.T) {
	tr := recording(t, "< ~begins\nend 0 eof")
	tr.Entries[0].Bytes = 300_000
	l := serve(t, tr, Options{})
	line, err := l.out.ReadString('\n')
	if err != nil || len(line) != 300_001 || !strings.HasPrefix(line, "begins ") {
		t.Errorf("%d bytes: %.20q, %v", len(line), line, err)
	}
	l.converse("eof\nend 0")
}
