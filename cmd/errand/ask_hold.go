package main

import "context"

// hold finishes what is under way on the terminal and keeps everything else of the run off
// it, the spinner too, until release is called. What comes meanwhile is shown then; where
// it is much, whoever brings it waits.
func (s *screen) hold(ctx context.Context, con *console) (release func()) {
	var held []*stream
	if con.outTTY {
		held = append(held, s.out.outs)
	}
	if con.errTTY && s.out.errs != s.out.outs {
		held = append(held, s.out.errs)
	}
	s.mu.Lock()
	s.clearSpinner()
	s.endLine()
	for _, st := range held {
		st.hold()
	}
	s.mu.Unlock()
	for _, st := range held {
		st.drain(ctx)
	}
	return func() {
		for _, st := range held {
			st.release()
		}
	}
}

// hold keeps what is put from now on until release.
func (s *stream) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.before = true, s.bytes
}

// drain waits until everything is written that was put before hold, or ctx ends.
func (s *stream) drain(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	for s.before > 0 && ctx.Err() == nil {
		s.changed.Wait()
	}
}

func (s *stream) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	s.changed.Broadcast()
}
