package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/check"
)

const head = `{"transcript":1,"startedAt":"2026-01-02T15:04:05.123456789+01:00","runId":"R","client":{"name":"errand","version":"v1"},"command":["a","<&>"],"dir":"/d"}`

func ptr[T any](v T) *T { return &v }

func TestRead(t *testing.T) {
	started, err := time.Parse(time.RFC3339Nano, "2026-01-02T15:04:05.123456789+01:00")
	if err != nil {
		t.Fatal(err)
	}
	header := transcript.Header{
		Version: 1, StartedAt: started, RunID: "R", Client: transcript.Peer{Name: "errand", Version: "v1"}, Command: []string{"a", "<&>"}, Dir: "/d",
	}
	frame := func(at time.Duration, from transcript.From, text string) transcript.Entry {
		return transcript.Entry{At: at, From: from, Frame: json.RawMessage(text)}
	}
	tests := []struct {
		name, in string
		want     []*transcript.Transcript
		err      string
	}{
		{name: "nothing"},
		{name: "blank lines", in: "\n\r\n  \n"},
		{name: "a header", in: head, want: []*transcript.Transcript{{Header: header, Cut: true}}},
		{
			name: "everything", in: head + `
{"ms":0.512,"from":"client","frame":{ "id" : 1.0 }}
{"ms":7.1,"from":"agent","frame":[{"a":"<&>\u2028"}]}
{"from":"agent","text":"noise \u001b","bytes":70000}
{"ms":8,"from":"stderr","text":""}
{"ms":9.3,"end":{"code":0,"signal":null,"rung":"eof"}}
`,
			want: []*transcript.Transcript{{Header: header, Entries: []transcript.Entry{
				frame(512*time.Microsecond, "client", `{ "id" : 1.0 }`), frame(7100*time.Microsecond, "agent", `[{"a":"<&>\u2028"}]`),
				{From: "agent", Text: "noise \x1b", Bytes: 70000}, {At: 8 * time.Millisecond, From: "stderr"},
				{At: 9300 * time.Microsecond, End: &transcript.End{Code: ptr(0), Rung: "eof"}},
			}}},
		},
		{
			name: "several conversations", in: head + "\n" + `{"end":{"code":null,"signal":"SIGKILL","rung":"sigkill"}}` + "\n" + `{"transcript":1}` + "\n" + head,
			want: []*transcript.Transcript{
				{Header: header, Entries: []transcript.Entry{{End: &transcript.End{Signal: ptr("SIGKILL"), Rung: "sigkill"}}}},
				{Header: transcript.Header{Version: 1}, Cut: true}, {Header: header, Cut: true},
			},
		},
		{
			name: "as another system edits it", in: "\ufeff" + head + "\r\n" + `{"from":"agent","text":"x"}` + "\r\n",
			want: []*transcript.Transcript{{Header: header, Entries: []transcript.Entry{{From: "agent", Text: "x"}}, Cut: true}},
		},
		{
			name: "what nobody knows yet", in: `{"transcript":1,"new":{}}` + "\n" + `{"ms":1,"from":"agent","frame":{},"new":[1]}`,
			want: []*transcript.Transcript{{Header: transcript.Header{Version: 1}, Entries: []transcript.Entry{frame(time.Millisecond, "agent", "{}")}, Cut: true}},
		},
		{
			name: "cut in a line", in: head + "\n" + `{"from":"agent","text":"x"}` + "\n" + `{"ms":1,"from":"agent","fra`,
			want: []*transcript.Transcript{{Header: header, Entries: []transcript.Entry{{From: "agent", Text: "x"}}, Cut: true}},
		},
		{name: "cut in the header", in: head[:30]},
		{name: "a cut line in the middle", in: head + "\n{\"ms\":1,\"fr\n" + head, want: []*transcript.Transcript{{Header: header, Cut: true}}, err: "line 2 of the transcript: unexpected end of JSON input"},
		{name: "no header", in: "\n" + `{"from":"agent","text":"x"}` + "\n", err: `line 2 of the transcript: this is no transcript: no header before it, {"transcript":1,…}`},
		{name: "another version", in: `{"transcript":2}` + "\n", err: "line 1 of the transcript: version 2 of the format, and only 1 is known"},
		{name: "no transcript", in: "hello\n", err: "line 1 of the transcript: this is no transcript: invalid character 'h' looking for beginning of value"},
		{name: "no transcript, without an end of line", in: "hello", err: "line 1 of the transcript: this is no transcript: invalid character 'h' looking for beginning of value"},
		{name: "from nobody", in: head + "\n" + `{"from":"me","text":"x"}` + "\n", err: `line 2 of the transcript: from is "me": not "client", "agent" or "stderr"`},
		{name: "an empty entry", in: head + "\n" + `{"from":"agent","frame":null}` + "\n", err: "line 2 of the transcript: neither frame nor text nor end"},
		{name: "a frame that is none", in: head + "\n" + `{"from":"agent","frame":"x"}` + "\n", err: "line 2 of the transcript: the frame is no object or array"},
		{name: "a time that is none", in: head + "\n" + `{"ms":1e300,"from":"agent","text":"x"}` + "\n", err: "line 2 of the transcript: ms is 1e300"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := transcript.Read(strings.NewReader(tt.in))
			text := ""
			if err != nil {
				text = err.Error()
			}
			check.Equal(t, "error", text, tt.err)
			if tt.err == "" || tt.want != nil {
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good": head + "\n" + `{"from":"agent","text":"x"}` + "\n", "bad": head + "\nx\n", "none": "", "two": head + "\n" + head + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := transcript.ReadFile(filepath.Join(dir, "good"))
	if err != nil || len(got.Entries) != 1 || !got.Cut || got.End() != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for name, want := range map[string]string{
		"bad": "bad:2: invalid character", "none": "none: this is no transcript: no conversation in it", "two": "two: 2 conversations in it, not one", "missing": "missing: ",
	} {
		_, err := transcript.ReadFile(filepath.Join(dir, name))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		check.Has(t, err.Error(), want)
		bad, is := errors.AsType[*transcript.Error](err)
		check.Equal(t, name+": an Error", is, name != "missing")
		if is && (bad.Line != map[string]int{"bad": 2}[name] || bad.File != filepath.Join(dir, name) || errors.Unwrap(bad) == nil) {
			t.Errorf("%+v", bad)
		}
	}
	_, err = transcript.Read(strings.NewReader(`{"transcript":7}` + "\n"))
	if v, ok := errors.AsType[transcript.VersionError](err); !ok || v != 7 {
		t.Errorf("%v, want the version", err)
	}
	broken := errors.New("broken")
	if _, err := transcript.Read(io.MultiReader(strings.NewReader(head+"\n"), readerFunc(func([]byte) (int, error) { return 0, broken }))); !errors.Is(err, broken) {
		t.Errorf("%v, want the reader's error", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A line says what there is, whatever a Writer is given.
func TestWriter(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry transcript.Entry
		want  string
	}{
		{"byte for byte", transcript.Entry{At: time.Microsecond, From: "agent", Frame: json.RawMessage(`{ "a" : 1.0e0, "b":"<\u00e9\/" }`)}, `{"ms":0.001,"from":"agent","frame":{ "a" : 1.0e0, "b":"<\u00e9\/" }}`},
		{"white space around it", transcript.Entry{From: "agent", Frame: json.RawMessage(" {} \r\n")}, `{"from":"agent","frame":{}}`},
		{"several lines", transcript.Entry{From: "agent", Frame: json.RawMessage("{\n  \"a\": \"b c\"\r\n}")}, `{"from":"agent","frame":{"a":"b c"}}`},
		{"not UTF-8", transcript.Entry{From: "agent", Frame: json.RawMessage("{\"a\":\"\xff\xfe\"}")}, "{\"from\":\"agent\",\"frame\":{\"a\":\"\ufffd\ufffd\"}}"},
		{"no JSON", transcript.Entry{From: "agent", Frame: json.RawMessage(`{"id":[redacted]}`)}, `{"from":"agent","text":"{\"id\":[redacted]}"}`},
		{"no frame", transcript.Entry{From: "agent", Frame: json.RawMessage(`12`)}, `{"from":"agent","text":"12"}`},
		{"controls", transcript.Entry{From: "stderr", Text: "a\x1b[31m\u202e\u0085\n<é>"}, `{"from":"stderr","text":"a\u001b[31m\u202e\u0085\n<é>"}`},
		{"cut", transcript.Entry{From: "agent", Text: "x", Bytes: 7}, `{"from":"agent","text":"x","bytes":7}`},
		{"nothing", transcript.Entry{From: "agent"}, `{"from":"agent","text":""}`},
		{"a signal", transcript.Entry{At: 1500 * time.Microsecond, From: "agent", End: &transcript.End{Signal: ptr("SIGKILL"), Rung: "sigkill"}}, `{"ms":1.5,"end":{"code":null,"signal":"SIGKILL","rung":"sigkill"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			w := transcript.NewWriter(&b)
			w.Add(tt.entry)
			if diff := cmp.Diff(tt.want+"\n", b.String()); diff != "" || w.Err() != nil {
				t.Errorf("%v, (-want +got):\n%s", w.Err(), diff)
			}
			text, err := json.Marshal(tt.entry)
			if err != nil || !json.Valid(text) {
				t.Errorf("%v: %s", err, text)
			}
			var back, again transcript.Entry
			if err := errors.Join(json.Unmarshal(text, &back), json.Unmarshal(b.Bytes(), &again)); err != nil {
				t.Error(err)
			}
			check.Equal(t, "kind", back.Text+fmt.Sprint(back.End == nil, back.Frame == nil), again.Text+fmt.Sprint(again.End == nil, again.Frame == nil))
		})
	}
	var h transcript.Header
	if err := json.Unmarshal([]byte(head), &h); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	transcript.NewWriter(&b).Begin(h)
	check.Equal(t, "header", b.String(), head+"\n")
	for _, into := range []any{&transcript.Header{}, &transcript.Entry{}} {
		for _, text := range []string{`{"from":"agent","text":"x"}`, head, `{}`} {
			_, isHeader := into.(*transcript.Header)
			check.Equal(t, fmt.Sprintf("%s is no %T", text, into), json.Unmarshal([]byte(text), into) == nil, isHeader == (text == head) && text != "{}")
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Nothing is written after an error, which is kept.
func TestWriterErr(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		write func(p []byte) (int, error)
		want  string
	}{
		"an error":      {func(p []byte) (int, error) { return 3, broken }, "broken"},
		"a short write": {func(p []byte) (int, error) { return len(p) - 1, nil }, io.ErrShortWrite.Error()},
		"a panic":       {func([]byte) (int, error) { panic("secret") }, "its writer panicked or ended the goroutine"},
		"an end":        {func([]byte) (int, error) { runtime.Goexit(); return 0, nil }, "its writer panicked or ended the goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			w := transcript.NewWriter(writerFunc(func(p []byte) (int, error) { calls++; return tt.write(p) }))
			var done sync.WaitGroup
			done.Go(func() { w.Begin(transcript.Header{}) })
			done.Wait()
			w.Add(transcript.Entry{From: transcript.FromAgent, Text: "x"})
			w.Fail(errors.New("later"))
			check.Equal(t, "calls", calls, 1)
			check.Equal(t, "error", fmt.Sprint(w.Err()), tt.want)
		})
	}

	// One that blocks does not keep anybody from giving up, or from asking.
	entered, release := make(chan struct{}), make(chan struct{})
	w := transcript.NewWriter(writerFunc(func(p []byte) (int, error) { close(entered); <-release; return len(p), nil }))
	var done sync.WaitGroup
	done.Go(func() { w.Begin(transcript.Header{}) })
	<-entered
	check.Equal(t, "error", w.Err(), nil)
	w.Fail(broken)
	check.Equal(t, "error", w.Err(), broken)
	w.Add(transcript.Entry{}) // comes back
	close(release)
	done.Wait()
}

// Lines of several goroutines are whole.
func TestWriterIsForAll(t *testing.T) {
	var b bytes.Buffer
	w := transcript.NewWriter(&b)
	w.Begin(transcript.Header{})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 200 {
				w.Add(transcript.Entry{From: transcript.FromAgent, Frame: json.RawMessage(fmt.Sprintf(`{"id":%d,"text":%q}`, j, strings.Repeat("x", 100*i)))})
			}
		})
	}
	group.Wait()
	all, err := transcript.Read(&b)
	if err != nil || len(all) != 1 || len(all[0].Entries) != 8*200 {
		t.Errorf("%d conversations, %v", len(all), err)
	}
}

func TestMessages(t *testing.T) {
	e := transcript.Entry{Frame: json.RawMessage(` [{"id":"a","method":"m","params":[1]},{"id":1,"result":null,"method":null},{"id":2,"error":{"code":-1},"result":null},{"method":"n"},{"error":null,"method":7},5]`)}
	var got []string
	for _, m := range e.Messages() {
		kind := ""
		for name, is := range map[string]bool{"request": m.IsRequest(), "notification": m.IsNotification(), "response": m.IsResponse()} {
			if is {
				kind += name
			}
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s", kind, m.ID, m.Method, m.Params, m.Result, m.Error))
	}
	want := []string{`request "a" m [1]  `, "response 1   null ", `response 2   null {"code":-1}`, "notification  n   ", "     ", "     "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	check.Equal(t, "method", e.Method(), "m")
	check.Equal(t, "id", string(e.ID()), `"a"`)
	text := transcript.Entry{Text: "x"}
	if text.Method() != "" || text.ID() != nil || text.Messages() != nil {
		t.Error("a text has a message")
	}
}

func TestString(t *testing.T) {
	long := strings.Repeat("é", 400)
	got := read(t,
		client(`{"id":1,"method":"initialize","params":{"a":1}}`), agent(`{"id":1,"method":"fs/read_text_file","params":{}}`),
		agent(`{"id":1,"result":{"ok":true}}`), client(`{"id":1,"error":{"code":-32601}}`),
		agent("{\"method\":\"\x7f\u202ex\",\"params\":{\"t\":\"\u0085\"}}"), agent(`[{"id":5,"result":1},{"method":"n"}]`), agent(`[]`), agent(`{"level":"info"}`),
		agent(`{"method":"m","params":"`+long+`"}`), `{"ms":1234.5,"from":"stderr","text":"a\u001b]52;c;x\u0007\tb","bytes":70000}`,
		`{"ms":2000,"end":{"code":null,"signal":"SIGTERM\n","rung":"sigterm"}}`,
	)
	want := "run RUN-0123456789: /opt/a/agent --dir=/tmp/x1, in /tmp/x1\n" +
		`     0.000 client -> initialize #1 {"a":1}
     0.000 agent  -> fs/read_text_file #1 {}
     0.000 agent  -> initialize #1 = {"ok":true}
     0.000 client -> fs/read_text_file #1 = error {"code":-32601}
     0.000 agent  -> \u{7f}\u{202e}x {"t":"\u{85}"}
     0.000 agent  -> #5 = 1
     0.000 agent  -> n
     0.000 agent  -> []
     0.000 agent  -> {"level":"info"}
     0.000 agent  -> m "` + long[:598] + `… (802 bytes)
  1234.500 stderr |  a\u{1b}]52;c;x\u{7}\u{9}b… (70000 bytes)
  2000.000 end: signal SIGTERM\u{a}, after sigterm
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever is read, writing it and reading that again comes to the same, and people are
// shown nothing that acts.
func FuzzRead(f *testing.F) {
	f.Add(head + "\n" + client(`{"id":1,"method":"m"}`) + "\n" + stderr("x") + "\n" + `{"ms":9.3,"end":{"code":0,"signal":null,"rung":"eof"}}`)
	f.Add(`[{"a":[1,-0.5e+3,true,null,"\u00e9\ud800"]} ]`)
	f.Add("\ufeff" + head + "\r\n" + `{"ms":-0.0004,"from":"agent","frame":[ {"a":1e400} , 5 ]}` + "\n" + `{"from":"agent","te`)
	f.Add(`{"transcript":1,"command":null,"startedAt":"0001-01-01T00:00:00Z"}` + "\n" + `{"from":"agent","text":"\ud800\u202e","bytes":-1}`)
	f.Fuzz(func(t *testing.T, text string) {
		check.Cost(t, 4*len(text))
		trimmed := strings.TrimLeft(text, " \t\r\n")
		if is := json.Valid([]byte(text)) && (trimmed[0] == '{' || trimmed[0] == '['); is != transcript.IsFrame([]byte(text)) {
			t.Errorf("IsFrame(%q) is %v", text, !is)
		}
		all, _ := transcript.Read(strings.NewReader(text))
		for _, first := range all {
			var b bytes.Buffer
			if _, err := first.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			lines := b.String()
			again, err := transcript.Read(&b)
			if err != nil || len(again) != 1 {
				t.Fatalf("%d conversations, %v in %q", len(again), err, lines)
			}
			var twice bytes.Buffer
			again[0].WriteTo(&twice)
			if diff := cmp.Diff(lines, twice.String()); diff != "" {
				t.Errorf("written twice (-first +second):\n%s", diff)
			}
			if strings.ContainsAny(first.String(), "\x1b\r\t\u202e\u0085\x7f\x00") {
				t.Errorf("%q", first.String())
			}
			for _, e := range first.Entries {
				e.Messages()
			}
		}
	})
}
