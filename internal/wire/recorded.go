package wire

import (
	"bufio"
	"bytes"
)

// MaxRecorded bounds a line of a recording, in bytes: the largest frame that a client takes
// unless it was told otherwise, with room for what is escaped or redacted in it.
const MaxRecorded = 3 * DefaultMaxMessageBytes

// ReadLine reads a line, with its newline, into the memory of buf; the last one may have no
// newline. Of one that is longer than most it returns that much, and bufio.ErrTooLong; the
// rest is what is read next.
func ReadLine(in *bufio.Reader, buf []byte, most int) ([]byte, error) {
	buf = buf[:0]
	for {
		if _, err := in.Peek(1); err != nil {
			return buf, err
		}
		part, _ := in.Peek(in.Buffered())
		newline := bytes.IndexByte(part, '\n')
		if newline >= 0 {
			part = part[:newline+1]
		}
		room := min(len(part), most-len(buf))
		buf = append(buf, part[:room]...)
		in.Discard(room) // it is there
		switch {
		case room < len(part):
			return buf, bufio.ErrTooLong
		case newline >= 0:
			return buf, nil
		}
	}
}
