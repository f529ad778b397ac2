package wire

import (
	"bytes"
	"io"
)

const (
	// minBuffer is what an idle connection holds.
	minBuffer = 4 << 10
	// bulkBuffer is what is read at once from a peer that writes fast: what a pipe
	// holds. Only a longer line takes more.
	bulkBuffer = 64 << 10
)

// lines splits a stream into lines. It belongs to one goroutine.
type lines struct {
	r   io.Reader
	max int
	// before is called before each read, which may block.
	before func()

	// buf[pos:end] has been read and not been handed out; buf[pos:seen] of it holds
	// no newline.
	buf            []byte
	pos, seen, end int
	// last is how many bytes the last read gave.
	last int
	err  error
}

// next returns the next line without its newline, valid until the next call. If
// over is set the line is longer than max, or long and no frame whatever comes, and this
// is its first part, to be followed by a call of rest. What the stream ends with counts as a line even without a
// newline.
func (l *lines) next() (line []byte, over bool, err error) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:l.end], '\n'); i >= 0 {
			line = l.buf[l.pos : l.seen+i]
			l.pos, l.seen = l.seen+i+1, l.seen+i+1
			if len(line) > l.max {
				// Leave the newline to rest.
				l.pos, l.seen = l.pos-1, l.pos-1
				return line, true, nil
			}
			return line, false, nil
		}
		l.seen = l.end
		line = l.buf[l.pos:l.end]
		switch {
		case len(line) > l.max || len(line) >= bulkBuffer && l.end == len(l.buf) && !mayBeFrame(line):
			l.pos = l.end
			return line, true, nil
		case l.err != nil && len(line) > 0:
			l.pos = l.end
			return line, false, nil
		case l.err != nil:
			return nil, false, l.err
		}
		l.fill()
	}
}

// rest passes what is left of a line that is over to feed, piece by piece, and gives
// back the memory that the line took.
func (l *lines) rest(feed func([]byte)) {
	for {
		if i := bytes.IndexByte(l.buf[l.pos:l.end], '\n'); i >= 0 {
			feed(l.buf[l.pos : l.pos+i])
			l.pos, l.seen = l.pos+i+1, l.pos+i+1
			return
		}
		feed(l.buf[l.pos:l.end])
		l.pos, l.seen = l.end, l.end
		if l.err != nil {
			return
		}
		l.fill()
	}
}

// fill reads more.
func (l *lines) fill() {
	l.before()
	l.makeRoom()
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.last = n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// makeRoom sees to it that the buffer has room for a read, grows with a fast peer and
// a long line, and shrinks again.
func (l *lines) makeRoom() {
	size, used := len(l.buf), l.end-l.pos
	full := l.end == size
	switch {
	case used == size && size >= bulkBuffer:
		size = min(2*size, l.max+1)
	case full && size < bulkBuffer:
		size *= 2
	case used > 0:
	case size > bulkBuffer:
		size = bulkBuffer
	case l.last < size/4:
		size /= 2
	}
	size = max(size, minBuffer)
	if l.pos == 0 && size == len(l.buf) {
		return
	}

	buf := l.buf
	if size != len(buf) {
		buf = make([]byte, size)
	}
	copy(buf, l.buf[l.pos:l.end])
	l.buf = buf
	l.seen -= l.pos
	l.pos, l.end = 0, used
}
