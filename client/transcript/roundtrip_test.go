package transcript_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
)

// roundTrip returns what is read of what a Writer wrote.
func roundTrip(t *testing.T, h transcript.Header, entries ...transcript.Entry) *transcript.Transcript {
	t.Helper()
	var b bytes.Buffer
	w := transcript.NewWriter(&b)
	w.Begin(h)
	for _, e := range entries {
		w.Add(e)
	}
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
	all, err := transcript.Read(&b)
	if err != nil || len(all) != 1 || len(all[0].Entries) != len(entries) {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	return all[0]
}

// Nobody can read a line from nobody, or of a version that is not ours: it is told, and
// what is before it can be read.
func TestWriterRefuses(t *testing.T) {
	for name, write := range map[string]func(w *transcript.Writer){
		"from nobody":     func(w *transcript.Writer) { w.Add(transcript.Entry{Text: "x"}) },
		"from anybody":    func(w *transcript.Writer) { w.Add(transcript.Entry{From: "me", Frame: json.RawMessage(`{}`)}) },
		"another version": func(w *transcript.Writer) { w.Begin(transcript.Header{Version: 7}) },
		"a negative one":  func(w *transcript.Writer) { w.Begin(transcript.Header{Version: -1}) },
		"a transcript that has one": func(w *transcript.Writer) {
			_, err := (&transcript.Transcript{Entries: []transcript.Entry{{}}}).WriteTo(new(bytes.Buffer))
			w.Fail(err)
		},
		"a transcript of another version": func(w *transcript.Writer) {
			_, err := (&transcript.Transcript{Header: transcript.Header{Version: 2}}).WriteTo(new(bytes.Buffer))
			w.Fail(err)
		},
	} {
		var b bytes.Buffer
		w := transcript.NewWriter(&b)
		w.Begin(transcript.Header{})
		w.Add(transcript.Entry{From: transcript.FromAgent, Text: "before"})
		write(w)
		w.Add(transcript.Entry{From: transcript.FromAgent, Text: "after"})
		all, err := transcript.Read(&b)
		if w.Err() == nil || err != nil || len(all) != 1 || len(all[0].Entries) != 1 {
			t.Errorf("%s: error %v; read: %d, %v", name, w.Err(), len(all), err)
		}
	}
}

// Whatever is added can be read, and says the same.
func FuzzWriter(f *testing.F) {
	f.Add("agent", int64(8_235_000), []byte(`{"id":1}`), "", int64(0), int64(0), byte(0))
	f.Add("stderr", int64(math.MaxInt64), []byte(""), "a\x1b\xff\u2028", int64(-7), int64(math.MaxInt64), byte(0))
	f.Add("client", int64(math.MinInt64), []byte("{\"a\":\"\xff\n\u2028\"\n}"), "x", int64(70000), int64(math.MinInt64), byte(2))
	f.Add("", int64(-1), []byte("[[[["), "EXIT\xff", int64(math.MaxInt64), int64(253402300800), byte(1))
	f.Add("agent", int64(1), bytes.Repeat([]byte("[]"), 9_999), "", int64(0), int64(-62135596801), byte(0))
	f.Add("agent", int64(1), nested(9_999), "", int64(0), int64(-62135596801), byte(0))
	f.Add("agent", int64(1), nested(10_000), "", int64(0), int64(0), byte(0))
	f.Fuzz(func(t *testing.T, from string, at int64, frame []byte, text string, size, started int64, kind byte) {
		e := transcript.Entry{At: time.Duration(at), From: transcript.From(from), Frame: frame, Text: text, Bytes: size}
		if kind == 1 {
			code := int(size)
			e.End = &transcript.End{Code: &code, Signal: &text, Rung: from}
		}
		h := transcript.Header{StartedAt: time.Unix(started, at), RunID: text, Client: transcript.Peer{Name: from}, Command: []string{text, string(frame)}, Dir: text, Normalized: []string{from}}
		if kind == 2 {
			h.StartedAt = h.StartedAt.In(time.FixedZone("", int(size%200_000)))
		}
		var b bytes.Buffer
		w := transcript.NewWriter(&b)
		w.Begin(h)
		w.Add(e)
		known := e.End != nil || e.From == transcript.FromAgent || e.From == transcript.FromClient || e.From == transcript.FromStderr
		if known != (w.Err() == nil) {
			t.Fatalf("from %q: %v", from, w.Err())
		}
		lines := b.String()
		all, err := transcript.Read(&b)
		if err != nil || len(all) != 1 || known != (len(all[0].Entries) == 1) {
			t.Fatalf("%d conversations, %v in %q", len(all), err, lines)
		}
		var again bytes.Buffer
		if _, err := all[0].WriteTo(&again); err != nil {
			t.Error(err)
		}
		twice, err := transcript.Read(&again)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(all, twice); diff != "" {
			t.Errorf("written twice (-first +second):\n%s", diff)
		}
		if !known {
			return
		}
		back := all[0].Entries[0]
		if e.End == nil && transcript.IsFrame(frame) != (back.Frame != nil) {
			t.Errorf("IsFrame(%q) is %v", frame, transcript.IsFrame(frame))
		}
	})
}

func nested(depth int) []byte {
	return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
}
