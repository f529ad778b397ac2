package wire

import (
	"bytes"
	"context"
	"slices"
	"time"
	"unicode/utf8"
)

// cancelMethod withdraws a request
// (https://agentclientprotocol.com/protocol/cancellation).
const cancelMethod = "$/cancel_request"

// read is the reader: it runs on its own goroutine and ends with the stream.
func (c *Conn) read() {
	ended := false
	defer func() {
		// A hook that ended its goroutine must not leave the peer unheard.
		if !ended {
			c.panicked(goexit)
			go c.read()
		}
	}()
	for {
		line, over, err := c.lines.next()
		if err != nil {
			ended = true
			c.end(err)
			return
		}
		c.take(line, over)
	}
}

// take takes one line, or one that is not kept (over), of which start has been read.
// Nothing that a peer writes must end this program: a line that makes the reading of
// it panic is noise.
func (c *Conn) take(start []byte, over bool) {
	head := start
	if over {
		head = bytes.Clone(start[:min(len(start), maxNoiseRead)])
	}
	defer func() {
		if c.panicked(recover()) {
			c.noise(head)
		}
	}()
	if over {
		c.overLine(start, head)
	} else {
		c.line(start)
	}
}

// end is what the end of the stream leads to, after everything that was read.
func (c *Conn) end(cause error) {
	closed := &ClosedError{Cause: cause}
	c.mu.Lock()
	if c.ended == nil {
		c.ended = closed
	}
	for k := range c.direct {
		c.lose(k, closed)
	}
	c.room.Broadcast()
	c.mu.Unlock()

	c.push(endOfStream{closed}, 0)
	c.hand()
	c.cancelReq(closed)
	close(c.done)
	// A callback that waits for its context must not be waited for without end.
	timer := time.AfterFunc(drainGrace, func() { c.cancel(closed) })
	context.AfterFunc(c.ctx, func() { timer.Stop() })
	c.lines = lines{}
}

// line takes one line: a frame, several, an array of them, nothing, or noise.
func (c *Conn) line(line []byte) {
	text := trimLead(line)
	if len(text) == 0 {
		return
	}
	if !mayBeFrame(text) {
		c.noise(line)
		return
	}
	if !utf8.Valid(text) {
		text = validUTF8(text)
	}
	s := &c.scan
	*s = NewScan(text)
	defer func() { *s = Scan{} }() // it would hold a long line
	if text[0] == '{' {
		f, ok := parseFrame(s, c)
		complex := s.tooMuch
		if complex {
			*s = NewScan(text)
			ok = s.pass()
		}
		alone := len(trimLead(s.Rest())) == 0
		switch {
		case ok && !alone && areFrames(text):
			c.glued(line, text)
		case !ok || !alone:
			c.noise(line)
		case complex && !c.complexFrame(text[:s.pos]), !complex && !c.route(&f, len(line), nil):
			c.noise(line)
		}
		return
	}

	// An array counts only as a whole. Its frames are read one by one.
	for s.Array(); s.Elem(); {
		s.pass()
	}
	if !s.OK() || len(trimLead(s.Rest())) > 0 {
		c.noise(line)
		return
	}
	all := NewScan(text)
	frames, others := 0, 0
	for all.Array(); all.Elem(); {
		c.relieve()
		all.Kind()
		from := all.pos
		all.pass()
		if c.element(text[from:all.pos], nil) {
			frames++
		} else {
			others++
		}
	}
	if others > 0 || frames == 0 {
		c.noise(line)
	}
}

// glued takes a line of several frames without line ends between them.
func (c *Conn) glued(line, text []byte) {
	taken := true
	for len(text) > 0 {
		c.relieve()
		s := NewScan(text)
		s.pass()
		taken = c.element(text[:s.pos], c) && taken
		text = trimLead(s.Rest())
	}
	if !taken {
		c.noise(line)
	}
}

// element takes one of the frames of a line, which p may be offered; false means that it is
// none.
func (c *Conn) element(text []byte, p parser) bool {
	c.scan = NewScan(text)
	f, ok := parseFrame(&c.scan, p)
	if c.scan.tooMuch {
		return c.complexFrame(text)
	}
	return ok && c.route(&f, len(text), nil)
}

// overLine takes a line that is too long to be kept, of which start has been read. head is what
// may be kept of it.
func (c *Conn) overLine(start, head []byte) {
	s, frames := c.skimmer(&TooLargeError{Limit: c.opts.MaxMessageBytes})
	s.feed(trimLead(start))
	c.lines.rest(s.feed)
	if *frames == 0 {
		c.noise(head)
	}
}

// complexFrame takes a frame that nests too deep or holds too much; false means that it
// is none. A notification or reply is read without what makes it so, if it can do without.
// Of a request, which is to be decided on, nothing may be missing.
func (c *Conn) complexFrame(text []byte) bool {
	why := &TooComplexError{}
	if less := reduce(text); less != nil {
		s := NewScan(less)
		f, ok := parseFrame(&s, nil)
		if !ok {
			return false
		}
		if f.id == nil || f.isReply() {
			c.count(&c.stats.Reduced)
			return c.route(&f, len(text), nil)
		}
		f.params = nil
		return c.route(&f, 0, why)
	}
	s, frames := c.skimmer(why)
	s.feed(text)
	return *frames > 0
}

// skimmer returns a skim that routes the frames of a line that is not read, because of
// why, and where it counts them.
func (c *Conn) skimmer(why error) (s *skim, frames *int) {
	frames = new(int)
	return &skim{emit: func(f frame) {
		c.relieve()
		if c.route(&f, 0, why) {
			*frames++
		}
	}}, frames
}

// intern returns name as a string that is allocated only when it is another one than
// before, or too long to be kept.
func (c *Conn) intern(name []byte) string {
	if len(name) > maxToken {
		return string(name)
	}
	if c.method != string(name) {
		c.method = string(name)
	}
	return c.method
}

func (c *Conn) parse(method []byte, s *Scan) any {
	return c.h.Parse(c.intern(method), s)
}

// route takes one frame; false means that it is none. unread, if not nil, is why its
// params, result and err are not there.
func (c *Conn) route(f *frame, size int, unread error) bool {
	if f.isReply() {
		if taken, known := c.reply(f, size, unread); taken {
			if known {
				c.frames.Add(1)
			}
			return known
		}
	}
	if len(f.method) == 0 {
		if f.isInvalid() {
			c.frames.Add(1)
			c.answerAtOnce(f.id, "", errInvalid)
			return true
		}
		return false
	}
	method := c.intern(f.method)
	class := c.h.Classify(method)
	if !f.marked && class == ClassUnknown && method != cancelMethod {
		return false
	}
	c.frames.Add(1)
	c.log("received", method, f.id, size)
	if c.shut.Load() {
		return true
	}
	switch {
	case f.id == nil || class == ClassNotification || method == cancelMethod:
		if method == cancelMethod {
			c.withdrawn(f.params)
		} else if unread != nil {
			if class == ClassNotification {
				c.count(&c.stats.Dropped) // others are ignored in any size
				if _, ok := unread.(*TooComplexError); ok {
					c.count(&c.stats.Complex)
				}
			}
		} else if v := c.h.Notification(method, f.params, f.parsed); v != nil {
			c.push(v, size)
		}
		if f.id != nil && !isNull(f.id) {
			c.answerAtOnce(f.id, method, nil)
		}
	case class == ClassPeer && c.echo(f.id, method):
	default:
		c.receive(f, method, size, unread)
	}
	return true
}

// reply takes a reply. taken is false for a frame that answers nothing of ours and can
// be something else; known is false for noise.
func (c *Conn) reply(f *frame, size int, unread error) (taken, known bool) {
	c.mu.Lock()
	id, ours := ourID(f.id)
	k := c.calls[id]
	if !ours || k == nil {
		defer c.mu.Unlock()
		if len(f.method) > 0 {
			return false, false
		}
		_, late := c.abandoned[id]
		switch {
		case f.id == nil && !(f.marked && f.fails()):
			// Some peers answer what they cannot read with an error without an id.
			return true, false
		case ours && late:
			delete(c.abandoned, id)
			c.stats.Late++
		case ours && 0 < id && id <= c.nextID:
			c.stats.Duplicate++
		default:
			c.stats.Stray++
		}
		return true, true
	}
	c.answered(k)
	c.mu.Unlock()

	defer c.replied(k, size)
	switch {
	case unread != nil:
		k.err = &CallError{Method: k.method, Sent: true, Err: unread}
	case f.fails():
		k.err = parseError(f.err)
	default:
		k.result = slices.Clone(f.result)
	}
	c.log("received", k.method, f.id, size)
	return true, true
}

// answered notes that the reply to a call has been read; with mu held.
func (c *Conn) answered(k *Call) {
	delete(c.calls, k.id)
	delete(c.direct, k)
	k.replying, k.begun = true, c.begun
}

// replied runs the hook of a call that has its reply and sees to its delivery,
// whatever the hook does.
func (c *Conn) replied(k *Call, size int) {
	defer func() {
		close(k.read)
		c.mu.Lock()
		direct := k.from != outside || c.shut.Load()
		if direct {
			c.deliver(k)
		} else if !k.over {
			c.undelivered[k] = struct{}{}
		}
		c.mu.Unlock()
		if !direct {
			c.push(k, size)
		}
	}()
	if k.onReply != nil {
		k.onReply(k.result, k.err)
	}
}

// echo reports whether a request is one of ours that came back, and fails that call.
func (c *Conn) echo(id []byte, method string) bool {
	n, ok := ourID(id)
	c.mu.Lock()
	k := c.calls[n]
	if !ok || k == nil || k.method != method {
		c.mu.Unlock()
		return false
	}
	c.answered(k)
	c.mu.Unlock()
	k.err = &CallError{Method: method, Sent: true, Err: &EchoError{}}
	c.replied(k, 0)
	return true
}

// parseError reads an error object, or what a peer put in its place.
func parseError(raw []byte) *Error {
	e := &Error{Code: codeInternal}
	s := NewScan(raw)
	if !s.Object() {
		e.Message = string(raw)
		if text, ok := s.Text(); ok {
			e.Message = text
		}
		return e
	}
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		value := s.Skip()
		switch string(name) {
		case "code":
			negative := len(value) > 0 && value[0] == '-'
			if code, ok := ourID(bytes.TrimPrefix(value, []byte("-"))); ok {
				e.Code = int(code)
				if negative {
					e.Code = -e.Code
				}
			}
		case "message":
			e.Message = string(value)
			if len(value) > 0 && value[0] == '"' {
				e.Message = Unquote(value)
			}
		case "data":
			if !isNull(value) {
				e.Data = slices.Clone(value)
			}
		}
	}
	return e
}
