package subagent

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

func newGate(t testing.TB, starts int) *Limits {
	t.Helper()
	l, err := NewLimits(LimitOptions{Starts: starts})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// No more than so many starts of one command are at work at once; those of another do not
// wait for them.
func TestGateStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newGate(t, 2)
		ctx := l.gated(t.Context())
		var npx, node, npxMost atomic.Int64
		start := func(ctx context.Context, command string, now *atomic.Int64) { // ends with the start
			release, err := gateStart(ctx, command)
			if err != nil {
				t.Error(err)
				return
			}
			npxMost.Store(max(npxMost.Load(), npx.Load()))
			now.Add(1)
			time.Sleep(time.Second)
			now.Add(-1)
			release()
		}
		for range 6 {
			go start(ctx, "npx", &npx)
		}
		for range 2 {
			go start(ctx, "node", &node)
			go start(l.gated(ctx), "npx", &npx) // the same limits again are one gate
		}
		synctest.Wait()
		check.Equal(t, "npx", npx.Load(), 2)
		check.Equal(t, "node", node.Load(), 2)
		began := time.Now()
		for npx.Load()+node.Load() > 0 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		check.Equal(t, "all started after", time.Since(began), 4*time.Second)
	})
}

// Limits within limits: each has its gate, and who waits at one holds none inside.
func TestGatesNested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := newGate(t, 1), newGate(t, 1)
		both := inner.gated(outer.gated(t.Context()))
		release, err := gateStart(outer.gated(t.Context()), "npx")
		if err != nil {
			t.Fatal(err)
		}
		waiting := make(chan func())
		go func() { // ends when it was let in, and told
			release, err := gateStart(both, "npx")
			if err != nil {
				t.Error(err)
			}
			waiting <- release
		}()
		synctest.Wait()
		within, err := gateStart(inner.gated(t.Context()), "npx")
		if err != nil {
			t.Fatal(err)
		}
		release()
		synctest.Wait()
		within()
		(<-waiting)()
	})
}

// Who gives up waiting has nothing to give back.
func TestGateStartEnds(t *testing.T) {
	outer, inner := newGate(t, 1), newGate(t, 1)
	release, err := gateStart(inner.gated(t.Context()), "npx")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(inner.gated(outer.gated(t.Context())))
	cancel(cause)
	late, stop := context.WithTimeout(inner.gated(outer.gated(t.Context())), time.Millisecond)
	defer stop()
	for kind, ctx := range map[client.ErrorKind]context.Context{client.KindCancelled: ctx, client.KindTimeout: late} {
		_, err := gateStart(ctx, "npx")
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != kind || e.Step != client.StepSpawn || !errors.Is(err, ctx.Err()) || e.Retryable {
			t.Errorf("error %#v, want one of kind %q", err, kind)
			continue
		}
		check.Has(t, e.Message, "other starts of npx")
		check.Equal(t, "it names the cause", errors.Is(err, cause), kind == client.KindCancelled)
	}
	release()
	for _, l := range []*Limits{outer, inner} {
		release, err := gateStart(l.gated(t.Context()), "npx")
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
}

// Without limits, or without one on starts, there is no gate.
func TestNoGate(t *testing.T) {
	for _, ctx := range []context.Context{t.Context(), new(Limits).gated(t.Context()), newGate(t, 0).gated(t.Context())} {
		var releases []func()
		for range 5 {
			release, err := gateStart(ctx, "npx")
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		for _, release := range slices.Backward(releases) {
			release()
		}
	}
}
