package client

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/redact"
)

type slow func()

func (write slow) Write(p []byte) (int, error) {
	write()
	return len(p), nil
}

func newTestRecorder(write func()) *recorder {
	r := &recorder{w: transcript.NewWriter(slow(write)), redact: redact.New(nil), started: time.Now(), patience: recordPatience}
	r.changed.L = &r.mu
	return r
}

func mebibyte() record {
	return record{entry: transcript.Entry{From: transcript.FromStderr}, line: bytes.Repeat([]byte("x"), 1<<20)}
}

// Who is held back while somebody else is takes nothing off what is left of the patience.
func TestRecordPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRecorder(func() { time.Sleep(time.Second) })
		r.add(record{header: &transcript.Header{}}, false)
		began := time.Now()
		var held sync.WaitGroup
		for range 2 {
			held.Go(func() {
				for range 20 {
					r.add(mebibyte(), true)
				}
			})
		}
		held.Wait()
		if spent, most := recordPatience-r.patience, time.Since(began); spent < most/2 || spent > most {
			t.Errorf("%v are taken off in %v", spent, most)
		}
		r.end(transcript.End{})
		check.Equal(t, "error", r.w.Err(), nil)
	})
}

// A writer that blocks holds everybody back for as long as it may, and no longer.
func TestRecordStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		r := newTestRecorder(func() { <-stuck })
		began := time.Now()
		var held sync.WaitGroup
		for range 2 {
			held.Go(func() {
				for range 20 {
					r.add(mebibyte(), true)
				}
			})
		}
		held.Wait()
		check.Equal(t, "held back for", time.Since(began), recordStall)
		check.Equal(t, "error", r.w.Err(), errRecordSlow)
		close(stuck)
	})
}

// Where nobody is held back the recording is given up before it takes all the memory.
func TestRecordBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		r := newTestRecorder(func() { <-stuck })
		defer close(stuck)
		began := time.Now()
		r.lift()
		for range maxRecordBacklog >> 20 {
			r.add(mebibyte(), true)
		}
		check.Equal(t, "error", r.w.Err(), nil)
		r.add(mebibyte(), true)
		r.add(mebibyte(), true)
		check.Equal(t, "error", r.w.Err(), errRecordSlow)
		check.Equal(t, "held back for", time.Since(began), 0)
	})
}
