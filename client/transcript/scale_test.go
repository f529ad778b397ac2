package transcript_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
)

// allocated returns how many bytes f takes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Twice as many chunks are about twice the work.
func TestMergeIsLinear(t *testing.T) {
	merging := func(n int) uint64 {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = chunk("agent_message_chunk", fmt.Sprintf("word %d ", i))
		}
		in := read(t, lines...)
		return allocated(func() {
			if out := in.Normalize(transcript.Merge()); len(out.Entries) != 1 {
				t.Errorf("%d entries", len(out.Entries))
			}
		})
	}
	if once, twice := merging(4000), merging(8000); twice > 3*once {
		t.Errorf("%d bytes for 4000 chunks, %d for 8000", once, twice)
	}
}

// Ids are looked up, and not looked for one by one in all the text, for which hanging would
// be the word: that took ten minutes. Beside ids that have nothing in common, those are there that begin
// alike, and those that begin one another.
func TestIDsAreLookedUp(t *testing.T) {
	const n = 5_000
	var lines []string
	add := func(id, kind string) {
		lines = append(lines, agent(fmt.Sprintf(`{"method":"session/update","params":{"sessionId":"session-0","update":{"sessionUpdate":"tool_call","toolCallId":%q,"title":%q}}}`,
			id, strings.Repeat("call-"+id+" call "+id+", ", 10)+kind)))
	}
	for i := range n {
		add(fmt.Sprintf("toolu_%06d", i), "alike")
		add(fmt.Sprintf("%08x-%d", uint32(i)*2654435761, i), "different")
	}
	for i := range 200 {
		add("aaaaaaaa"+strings.Repeat(" a", i), "nested")
	}
	begun := time.Now()
	got := read(t, lines...).Normalize(transcript.IDs()).Entries[2*n-1].Frame
	if took := time.Since(begun); took > 2*time.Minute {
		t.Errorf("it took %v", took)
	}
	want := fmt.Sprintf("$call-%d, call-", 2*n)
	if !strings.Contains(string(got), want) {
		t.Errorf("%s has no %q", got, want)
	}
}

func BenchmarkIDs(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := &transcript.Transcript{}
			for i := range n {
				in.Entries = append(in.Entries, transcript.Entry{From: transcript.FromAgent, Frame: json.RawMessage(fmt.Sprintf(
					`{"method":"session/update","params":{"sessionId":"session-0","update":{"sessionUpdate":"tool_call","toolCallId":"toolu_%06d","title":%q}}}`,
					i, strings.Repeat("a word and a number ", 100)))})
			}
			for b.Loop() {
				in.Normalize(transcript.IDs())
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/id")
		})
	}
}

// A line for people is short, whatever somebody put where a name is expected.
func TestStringIsShort(t *testing.T) {
	long := strings.Repeat("x\u202e", 300_000)
	in := &transcript.Transcript{Header: transcript.Header{RunID: long, Command: []string{"agent", long}, Dir: "/" + long}}
	for _, frame := range []string{
		`{"id":1,"method":"LONG"}`, `{"id":"LONG","method":"m"}`, `{"id":"LONG","method":"LONG","params":{"a":"LONG"}}`,
		`{"id":{"a":"LONG"},"error":{"message":"LONG"}}`, `{"id":"LONG","result":"LONG"}`, `{"LONG":1}`, `[{"id":"LONG","result":1},{"method":"LONG"}]`,
	} {
		for _, from := range []transcript.From{transcript.FromAgent, transcript.FromClient} {
			in.Entries = append(in.Entries, transcript.Entry{From: from, Frame: json.RawMessage(strings.ReplaceAll(frame, "LONG", long))})
		}
	}
	in.Entries = append(in.Entries, transcript.Entry{From: transcript.FromStderr, Text: long}, transcript.Entry{End: &transcript.End{Signal: &long, Rung: long}})
	for line := range strings.Lines(in.String()) {
		if len(line) > 10_000 {
			t.Errorf("%d bytes: %.200s", len(line), line)
		}
	}
}

// Of an array that has many messages the first are shown, and the answers to all of them are.
func TestStringOfManyMessages(t *testing.T) {
	const n = 2_000
	last := fmt.Sprintf(`,{"id":%d,"method":"last"}]`, n)
	got := read(t, agent("["+strings.Repeat(`{"method":"m"},`, n-2)+`{"method":"m"}`+last), client(fmt.Sprintf(`{"id":%d,"result":1}`, n)), agent("[{},{}]")).String()
	lines := strings.Split(got, "\n")
	want := []string{"     0.000 agent  -> m", "     0.000 agent  -> … and 1980 more", fmt.Sprintf("     0.000 client -> last #%d = 1", n), "     0.000 agent  -> {}", "     0.000 agent  -> {}"}
	if len(lines) != 27 {
		t.Fatalf("%d lines", len(lines))
	}
	if diff := cmp.Diff(want, lines[20:25]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a Writer has written can be read, whatever it was given: one line must not make the
// rest of a recording worthless.
func TestWrittenIsRead(t *testing.T) {
	for _, depth := range []int{9_990, 9_997, 9_998, 9_999, 10_000, 10_001, 20_000} {
		for _, kind := range []string{"[]", "{}"} {
			inner := strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2)
			frame := "[[" + inner + "]]"
			if kind == "{}" {
				frame = `{"params":{"a[[{{":` + inner + `}}`
			}
			got := roundTrip(t, transcript.Header{}, transcript.Entry{From: transcript.FromAgent, Frame: json.RawMessage(frame)})
			if e := got.Entries[0]; string(e.Frame)+e.Text != frame || (e.Frame != nil) != (depth < 10_000) {
				t.Errorf("%s, %d deep: frame %v", kind, depth, e.Frame != nil)
			}
		}
	}
}
