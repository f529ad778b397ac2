package wire

// maxToken bounds what skim keeps of a name, an id or a method.
const maxToken = 256

// skim looks at a line that is too long to keep, in pieces and in constant memory,
// for what must still be known of it: which frames it holds, and of each its id, its
// method and whether it has a result or an error. It checks no grammar.
type skim struct {
	// emit is called with each frame as it ends; what it points to is valid during
	// the call.
	emit func(frame)

	// level is how deep the members of a frame are: 1, or 2 in an array of frames,
	// 0 as long as nothing was seen, -1 for what cannot be frames.
	level, depth     int
	inString, escape bool
	// atName is true where the name of a member is next, not its value.
	atName bool
	name   []byte
	// keep is what the bytes that pass belong to, nil for none of our business.
	keep *[]byte

	marked, id, method, result, err []byte
	asks                            bool
}

func (s *skim) feed(text []byte) {
	for _, c := range text {
		if s.level < 0 {
			return
		}
		s.step(c)
	}
}

func (s *skim) step(c byte) {
	if s.inString {
		s.take(c)
		switch {
		case s.escape:
			s.escape = false
		case c == '\\':
			s.escape = true
		case c == '"':
			s.inString = false
		}
		return
	}
	switch c {
	case ' ', '\t', '\r', '\n':
	case '{', '[':
		s.take(c)
		s.enter(c)
	case '}', ']':
		s.leave(c)
	case ',':
		if s.depth == s.level {
			s.atName, s.keep = true, nil
		}
	case ':':
		if s.depth == s.level {
			s.atName, s.keep = false, s.member()
		}
	default:
		if c == '"' {
			s.inString = true
			if s.depth == s.level && s.atName {
				s.name = s.name[:0]
				s.keep = &s.name
			}
		}
		if s.level == 0 {
			s.level = -1
		}
		s.take(c)
	}
}

// take keeps c if it belongs to the value of a member we want. Of what is nested
// deeper only the first byte is wanted: it is not null.
func (s *skim) take(c byte) {
	if s.keep != nil && s.depth == s.level && len(*s.keep) < maxToken {
		*s.keep = append(*s.keep, c)
	}
}

func (s *skim) enter(c byte) {
	if s.level == 0 {
		s.level = 1
		if c == '[' {
			s.level = 2
		}
	}
	s.depth++
	if s.depth == s.level && c == '{' {
		s.atName, s.keep = true, nil
		s.marked, s.id, s.method, s.result, s.err, s.asks = nil, nil, nil, nil, nil, false
	}
}

func (s *skim) leave(c byte) {
	// An id that was cut or is none cannot be sent back.
	if id := NewScan(s.id); s.depth == s.level && c == '}' && (s.id == nil || id.Skip() != nil && id.End()) {
		s.emit(frame{
			marked: s.marked != nil && !isNull(s.marked), asks: s.asks, id: s.id, method: methodName(s.method),
			result: s.result, err: s.err,
		})
	}
	s.depth--
	if s.depth <= 0 {
		s.level = -1
	}
}

// member returns where the value of the member whose name has just passed goes.
func (s *skim) member() *[]byte {
	switch string(s.name) {
	case `"jsonrpc"`:
		s.marked = s.marked[:0]
		return &s.marked
	case `"id"`:
		s.id = s.id[:0]
		return &s.id
	case `"method"`:
		s.method, s.asks = s.method[:0], true
		return &s.method
	case `"params"`:
		s.asks = true
	case `"result"`:
		s.result = s.result[:0]
		return &s.result
	case `"error"`:
		s.err = s.err[:0]
		return &s.err
	}
	return nil
}
