package subagent

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/errand-acp/errand/internal/check"
)

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// pushLines pushes the lines a, b, … of a run.
func pushLines(a *Audit, of *auditTally, n int) {
	for i := range n {
		a.push(auditLine{fmt.Appendf(nil, "%c\n", 'a'+i), of})
	}
}

// A writer that fails costs lines, which are counted, and none of those that it takes is torn.
func TestAuditWriterFails(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name   string
		second func(w io.Writer, p []byte) (int, error) // what the second Write does
		text   string
		warns  string
	}{
		{"nothing", func(w io.Writer, p []byte) (int, error) { return w.Write(p) }, "a\nb\nc\n", ""},
		{"an error", func(io.Writer, []byte) (int, error) { return 0, boom }, "a\nc\n", "1 lines of this run are lost: boom"},
		{"a panic", func(io.Writer, []byte) (int, error) { panic(boom) }, "a\nc\n", "1 lines of this run are lost: the writer panicked"},
		{"a Goexit", func(io.Writer, []byte) (int, error) { runtime.Goexit(); return 0, nil }, "a\nc\n", "1 lines of this run are lost: the writer ended its goroutine"},
		{"a part", func(w io.Writer, p []byte) (int, error) { return w.Write(p[:1]) }, "a\nb\nc\n", "short write"},
		{"a part and an error", func(w io.Writer, p []byte) (int, error) { w.Write(p[:1]); return 1, boom }, "a\nb\nc\n", "boom"},
		{"more than there is", func(w io.Writer, p []byte) (int, error) { w.Write(p); return 99, nil }, "a\nb\nc\n", ""},
		{"less than nothing", func(io.Writer, []byte) (int, error) { return -1, boom }, "a\nc\n", "boom"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text strings.Builder
			writes := 0
			var of auditTally
			a := &Audit{W: writerFunc(func(p []byte) (int, error) {
				if writes++; writes == 2 {
					return tt.second(&text, p)
				}
				return text.Write(p)
			})}
			pushLines(a, &of, 3)
			warning := a.flush(&of)
			check.Equal(t, "text", text.String(), tt.text)
			if tt.warns == "" {
				check.Equal(t, "warning", warning, "")
			}
			check.Has(t, warning, tt.warns)
			check.Equal(t, "again", a.flush(&of), warning)
		})
	}
}

// What a writer takes a part of again and again comes out whole.
func TestAuditWriterCrumbs(t *testing.T) {
	var text strings.Builder
	var of auditTally
	n := 0
	a := &Audit{W: writerFunc(func(p []byte) (int, error) {
		n++
		return text.Write(p[:min(n%4, len(p))])
	})}
	for i := range 200 {
		a.push(auditLine{fmt.Appendf(nil, "line %d\n", i), &of})
	}
	a.flush(&of)
	a.W = &text
	a.push(auditLine{[]byte("end\n"), &of})
	a.flush(&of)
	last := -1
	for line := range strings.Lines(text.String()) {
		var i int
		if _, err := fmt.Sscanf(line, "line %d\n", &i); err == nil && i > last {
			last = i
		} else if line != "end\n" {
			t.Fatalf("torn or out of order: %q in %q", line, text.String())
		}
	}
}

// A writer that blocks holds the end of a run up for auditGrace, that of the next ones not
// at all, and when it goes on all is written.
func TestAuditWriterBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var text strings.Builder
		a := &Audit{W: writerFunc(func(p []byte) (int, error) {
			<-release
			return text.Write(p)
		})}
		var one, two auditTally
		since := time.Now()
		pushLines(a, &one, 2)
		check.Has(t, a.flush(&one), "2 lines of this run still wait for its writer")
		check.Equal(t, "the first waits", time.Since(since), auditGrace)
		pushLines(a, &two, 1)
		check.Has(t, a.flush(&two), "1 lines of this run still wait for its writer")
		check.Equal(t, "the second does not", time.Since(since), auditGrace)
		close(release)
		synctest.Wait()
		check.Equal(t, "later", a.flush(&two), "")
		check.Equal(t, "later", a.flush(&one), "")
		check.Equal(t, "text", text.String(), "a\nb\na\n")
	})
}

// What waits for the writer is bounded.
func TestAuditQueueFull(t *testing.T) {
	release := make(chan struct{})
	a := &Audit{W: writerFunc(func(p []byte) (int, error) { <-release; return len(p), nil })}
	var of auditTally
	line := make([]byte, maxAuditLine)
	for range maxAuditQueue/maxAuditLine + 3 {
		a.push(auditLine{line, &of})
	}
	close(release)
	check.Has(t, a.flush(&of), "3 lines of this run are lost", "too many lines wait")
	a.push(auditLine{line, &of})
	check.Has(t, a.flush(&of), "3 lines")
	check.Equal(t, "bytes", a.bytes, 0)
}
