package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
)

const tooLong = 30 * time.Second

// brief writes a frame in short: "3 session/prompt {…}" is a request, "session/cancel {…}" a
// notification, "3 = {…}" an answer, "3 ! {…}" an error, and what begins with a brace is the
// frame itself.
func brief(line string) string {
	if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") {
		return line
	}
	first, rest, _ := strings.Cut(line, " ")
	if !strings.Contains(first, "/") && first != "initialize" {
		second, value, _ := strings.Cut(rest, " ")
		switch second {
		case "=":
			return `{"jsonrpc":"2.0","id":` + first + `,"result":` + value + `}`
		case "!":
			return `{"jsonrpc":"2.0","id":` + first + `,"error":` + value + `}`
		}
		return `{"jsonrpc":"2.0","id":` + first + `,"method":"` + second + `","params":` + value + `}`
	}
	return `{"jsonrpc":"2.0","method":"` + first + `","params":` + rest + `}`
}

// recording makes a transcript of lines: "> " and "< " and a frame in brief, "< ~text" for a
// line that is no frame, "2 text" for a line of stderr, "end CODE|SIGNAL RUNG", and
// "normalized NAMES" for what the header has of that.
func recording(t *testing.T, lines string) *transcript.Transcript {
	t.Helper()
	tr := &transcript.Transcript{Header: transcript.Header{Version: 1, Dir: "/rec"}, Cut: true}
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		e := transcript.Entry{At: time.Duration(len(tr.Entries)) * time.Millisecond}
		switch kind {
		case "":
			continue
		case "normalized":
			tr.Header.Normalized = strings.Fields(rest)
			continue
		case ">":
			e.From, e.Frame = transcript.FromClient, []byte(brief(rest))
		case "<":
			e.From = transcript.FromAgent
			if text, noise := strings.CutPrefix(rest, "~"); noise {
				e.Text = text
			} else {
				e.Frame = []byte(brief(rest))
			}
		case "2":
			e.From, e.Text = transcript.FromStderr, rest
		case "end":
			how, rung, _ := strings.Cut(rest, " ")
			e.End = &transcript.End{Rung: rung}
			if code, err := strconv.Atoi(how); err == nil {
				e.End.Code = &code
			} else {
				e.End.Signal = &how
			}
			tr.Cut = false
		default:
			t.Fatalf("what is %q?", line)
		}
		tr.Entries = append(tr.Entries, e)
	}
	return tr
}

// live is an agent at work, in this process.
type live struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	outEnd *io.PipeReader
	stderr *buffer
	ended  chan struct{}
	status int
	err    error
	cancel context.CancelFunc
}

// buffer is a bytes.Buffer for two goroutines.
type buffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func serve(t *testing.T, tr *transcript.Transcript, o Options) *live {
	t.Helper()
	agent, err := New(tr, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	stdin, in := io.Pipe()
	outEnd, stdout := io.Pipe()
	l := &live{t: t, in: in, out: bufio.NewReader(outEnd), outEnd: outEnd, stderr: &buffer{}, ended: make(chan struct{}), cancel: cancel}
	go func() { // ends with Serve
		defer close(l.ended)
		l.status, l.err = agent.Serve(ctx, stdin, stdout, l.stderr)
		stdin.Close()
		stdout.Close()
	}()
	t.Cleanup(func() {
		cancel()
		in.Close()
		outEnd.Close()
		<-l.ended
	})
	return l
}

// converse follows lines: "> " sends a frame in brief, "> ~text" any line, "< " expects one,
// "< ~text" any line; "eof" closes stdin; "stop" ends the context; "stderr text" expects
// that this is all that was written there; "end STATUS" waits for the end, and that nothing
// further is written.
func (l *live) converse(lines string) {
	l.t.Helper()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		text, verbatim := strings.CutPrefix(rest, "~")
		if !verbatim {
			text = brief(rest)
		}
		switch kind {
		case "":
		case ">":
			if _, err := io.WriteString(l.in, text+"\n"); err != nil {
				l.t.Fatalf("%s: %v; stderr: %s", line, err, l.stderr)
			}
		case "<":
			got, err := l.out.ReadString('\n')
			if got = strings.TrimSuffix(got, "\n"); err != nil || got != text {
				l.t.Fatalf("want %s\ngot  %s %v\nstderr: %s", text, got, err, l.stderr)
			}
		case "eof":
			l.in.Close()
		case "stop":
			l.cancel()
		case "stderr":
			<-l.ended
			if diff := cmp.Diff(rest, strings.TrimSpace(l.stderr.String())); diff != "" {
				l.t.Errorf("stderr (-want +got):\n%s", diff)
			}
		case "end":
			more, _ := io.ReadAll(l.out)
			<-l.ended
			if len(more) > 0 {
				l.t.Errorf("written further: %s", more)
			}
			if got := strconv.Itoa(l.status); got != rest {
				l.t.Errorf("status %s (%v), want %s", got, l.err, rest)
			}
		default:
			l.t.Fatalf("what is %q?", line)
		}
	}
}

// difference waits for the end and returns what differs.
func (l *live) difference() *Difference {
	l.t.Helper()
	io.Copy(io.Discard, l.out)
	<-l.ended
	d, ok := errors.AsType[*Difference](l.err)
	if !ok || l.status != 1 {
		l.t.Fatalf("status %d, error %v: no difference", l.status, l.err)
	}
	return d
}
