package replay

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client/transcript"
)

// Whatever was recorded and whatever comes, the replay ends when its stdin has, and what it
// writes are lines.
func FuzzServe(f *testing.F) {
	turn := opening + prompt3 + askAllow + "> 7 = {}\n< ~noise\n2 stderr\n< " + update("a") + "> session/cancel {\"sessionId\":\"s\"}\n< 3 = {}\nend 0 eof"
	for _, lines := range []string{turn, opening, "", turn + "\n" + turn} {
		var recorded bytes.Buffer
		tr := &transcript.Transcript{}
		var live strings.Builder
		for line := range strings.Lines(lines) {
			line = strings.TrimSpace(line)
			if frame, ok := strings.CutPrefix(line, "> "); ok {
				tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromClient, Frame: []byte(brief(frame))})
				live.WriteString(brief(frame) + "\n")
			} else if frame, ok := strings.CutPrefix(line, "< "); ok && frame[0] != '~' {
				tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromAgent, Frame: []byte(brief(frame))})
			}
		}
		if _, err := tr.WriteTo(&recorded); err != nil {
			f.Fatal(err)
		}
		f.Add(recorded.String(), live.String(), true)
		f.Add(recorded.String(), live.String(), false)
	}
	f.Fuzz(func(t *testing.T, recorded, live string, lenient bool) {
		all, _ := transcript.Read(strings.NewReader(recorded))
		if len(all) == 0 || newRun(all[0], lenient, nil).isDeaf() {
			return
		}
		var out bytes.Buffer
		_, _ = New(all[0], Options{Lenient: lenient}).Serve(t.Context(), strings.NewReader(live), &out, io.Discard)
		if out.Len() > 0 && out.Bytes()[out.Len()-1] != '\n' {
			t.Errorf("the end of %q", out.String())
		}
	})
}
