package proc

import "io"

// stderrSink takes what a child writes to stderr, after the filter. Its writes
// never fail: a child must not stop because nobody wants to hear it.
type stderrSink struct {
	tail *tail
	also io.Writer // nil, or nil again after its first error or panic
}

func (s *stderrSink) Write(p []byte) (int, error) {
	s.tail.Write(p)
	if s.also != nil && !s.tell(p) {
		s.also = nil
	}
	return len(p), nil
}

// tell reports whether also took p. It is user code: a panic in it must not end this
// program, nor the draining.
func (s *stderrSink) tell(p []byte) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	_, err := s.also.Write(p)
	return err == nil
}

// drain reads stderr until it ends. Its goroutine belongs to p and ends with the
// last writer or soon after the child's exit; a Spec.Stderr that blocks for ever is
// what alone can keep it.
func (p *Process) drain(to io.Writer) {
	defer close(p.drained)
	buf := make([]byte, 4<<10)
	for {
		n, err := p.stderr.Read(buf)
		to.Write(buf[:n])
		if err != nil {
			break
		}
	}
	if c, ok := to.(io.Closer); ok {
		c.Close()
	}
}
