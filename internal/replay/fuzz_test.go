package replay

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client/transcript"
)

// Whatever was recorded and whatever comes, the replay ends when its stdin has, and what it
// writes are lines. This is Serve without its goroutines: with them an input never covers
// the same twice.
func FuzzServe(f *testing.F) {
	turn := opening + prompt3 + askAllow + "> 7 = {}\n< ~noise\n2 stderr\n< " + update("a") + "> session/cancel {\"sessionId\":\"s\"}\n< 3 = {}\n"
	const closing = "> 4 session/close {\"sessionId\":\"s\"}\n< 4 = {}\n"
	for _, lines := range []string{
		turn + "end 0 eof", opening, "", turn + "\n" + turn, turn + closing + "2 bye\nend 3 close",
		opening + prompt3 + "< " + update("half") + "end SIGSEGV exit",
		opening + prompt3 + "< 8 terminal/create {\"sessionId\":\"s\"}\n> 8 = {\"terminalId\":\"$terminal-1\"}\n< 9 terminal/output {\"terminalId\":\"$terminal-1\"}\n> 9 ! {}\n< 3 = {}\nend 0 eof",
	} {
		tr, live := &transcript.Transcript{}, ""
		for line := range strings.Lines(lines) {
			kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			text, noise := strings.CutPrefix(rest, "~")
			switch {
			case kind == ">":
				live += brief(rest) + "\n"
				tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromClient, Frame: []byte(brief(rest))})
			case kind == "<" && noise:
				tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromAgent, Text: text, Bytes: 100})
			case kind == "<":
				tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromAgent, Frame: []byte(brief(rest))})
			case kind == "2":
				tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromStderr, Text: rest})
			case kind == "end":
				how, rung, _ := strings.Cut(rest, " ")
				tr.Entries = append(tr.Entries, transcript.Entry{End: &transcript.End{Signal: &how, Rung: rung}})
			}
		}
		var recorded bytes.Buffer
		if _, err := tr.WriteTo(&recorded); err != nil {
			f.Fatal(err)
		}
		f.Add(recorded.String(), live, true)
		f.Add(recorded.String(), live, false)
	}
	f.Fuzz(func(t *testing.T, recorded, live string, lenient bool) {
		all, _ := transcript.Read(strings.NewReader(recorded))
		if len(all) == 0 {
			return
		}
		for _, e := range all[0].Entries {
			if e.Bytes > 1<<20 {
				return // it is filled up to that length
			}
		}
		said, r := play(all[0], lenient, strings.Split(live, "\n"))
		if said != "" && !strings.HasSuffix(said, "\n") {
			t.Errorf("the end of %q", said)
		}
		if !r.over && !r.isDeaf() {
			t.Error("it goes on when stdin has ended")
		}
	})
}

// play has the agent of a recording hear these lines, and the end of its stdin.
func play(tr *transcript.Transcript, lenient bool, lines []string) (said string, r *run) {
	var out bytes.Buffer
	o := newOutput(&out, io.Discard)
	r = newRun(tr, lenient, o)
	r.advance()
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" && !r.over {
			r.line([]byte(line))
		}
	}
	if !r.over {
		r.eof()
	}
	o.stop()
	o.write()
	return out.String(), r
}
