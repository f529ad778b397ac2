//go:build unix

package subagent_test

import (
	"context"
	"log/slog"

	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// frameHook is a log handler that is told of each frame as it passes.
type frameHook func(msg, method string, bytes int)

func (h frameHook) Enabled(context.Context, slog.Level) bool { return true }
func (h frameHook) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h frameHook) WithGroup(string) slog.Handler            { return h }
func (h frameHook) Handle(_ context.Context, r slog.Record) error {
	var method string
	var bytes int
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "method":
			method = a.Value.String()
		case "bytes":
			bytes = int(a.Value.Int64())
		}
		return true
	})
	h(r.Message, method, bytes)
	return nil
}

// onFrame calls f at the first frame of that method that is sent or received.
func onFrame(msg, method string, f func(*spot)) func(*spot, *subagent.ACPOptions, *subagent.Request) {
	return func(sp *spot, o *subagent.ACPOptions, _ *subagent.Request) {
		o.Logger = slog.New(frameHook(func(m, name string, _ int) {
			if m == msg && name == method {
				f(sp)
			}
		}))
	}
}

// whenReceived is there when that many bytes of updates were received.
func whenReceived(n int64) func(*spot, *subagent.ACPOptions, *subagent.Request) {
	return func(sp *spot, o *subagent.ACPOptions, _ *subagent.Request) {
		o.Logger = slog.New(frameHook(func(m, name string, bytes int) {
			if m == "received" && name == "session/update" && sp.bytes.Add(int64(bytes)) > n {
				sp.here()
			}
		}))
	}
}

// held is a policy that says when it is asked and then waits to be let go, or for the
// end of the request too: that comes first.
func held(sp *spot, heeds bool) permission.Policy {
	return permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
		sp.here()
		done := ctx.Done()
		if !heeds {
			done = nil
		}
		select {
		case <-done:
		case <-sp.free:
			if heeds && ctx.Err() == nil {
				sp.errorf("the context of a permission request outlives its turn")
			}
		}
		return permission.Allow().Decide(ctx, req)
	})
}
