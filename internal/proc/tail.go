package proc

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// tail keeps the end of what is written to it. Of an over-long line it keeps the
// beginning and the end, so that one line does not push out all others.
type tail struct {
	mu    sync.Mutex // guards all below: stderr is drained while others ask for the text
	lines ring       // complete lines
	head  []byte     // of the line that has not ended yet: its beginning
	end   ring       // and what came last of the rest
	cut   bool       // a complete line was cut
}

// newTail returns a tail of size bytes; a line may take a quarter of it.
func newTail(size int) *tail {
	return &tail{lines: ring{size: size}, end: ring{size: max(size/8, 1)}}
}

// Write never fails. A carriage return ends a line too: progress bars use it.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		i := 0
		for i < len(rest) && rest[i] != '\n' && rest[i] != '\r' {
			i++
		}
		line := rest[:i]
		rest = rest[i:]
		n := min(len(line), t.end.size-len(t.head))
		t.head = append(t.head, line[:n]...)
		t.end.write(line[n:])
		if len(rest) > 0 {
			t.lines.write(append(t.line(), rest[0]))
			t.cut = t.cut || t.end.lost > 0
			t.head, t.end = t.head[:0], ring{size: t.end.size, buf: t.end.buf[:0]}
			rest = rest[1:]
		}
	}
	return len(p), nil
}

// line returns what is kept of the open line, with a mark where it was cut.
func (t *tail) line() []byte {
	head, end := t.head, t.end.bytes()
	if t.end.lost == 0 {
		return append(head[:len(head):len(head)], end...)
	}
	cut := t.end.lost + len(head) + len(end)
	head, end = wholeEnd(head), WholeStart(end)
	cut -= len(head) + len(end)
	return fmt.Appendf(nil, "%s[… %d bytes …]%s", head, cut, end)
}

// text returns what was kept, valid UTF-8 of at most the tail's size, and whether
// it is not all.
func (t *tail) text() (text string, truncated bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	truncated = t.cut || t.lines.lost > 0 || t.end.lost > 0
	all := append(t.lines.bytes(), t.line()...)
	if truncated {
		all = WholeStart(all)
	}
	// Only now is the size known: a byte that is no character grows threefold.
	text = strings.ToValidUTF8(string(all), "\uFFFD")
	if over := len(text) - t.lines.size; over > 0 {
		text, truncated = string(WholeStart([]byte(text[over:]))), true
	}
	return text, truncated
}

// ring keeps the last size bytes written to it.
type ring struct {
	size int
	buf  []byte
	next int // the oldest byte, once buf has grown to size
	lost int // bytes written over
}

func (r *ring) write(p []byte) {
	n := min(len(p), r.size-len(r.buf))
	r.buf = append(r.buf, p[:n]...)
	p = p[n:]
	r.lost += len(p)
	p = p[max(0, len(p)-r.size):]
	for len(p) > 0 {
		n := copy(r.buf[r.next:], p)
		r.next = (r.next + n) % r.size
		p = p[n:]
	}
}

// bytes returns what is kept, in a slice of its own.
func (r *ring) bytes() []byte {
	return append(append([]byte(nil), r.buf[r.next:]...), r.buf[:r.next]...)
}

// WholeStart drops the rest of a character at the start of b.
func WholeStart(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return b
}

// wholeEnd drops the beginning of a character at the end of b.
func wholeEnd(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
