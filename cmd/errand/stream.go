package main

import (
	"io"
	"sync"
	"time"
)

const (
	// holdBack is how much may wait to be written before whoever brings more has to
	// wait: a slow reader of ours slows the agent down and loses nothing.
	holdBack = 1 << 20
	// giveUp is how much may wait once the run is being ended, when nobody is made to
	// wait any more. What is over it is dropped: its reader has stopped reading.
	giveUp = 16 << 20
	// portion is how much is written at once: less than any reader that reads at all
	// takes before it is given up on.
	portion = 4 << 10
)

// stream writes what it is given, in order, on a goroutine of its own.
type stream struct {
	// watched is the writer whose first error is kept, and told to failed.
	watched io.Writer
	failed  func(error)

	mu       sync.Mutex // guards everything below
	changed  sync.Cond  // on mu
	queue    []piece
	bytes    int           // in queue, and being written
	moved    time.Time     // when bytes last became less, or more than 0
	patience time.Duration // how long it may stay so before flush gives up; 0: for ever
	deadline time.Time     // when flush gives up whatever moves; zero: never
	lost     int           // pieces that were dropped
	closed   bool
	err      error
	held     bool // while a question is open: only what was put before it is written
	before   int  // bytes of that
}

// piece is something to write.
type piece struct {
	to   io.Writer
	text []byte
}

func newStream(watched io.Writer, failed func(error)) *stream {
	s := &stream{watched: watched, failed: failed}
	s.changed.L = &s.mu
	// Ends when close was called and everything is written; where a reader of ours has
	// stopped for good, with the program.
	go s.writeAll()
	return s
}

// put adds text, unless too much waits already and it need not be kept.
func (s *stream) put(to io.Writer, text string, keep bool) {
	if text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes > holdBack && s.patience == 0 {
		s.changed.Wait()
	}
	if s.bytes > giveUp && !keep {
		s.lost++
		return
	}
	if s.bytes == 0 {
		s.moved = time.Now()
	}
	s.queue = append(s.queue, piece{to, []byte(text)})
	s.bytes += len(text)
	s.changed.Broadcast()
}

func (s *stream) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes > 0 || s.held
}

func (s *stream) dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

func (s *stream) error() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// hurry makes nobody wait in put any more, and flush no longer than patience where
// nothing is taken. The shortest one counts.
func (s *stream) hurry(patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.patience == 0 || patience < s.patience {
		s.patience = patience
		s.moved = time.Now()
	}
	s.changed.Broadcast()
}

// abandon makes flush end in time even where a little is taken again and again. The first
// one counts.
func (s *stream) abandon(within time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadline.IsZero() {
		s.deadline = time.Now().Add(within)
	}
	s.changed.Broadcast()
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
}

func (s *stream) writeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for (len(s.queue) == 0 || s.held && s.before == 0) && !s.closed {
			s.changed.Wait()
		}
		if len(s.queue) == 0 {
			return
		}
		next := s.queue[0]
		s.queue = s.queue[1:]
		for text := next.text; len(text) > 0; {
			n := min(portion, len(text))
			if next.to != s.watched || s.err == nil {
				s.write(next.to, text[:n])
			}
			text = text[n:]
			s.bytes -= n
			s.before -= min(n, s.before)
			s.moved = time.Now()
			s.changed.Broadcast()
		}
	}
}

// write writes a part of a piece, without the lock.
func (s *stream) write(to io.Writer, text []byte) {
	s.mu.Unlock()
	defer s.mu.Lock()
	if _, err := to.Write(text); err != nil && to == s.watched {
		s.failed(err)
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
	}
}

// flush waits until everything is written. It reports false where it has given up on
// whoever should read it.
func (s *stream) flush() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes > 0 {
		until := s.deadline
		if stalls := s.moved.Add(s.patience); s.patience > 0 && (until.IsZero() || stalls.Before(until)) {
			until = stalls
		}
		if until.IsZero() {
			s.changed.Wait()
			continue
		}
		left := time.Until(until)
		if left <= 0 {
			return false
		}
		alarm := time.AfterFunc(left, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
		s.changed.Wait()
		alarm.Stop()
	}
	return true
}
