package replay

import "slices"

// What a lenient replay does with a parent that does not do what was recorded.

// makeDo takes a request or notification.
func (r *run) makeDo(f frame) {
	if f.method == methodCancel && !f.isRequest() {
		r.cancel(f)
		return
	}
	if s := r.find(f); s != nil {
		r.passOver(s)
		r.same.calls.note("", "session", s.frame.session, f.session)
		r.compareCall(s, f) // for what the parent chose a name of
		r.take(s, f)
		r.advance()
		return
	}
	if !f.isRequest() {
		return
	}
	known := false
	for _, s := range r.steps {
		known = known || s.kind == clientCall && s.frame.method == f.method
	}
	switch s := r.passedOver(f); {
	case s != nil:
		s.live = f.id
		r.put(s.reply, s.reply.frame.withID(likewise(f.id, s.frame.id, s.reply.frame.id)))
	case !known:
		r.fail(f.id, codeUnknownMethod, "the recording has no "+named(f.method))
	case f.method == methodPrompt:
		r.fail(f.id, codeInternal, "the recording has no further turn")
	default:
		r.fail(f.id, codeInternal, "the recording has no further "+named(f.method))
	}
}

// find returns the recorded one that f is taken for: the next of that method, of the same
// session if there is one.
func (r *run) find(f frame) *step {
	var found *step
	for _, s := range r.steps {
		if s.done || s.kind != clientCall && s.kind != clientNote || s.frame.method != f.method || s.frame.isRequest() != f.isRequest() {
			continue
		}
		if r.isSession(s, f.session) {
			return s
		}
		if found == nil {
			found = s
		}
	}
	return found
}

// isSession reports whether the parent means the session of s.
func (r *run) isSession(s *step, session string) bool {
	return s.frame.session == session || r.same.calls.live("", "session", s.frame.session) == session && session != ""
}

// passedOver returns a call of that method that was passed over, and has an answer.
func (r *run) passedOver(f frame) *step {
	for i, s := range r.late {
		if s.frame.method == f.method && s.reply != nil {
			r.late = slices.Delete(r.late, i, i+1)
			return s
		}
	}
	return nil
}

// passOver waits for nothing any more that the parent was to send before s.
func (r *run) passOver(s *step) {
	for _, g := range s.lane.gates {
		for _, before := range g.steps {
			if before.n < s.lane.born && before.kind.isClient() && !before.done {
				r.skip(before)
			}
		}
	}
	for _, before := range s.lane.steps[s.lane.next:] {
		if before == s {
			return
		}
		if (before.kind == clientCall || before.kind == clientNote) && !before.done {
			r.skip(before)
		}
	}
}

// skip leaves out what the parent did not send, and what it made the agent say.
func (r *run) skip(s *step) {
	s.done = true
	if s.kind != clientCall {
		return
	}
	r.late = append(r.late, s)
	if s.reply == nil {
		return
	}
	s.reply.done = true
	if s.lane.turn() != nil {
		return // what is said meanwhile belongs to the turn
	}
	for _, between := range s.lane.steps {
		if between.n <= s.n || between.n >= s.reply.n {
			continue
		}
		switch between.kind {
		case agentSay, agentStderr, agentAsk, clientAnswer:
			between.done = true
		}
	}
}

// passes reports whether the agent does not wait for s, which it has come to.
func (r *run) passes(s *step) bool {
	switch {
	case s.kind == clientAnswer:
		return false
	case s.kind == clientNote:
		return s.frame.method != methodCancel || s.lane.turn() == nil
	case s.lane.turn() != nil: // the turn cannot wait for what may never come
		r.skip(s)
		return true
	}
	return false
}

// cancel ends the open turn of the session, unless the recording has a cancel in it.
func (r *run) cancel(f frame) {
	for _, l := range r.lanes {
		turn := l.turn()
		if turn == nil || !r.isSession(turn, f.session) {
			continue
		}
		if s := l.recordedCancel(turn); s != nil {
			s.done = true
		} else {
			r.endTurn(l, turn)
		}
		r.advance()
		return
	}
}

// recordedCancel returns the cancel of the turn that the recording has.
func (l *lane) recordedCancel(turn *step) *step {
	for _, s := range l.steps {
		if s.n > turn.n && !s.done && s.kind == clientNote && s.frame.method == methodCancel && (turn.reply == nil || s.n < turn.reply.n) {
			return s
		}
	}
	return nil
}

// endTurn ends a turn as cancelled, and leaves out what the agent said further in it.
func (r *run) endTurn(l *lane, turn *step) {
	for _, s := range l.steps {
		if s.n <= turn.n || s.done {
			continue
		}
		if turn.reply != nil && s.n > turn.reply.n || turn.reply == nil && s.kind == clientCall && s.frame.method == methodPrompt {
			break
		}
		if s.kind == agentReply && s.call != nil && s.call != turn && s.call.live != nil {
			continue // somebody waits for that
		}
		s.done = true
		if s.kind == clientCall {
			r.late = append(r.late, s)
		}
	}
	r.reply(turn.live, "result", []byte(`{"stopReason":"cancelled"}`))
	l.turns = slices.DeleteFunc(l.turns, func(s *step) bool { return s == turn })
	r.diverged = true
}
