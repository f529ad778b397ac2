package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/errand-acp/errand/internal/check"
)

// Whatever the peer writes: nothing panics, every call ends once, at the latest when it
// has gone, and with the reply if there was one; every request has one answer, under its
// id; and nothing stays: neither queued nor as a goroutine.
func FuzzPeer(f *testing.F) {
	for _, text := range []string{
		`{"id":1,"method":"ask/panic"}` + "\n" + `{"method":"notify/panic"}`,
		`{"id":1,"method":"ask/call"}` + "\n" + `{"method":"notify/call"}` + "\n" + `{"id":3,"result":1}` + "\n" + `{"id":4,"result":2}`,
		`{"id":1,"method":"ask/exit"}` + "\n" + `{"method":"notify/exit"}` + "\n" + `{"method":"notify/a"}`,
	} {
		f.Add([]byte(text), uint8(0))
		f.Add([]byte(text), uint8(20))
	}
	f.Add([]byte(strings.Repeat("noise\n", 3*maxNoise)), uint8(0))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":null}`+"\n"+`{"jsonrpc":"2.0","id":"x","params":{}}`), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, limit uint8) {
		check.Cost(t, len(text))
		goroutines := runtime.NumGoroutine()
		var conn *Conn
		var panics atomic.Int64
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
		var out sentFrames
		requests := map[string]int{} // by id
		h := &hooks{
			run:     func(ctx context.Context, method, _ string) { act(ctx, method) },
			receive: func(r *Request) { requests[string(r.id)]++ },
			serve:   func(r *Request) (any, error) { act(r.Context(), r.Method); return nil, nil },
		}
		in, peer := io.Pipe()
		conn = New(iotest.OneByteReader(in), &out, h, &Options{MaxMessageBytes: int(limit), MaxQueueBytes: 300, MaxRequests: 2})
		var calls []*Call
		for range 2 {
			k, err := conn.Start(t.Context(), "peer/call", nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, k)
		}
		conn.Listen()
		io.Copy(peer, bytes.NewReader(text))
		peer.Close()
		said := check.ReadFrames(string(text), cmp.Or(int(limit), len(text)))
		for i, k := range calls {
			<-k.Done()
			result, err := k.Reply()
			_, answered := errors.AsType[*Error](err)
			_, failed := errors.AsType[*CallError](err)
			if outcomes := count(result != nil, answered, failed); outcomes != 1 {
				t.Errorf("call %d has %d outcomes: %s, %v", i+1, outcomes, result, err)
			}
			if want, _ := said.Reply(strconv.Itoa(i + 1)); want != nil && string(want) != string(result) {
				t.Errorf("call %d has %s, %v; the reply was %s", i+1, result, err, want)
			}
		}
		eventually(t, "all is done", conn.idle)
		s := conn.Stats()
		if len(s.Noise) > maxNoise || s.Panics != panics.Load() {
			t.Errorf("%d panics of %d, %d lines of noise are kept", s.Panics, panics.Load(), len(s.Noise))
		}
		if out.bad > 0 || out.n != s.Sent {
			t.Errorf("%d frames of %d are bad, %d are counted", out.bad, out.n, s.Sent)
		}
		answers := 0
		for id, n := range out.answers {
			if answers += n; n < requests[id] {
				t.Errorf("request %s has %d answers of %d", id, n, requests[id])
			}
			delete(requests, id)
		}
		if len(requests) > 0 || int64(answers) > s.Received {
			t.Errorf("no answer to %v; %d answers to %d frames", requests, answers, s.Received)
		}
		for _, f := range said.List {
			echo := bytes.HasPrefix(f["method"], []byte(`"peer/`))
			if id := string(f["id"]); f.Asks() && !echo && out.answers[id] == 0 {
				t.Errorf("request %s has no answer", id)
			}
		}
		eventually(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	})
}

// sentFrames is a peer's input that reads frames.
type sentFrames struct {
	n       int64
	bad     int
	answers map[string]int // by id
}

func (o *sentFrames) Write(p []byte) (int, error) {
	o.n++
	s := NewScan(p)
	f, ok := parseFrame(&s, nil)
	if !ok || !f.marked || p[len(p)-1] != '\n' || bytes.Count(p, []byte("\n")) != 1 || !s.End() {
		o.bad++
	}
	if !f.asks {
		if o.answers == nil {
			o.answers = map[string]int{}
		}
		o.answers[string(f.id)]++
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
