package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// reader takes what is written only when it is told to.
type reader struct {
	got  bytes.Buffer
	take chan struct{} // one element for each write that may go through; closed: all
}

func (r *reader) Write(p []byte) (int, error) {
	<-r.take
	return r.got.Write(p)
}

func TestOutputKeepsTheOrder(t *testing.T) {
	var both bytes.Buffer
	stdout, stderr := struct{ *bytes.Buffer }{&both}, struct{ *bytes.Buffer }{&both}
	o := newOutput(stdout, stderr, true, func(error) { t.Error("it failed") })
	for range 100 {
		o.out("a")
		o.diag("b")
	}
	if err := o.wait(); err != nil || both.String() != strings.Repeat("ab", 100) {
		t.Errorf("%v, %q", err, both.String())
	}
	if !o.done() {
		t.Error("not done")
	}
}

func TestOutputHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{take: make(chan struct{})}
		o := newOutput(r, &bytes.Buffer{}, false, func(error) {})
		put := make(chan struct{})
		go func() {
			defer close(put)
			for range 5 {
				o.out(strings.Repeat("x", holdBack/2))
			}
		}()
		synctest.Wait()
		select {
		case <-put:
			t.Error("nobody was made to wait")
		default:
		}
		close(r.take)
		<-put
		if !o.done() || r.got.Len() != 5*holdBack/2 {
			t.Errorf("%d bytes were read", r.got.Len())
		}
	})
}

// Once the run is being ended nobody waits for a reader that does not read; one that
// does, however slowly, gets everything.
func TestOutputHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{take: make(chan struct{})}
		o := newOutput(r, &bytes.Buffer{}, false, func(error) {})
		put := make(chan struct{})
		go func() {
			defer close(put)
			for range 8 {
				o.out(strings.Repeat("x", holdBack))
			}
		}()
		synctest.Wait()
		o.hurry(stalled)
		<-put
		// A reader that takes a little of a piece, and then nothing, is given up on
		// only then: what it takes counts, not whole pieces.
		const taken = 10
		go func() {
			for range taken {
				time.Sleep(stalled / 2)
				r.take <- struct{}{}
			}
		}()
		began := time.Now()
		if o.done() {
			t.Error("done, although not all was read")
		}
		if took := time.Since(began); took < taken*stalled/2+stalled || took > taken*stalled/2+2*stalled {
			t.Errorf("gave up after %v", took)
		}
		close(r.take)
	})
}

func TestOutputDropsWhatNobodyReads(t *testing.T) {
	r := &reader{take: make(chan struct{})}
	o := newOutput(r, &bytes.Buffer{}, false, func(error) {})
	o.hurry(stalled)
	const piece = 4 << 20
	for range 3 * giveUp / piece {
		o.out(strings.Repeat("x", piece))
	}
	o.result("the end")
	o.outs.mu.Lock()
	if o.outs.bytes > giveUp+piece+len("the end") {
		t.Errorf("%d bytes are kept", o.outs.bytes)
	}
	o.outs.mu.Unlock()
	close(r.take)
	o.done()
	if lost := 3*giveUp/piece - r.got.Len()/piece; lost == 0 || o.dropped() != lost {
		t.Errorf("%d pieces are missing, and %d are said to be", lost, o.dropped())
	}
	if !strings.HasSuffix(r.got.String(), "the end") {
		t.Error("the result is dropped too")
	}
}

// A stderr that nobody reads costs stdout nothing, and a second signal is heeded
// however slowly somebody reads.
func TestOutputStreamsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{take: make(chan struct{})}
		var stdout bytes.Buffer
		o := newOutput(&stdout, r, false, func(error) {})
		o.diag("stuck")
		o.hurry(stalled)
		o.result("the result")
		began := time.Now()
		if err := o.wait(); err != nil || stdout.String() != "the result" || time.Since(began) != 0 {
			t.Errorf("%v after %v, stdout %q", err, time.Since(began), &stdout)
		}
		if !o.done() || time.Since(began) != stalled {
			t.Errorf("done after %v, want %v", time.Since(began), stalled)
		}
		close(r.take)
	})
}

func TestOutputIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{take: make(chan struct{})}
		o := newOutput(r, &bytes.Buffer{}, false, func(error) {})
		o.hurry(stalled)
		o.out(strings.Repeat("x", holdBack))
		over := make(chan struct{})
		go func() {
			for {
				select {
				case <-time.After(stalled / 2):
					r.take <- struct{}{}
				case <-over:
					close(r.take)
					return
				}
			}
		}()
		began := time.Now()
		time.AfterFunc(10*stalled, func() { o.abandon(stalled) })
		if o.done() || time.Since(began) != 11*stalled {
			t.Errorf("done after %v, want %v", time.Since(began), 11*stalled)
		}
		close(over)
	})
}

// What a killed run is late with is still delivered: the clock is the reader's.
func TestOutputOfALateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stdout bytes.Buffer
		o := newOutput(&stdout, &bytes.Buffer{}, false, func(error) {})
		killed, kill := context.WithCancel(t.Context())
		o.killed = killed
		o.hurry(stalled)
		kill()
		time.Sleep(killWait)
		if err := o.deliver("the result", nil); err != nil || o.end(err, 0, 0) != 0 || stdout.String() != "the result" {
			t.Errorf("error %v, stdout %q", err, &stdout)
		}
	})
}

// failing is a stdout that does not take anything.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputTellsOfTheFirstError(t *testing.T) {
	var stderr bytes.Buffer
	var told []error
	o := newOutput(failing{syscall.EPIPE}, &stderr, false, func(err error) { told = append(told, err) })
	o.out("a")
	o.diag("b")
	o.out("c")
	if err := o.wait(); !isClosedPipe(err) {
		t.Errorf("error %v", err)
	}
	o.done()
	if len(told) != 1 || stderr.String() != "b" {
		t.Errorf("told %v, stderr %q", told, &stderr)
	}
	// One that stderr makes is told to nobody, and holds nothing up.
	o = newOutput(&stderr, failing{errors.New("gone")}, true, func(error) { t.Error("told") })
	o.diag("x")
	o.out("y")
	if !o.done() || stderr.String() != "by" {
		t.Errorf("got %q", &stderr)
	}
}

func TestOutputDrawsOnlyWhenIdle(t *testing.T) {
	r := &reader{take: make(chan struct{})}
	var stderr bytes.Buffer
	o := newOutput(r, &stderr, true, func(error) {})
	o.out("x")
	o.drawn("spinner")
	close(r.take)
	o.wait()
	o.drawn("again")
	o.done()
	if stderr.String() != "again" {
		t.Errorf("stderr %q", &stderr)
	}
}

// A full disk is told also where the run is being ended: what is written then is
// waited for like anything else.
func TestOutputWaitsForTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutput(slowDisk{}, &bytes.Buffer{}, false, func(error) {})
		o.hurry(stalled)
		o.out("the result")
		if err := o.wait(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("wait: %v, want what the disk said", err)
		}
		o.done()
	})
}

// slowDisk is full, and says so after a while.
type slowDisk struct{}

func (slowDisk) Write([]byte) (int, error) {
	time.Sleep(stalled / 4)
	return 0, syscall.ENOSPC
}
