package wire

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/iotest"
)

// Whatever the peer writes: nothing panics, every call ends once it has gone, every
// request has been answered, and nothing stays queued.
func FuzzPeer(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":2,"error":{"code":1}}`,
		`{"jsonrpc":"2.0","method":"notify/a","params":{}}` + "\r\n\r\n" + `[{"id":1,"method":"peer/call"},{"id":"x","method":"ask/a"}]`,
		"\x1b[0m\ufeff{\"id\":\"1.0\",\"result\":null}\nnoise\n{\"id\":2,\"msg\":\"log\"}",
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"x"}}`,
		`{"id":1,"method":"ask/panic"}` + "\n" + `{"method":"notify/panic"}`,
	} {
		f.Add([]byte(text), uint8(0))
		f.Add([]byte(text), uint8(20))
	}
	f.Fuzz(func(t *testing.T, text []byte, limit uint8) {
		h := &hooks{
			run: func(_ context.Context, method, _ string) {
				if method == "notify/panic" {
					panic("run")
				}
			},
			serve: func(r *Request) (any, error) {
				if r.Method == "ask/panic" {
					panic("serve")
				}
				return nil, nil
			},
		}
		in, out := io.Pipe()
		conn := New(iotest.OneByteReader(in), io.Discard, h, &Options{MaxMessageBytes: int(limit), MaxQueueBytes: 300, MaxRequests: 2})
		conn.Listen()
		var calls []*Call
		for range 2 {
			k, err := conn.Start(t.Context(), "peer/call", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, k)
		}
		io.Copy(out, bytes.NewReader(text))
		out.Close()
		for _, k := range calls {
			<-k.Done()
		}
		eventually(t, "all is done", conn.idle)
		if s := conn.Stats(); len(s.Noise) > maxNoise {
			t.Errorf("%d lines of noise are kept", len(s.Noise))
		}
	})
}
