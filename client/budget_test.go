package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The startup deadline is one budget for initialize and the first session, tries that
// fail included, and none for what comes after.
func TestStartBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Agent{launch: launch{opts: Options{StartTimeout: 3 * time.Second}}, startLeft: 3 * time.Second}
		left := func() time.Duration {
			t.Helper()
			ctx, done := a.startContext(t.Context())
			defer done()
			deadline, ok := ctx.Deadline()
			if !ok {
				return -1
			}
			return time.Until(deadline)
		}
		spend := func(d time.Duration) {
			ctx, done := a.startContext(t.Context())
			time.Sleep(d)
			if err := ctx.Err(); err != nil {
				t.Errorf("it ended early: %v", err)
			}
			done()
		}
		spend(time.Second)
		time.Sleep(time.Hour) // the caller's own time, which is none of the agent's
		spend(500 * time.Millisecond)
		if got := left(); got != 1500*time.Millisecond {
			t.Errorf("%v are left of 3s after 1.5s", got)
		}

		ctx, done := a.startContext(t.Context())
		<-ctx.Done()
		if ctxKind(ctx) != KindStartupTimeout || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("kind %q, %v", ctxKind(ctx), ctx.Err())
		}
		done()
		if got := left(); got > 0 {
			t.Errorf("%v are left of what was spent", got)
		}

		a.started = true
		if got := left(); got != -1 {
			t.Errorf("a second session has a deadline, in %v", got)
		}
	})
}

// The caller's deadline is told from ours, whichever comes first.
func TestStartBudgetOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			ours, theirs time.Duration
			want         ErrorKind
		}{
			{time.Second, time.Minute, KindStartupTimeout},
			{time.Minute, time.Second, KindTimeout},
			{NoTimeout, time.Second, KindTimeout},
		} {
			a := &Agent{launch: launch{opts: Options{StartTimeout: tt.ours}}, startLeft: tt.ours}
			ctx, cancel := context.WithTimeout(t.Context(), tt.theirs)
			ctx, done := a.startContext(ctx)
			<-ctx.Done()
			if got := ctxKind(ctx); got != tt.want {
				t.Errorf("ours %v, theirs %v: kind %q, want %q", tt.ours, tt.theirs, got, tt.want)
			}
			done()
			cancel()
		}
	})
}
