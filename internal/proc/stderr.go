package proc

import (
	"errors"
	"io"
	"sync"
	"time"
)

// stderrQueue is how much waits for a Spec.Stderr before the child is held back, in
// bytes.
const stderrQueue = 64 << 10

// stderrSink takes what a child writes to stderr, after the filter. Its writes
// never fail: a child must not stop because nobody wants to hear it.
type stderrSink struct {
	tail *tail
	also io.Writer // Spec.Stderr, or nil

	mu      sync.Mutex    // guards what follows
	changed sync.Cond     // with mu: waiting, hurry or err has changed
	waiting []byte        // for also
	telling chan struct{} // closed when its goroutine ends; nil when there is none
	hurry   bool          // nobody is held back any more
	err     error         // why also is not called any more
}

func newStderrSink(t *tail, also io.Writer) *stderrSink {
	s := &stderrSink{tail: t, also: also}
	s.changed.L = &s.mu
	return s
}

func (s *stderrSink) Write(p []byte) (int, error) {
	s.tail.Write(p)
	if s.also == nil || len(p) == 0 {
		return len(p), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) >= stderrQueue && !s.hurry && s.err == nil {
		s.changed.Wait()
	}
	if s.err == nil {
		s.waiting = append(s.waiting, p...)
		if s.telling == nil {
			s.telling = make(chan struct{})
			go s.tell()
		}
	}
	return len(p), nil
}

// tell hands to also what waits for it. That is user code, which may block, panic or
// end its goroutine: this one is its own, belongs to s and ends when nothing waits.
func (s *stderrSink) tell() {
	err := errPanicked // or called runtime.Goexit
	defer func() {
		recover()
		if err != nil {
			s.fail(err)
			s.next() // nothing: that is the end
		}
	}()
	for p := s.next(); p != nil; p = s.next() {
		if _, failed := s.also.Write(p); failed != nil {
			err = failed
			return
		}
	}
	err = nil
}

var (
	errPanicked = errors.New("it panicked")
	errBlocked  = errors.New("it blocks")
)

// next returns what waits, or nil, and then nobody is telling any more.
func (s *stderrSink) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.waiting
	s.waiting = nil
	s.changed.Broadcast()
	if p == nil {
		close(s.telling)
		s.telling = nil
	}
	return p
}

// fail gives also up, if it was not given up before.
func (s *stderrSink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err, s.waiting = err, nil
	}
	s.changed.Broadcast()
}

// release holds nobody back from now on: no more can come than a pipe holds.
func (s *stderrSink) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurry = true
	s.changed.Broadcast()
}

// wait returns when also has all that came so far or was given up, patience has passed,
// or hurry is closed.
func (s *stderrSink) wait(patience time.Duration, hurry <-chan struct{}) {
	s.mu.Lock()
	telling := s.telling
	s.mu.Unlock()
	if telling == nil {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-telling:
	case <-timer.C:
	case <-hurry:
	}
}

// failure is why also did not get everything, or nil.
func (s *stderrSink) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.telling != nil {
		return errBlocked
	}
	return s.err
}

// drain reads stderr until it ends. Its goroutine belongs to p and ends with the
// last writer or soon after the child's exit. A filter that panics or ends its
// goroutine is not trusted to have taken secrets out of anything: the rest is read by
// another one, for nobody.
func (p *Process) drain(filter func(io.Writer) io.WriteCloser) {
	filtered := false
	defer func() {
		recover()
		if filtered {
			close(p.drained)
			return
		}
		p.sink.fail(errFilter)
		go p.drain(discard)
	}()
	to := filter(p.sink)
	buf := make([]byte, 4<<10)
	for {
		n, err := p.stderr.Read(buf)
		to.Write(buf[:n])
		if err != nil {
			break
		}
	}
	to.Close()
	filtered = true
}

var errFilter = errors.New("the filter in front of it panicked")

// writeCloser makes a writer one that is closed for nothing.
type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }

func discard(io.Writer) io.WriteCloser { return writeCloser{io.Discard} }

func pass(w io.Writer) io.WriteCloser { return writeCloser{w} }
