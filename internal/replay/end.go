package replay

import "slices"

// How a replay ends.

// finish ends the agent.
func (r *run) finish(status int, err error) { r.over, r.status, r.err = true, status, err }

// finished is for when everything that was recorded has been said.
func (r *run) finished() {
	switch {
	case r.over:
	case r.cut:
		for _, id := range r.open() {
			r.fail(id, codeInternal, "the recording was cut off here")
		}
		for _, s := range r.steps {
			s.live = nil
		}
	case r.endsItself() && !r.diverged:
		r.finish(r.recorded())
	}
}

// endsItself reports whether the recorded agent ended before anybody closed its stdin.
func (r *run) endsItself() bool {
	return r.end != nil && slices.Contains([]string{"exit", "cancel", "close"}, r.end.Rung)
}

// isDeaf reports whether the recorded agent went on when its stdin had ended.
func (r *run) isDeaf() bool {
	return r.end != nil && slices.Contains([]string{"sigterm", "sigkill", "none"}, r.end.Rung)
}

// recorded returns how the recorded agent ended.
func (r *run) recorded() (status int, err error) {
	switch {
	case r.end == nil:
	case r.end.Signal != nil:
		return 128 + signalNumber(*r.end.Signal), &SignalError{*r.end.Signal}
	case r.end.Code != nil:
		return *r.end.Code, nil
	}
	return 0, nil
}

// eof is for the end of stdin.
func (r *run) eof() {
	for _, s := range r.steps {
		if s.isGoodbye() && !s.done && s.lane.turn() == nil {
			r.skip(s)
		}
	}
	if !r.lenient {
		for _, s := range r.steps {
			if s.kind.isClient() && !s.done && (s.kind != clientAnswer || s.isHeeded()) {
				r.differ(nil, s, "stdin ended where the recording has "+s.name())
				return
			}
		}
	}
	r.advance()
	switch {
	case r.over, r.isDeaf():
	case r.diverged && r.endsItself():
		r.finish(0, nil)
	default:
		r.finish(r.recorded())
	}
}

// isGoodbye reports whether the end of stdin says what s says, to an agent that is not in a
// turn.
func (s *step) isGoodbye() bool {
	return s.kind == clientCall && (s.frame.method == "session/close" || s.frame.method == "logout")
}

// isHeeded reports whether the agent said anything after an answer. One to a question that
// is open when the turn ends may be given, or not be given any more.
func (s *step) isHeeded() bool {
	return slices.ContainsFunc(s.lane.steps, func(later *step) bool { return later.n > s.n && !later.done && !later.kind.isClient() })
}

// stopped is for the end of the context.
func (r *run) stopped(cause error) (status int, err error) {
	if r.isDeaf() {
		return r.recorded()
	}
	return 1, cause
}

// open returns the ids of the requests of the parent that wait for an answer.
func (r *run) open() [][]byte {
	var ids [][]byte
	for _, s := range r.steps {
		if s.live != nil && (s.reply == nil || !s.reply.done) {
			ids = append(ids, s.live)
		}
	}
	return ids
}
