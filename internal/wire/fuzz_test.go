package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

// Whatever the peer writes: nothing panics, every call ends once, at the latest when it
// has gone, every request has been answered with a frame, and nothing stays: neither
// queued nor as a goroutine.
func FuzzPeer(f *testing.F) {
	for _, text := range []string{
		`{"id":1,"method":"ask/panic"}` + "\n" + `{"method":"notify/panic"}`,
		`{"id":1,"method":"ask/call"}` + "\n" + `{"method":"notify/call"}` + "\n" + `{"id":3,"result":1}` + "\n" + `{"id":4,"result":2}`,
		`{"id":1,"method":"ask/exit"}` + "\n" + `{"method":"notify/exit"}` + "\n" + `{"method":"notify/a"}`,
	} {
		f.Add([]byte(text), uint8(0))
		f.Add([]byte(text), uint8(20))
	}
	f.Fuzz(func(t *testing.T, text []byte, limit uint8) {
		goroutines := runtime.NumGoroutine()
		var conn *Conn
		var ran, panics atomic.Int64
		act := func(ctx context.Context, method string) {
			switch method {
			case "notify/panic", "ask/panic":
				panics.Add(1)
				panic(method)
			case "notify/exit", "ask/exit":
				panics.Add(1)
				runtime.Goexit()
			case "notify/call", "ask/call":
				conn.Call(ctx, "peer/nested", nil, nil)
			}
		}
		var answers frameCounter
		h := &hooks{
			run:   func(ctx context.Context, method, _ string) { ran.Add(1); act(ctx, method) },
			serve: func(r *Request) (any, error) { act(r.Context(), r.Method); return nil, nil },
		}
		in, out := io.Pipe()
		conn = New(iotest.OneByteReader(in), &answers, h, &Options{MaxMessageBytes: int(limit), MaxQueueBytes: 300, MaxRequests: 2})
		var calls []*Call
		for range 2 {
			k, err := conn.Start(t.Context(), "peer/call", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, k)
		}
		conn.Listen()
		io.Copy(out, bytes.NewReader(text))
		out.Close()
		for i, k := range calls {
			<-k.Done()
			result, err := k.Reply()
			_, answered := errors.AsType[*Error](err)
			_, failed := errors.AsType[*CallError](err)
			if outcomes := count(result != nil, answered, failed); outcomes != 1 {
				t.Errorf("call %d has %d outcomes: %s, %v", i+1, outcomes, result, err)
			}
		}
		eventually(t, "all is done", conn.idle)
		s := conn.Stats()
		if len(s.Noise) > maxNoise || s.Panics != panics.Load() {
			t.Errorf("%d panics of %d, %d lines of noise are kept", s.Panics, panics.Load(), len(s.Noise))
		}
		if answers.bad.Load() > 0 || answers.n.Load() != s.Sent {
			t.Errorf("%d frames of %d are bad, %d are counted", answers.bad.Load(), answers.n.Load(), s.Sent)
		}
		eventually(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	})
}

// frameCounter is a peer's input that reads frames.
type frameCounter struct{ n, bad atomic.Int64 }

func (c *frameCounter) Write(p []byte) (int, error) {
	c.n.Add(1)
	s := NewScan(p)
	if f, ok := parseFrame(&s, nil); !ok || !f.marked || p[len(p)-1] != '\n' || bytes.Count(p, []byte("\n")) != 1 || !s.End() {
		c.bad.Add(1)
	}
	return len(p), nil
}

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
