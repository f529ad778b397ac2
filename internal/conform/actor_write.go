package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

// pending is a request that was written and may be answered.
type pending struct {
	label  string
	method string
	id     json.RawMessage
	sent   int // index of the request; -1 where it could not be written
}

// id returns an id that was not used yet.
func (a *actor) id() json.RawMessage {
	a.nextID++
	return json.RawMessage(strconv.Itoa(a.nextID))
}

// send writes a request and does not wait for its answer.
func (a *actor) send(label, method string, params any) pending {
	return a.sendID(label, method, params, a.id())
}

// sendID is send with an id of the scene's choice.
func (a *actor) sendID(label, method string, params any, id json.RawMessage) pending {
	p := pending{label: label, method: method, id: id}
	p.sent = a.write(label, request(id, method, params))
	return p
}

// notify writes a notification.
func (a *actor) notify(label, method string, params any) {
	a.write(label, frame(map[string]any{"jsonrpc": "2.0", "method": method, "params": params}))
}

// request is a request as it goes over the wire.
func request(id json.RawMessage, method string, params any) []byte {
	return frame(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// frame is a message as it goes over the wire, without the newline.
func frame(message any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(message); err != nil {
		panic(err) // a scene's own mistake: it writes what JSON has no form for
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// write writes a line and records it, first, so that no answer stands before it. The
// label marks it. It returns the line's index.
func (a *actor) write(label string, line []byte) int {
	return a.writeParts([]labelled{{label, line}}, append(bytes.Clone(line), '\n'))
}

// raw writes the bytes as they are, in as many writes as there are parts, a moment apart,
// and records all of them as one line.
func (a *actor) raw(label string, parts ...[]byte) int {
	return a.writeParts([]labelled{{label, bytes.TrimRight(bytes.Join(parts, nil), "\r\n")}}, parts...)
}

// labelled is a line with its label.
type labelled struct {
	label string
	line  []byte
}

// writeParts records the lines and writes the parts. It returns the index of the first line.
func (a *actor) writeParts(lines []labelled, parts ...[]byte) (index int) {
	if a.p == nil {
		return -1
	}
	a.p.writing.Lock()
	defer a.p.writing.Unlock()
	if a.isHalted() {
		return -1
	}
	a.lock(func() {
		index = len(a.r.entries)
		for _, l := range lines {
			if l.label != "" {
				a.r.marks = append(a.r.marks, mark{label: l.label, index: len(a.r.entries)})
			}
			e := transcript.Entry{From: transcript.FromClient, Text: string(l.line)}
			if transcript.IsFrame(l.line) {
				e.Frame, e.Text = l.line, ""
			}
			a.recordLocked(e)
		}
	})
	for i, part := range parts {
		if i > 0 {
			a.pause(20 * time.Millisecond) // so that it is read in pieces
		}
		a.p.stdin.SetWriteDeadline(time.Now().Add(a.opts.Timeout))
		if _, err := a.p.stdin.Write(part); errors.Is(err, os.ErrDeadlineExceeded) {
			// The pipe holds the half of it: whatever followed would be read as its rest.
			why := fmt.Sprintf("it did not read what was written to it within %v", a.opts.Timeout)
			a.lock(func() { a.haltLocked(why) })
			return index
		} else if err != nil {
			return index // it is gone, and is told by what it does not answer
		}
	}
	return index
}
