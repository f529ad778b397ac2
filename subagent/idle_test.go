package subagent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleClock(t *testing.T) {
	type look struct {
		at      time.Duration // since the start
		a       activity
		expired bool
	}
	for name, looks := range map[string][]look{
		"silence":                      {{at: 9 * time.Second}, {at: 10 * time.Second, expired: true}},
		"a frame begins the time anew": {{at: 9 * time.Second, a: activity{frames: 1}}, {at: 18 * time.Second, a: activity{frames: 1}}, {at: 19 * time.Second, a: activity{frames: 1}, expired: true}},
		"an answer that we owe stops it": {
			{at: 9 * time.Second, a: activity{waiting: true}}, {at: 3600 * time.Second, a: activity{waiting: true}},
			{at: 3601 * time.Second}, {at: 3609 * time.Second}, {at: 3610 * time.Second, expired: true},
		},
		"an open tool call makes it ten times as long": {
			{at: 20 * time.Second, a: activity{openCall: true}}, {at: 99 * time.Second, a: activity{openCall: true}},
			{at: 100 * time.Second, a: activity{openCall: true}, expired: true},
		},
		"and no longer than that once it is closed": {{at: 50 * time.Second, a: activity{openCall: true}}, {at: 51 * time.Second, expired: true}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			c := idleClock{limit: 10 * time.Second, last: start, looked: start}
			before := look{}
			for _, l := range looks {
				for at := before.at + time.Second; at < l.at; at += time.Second {
					c.tick(start.Add(at), before.a) // as it goes on between the looks that count
				}
				before = l
				if got := c.tick(start.Add(l.at), l.a); got != l.expired {
					t.Fatalf("after %v with %+v: expired %v", l.at, l.a, got)
				}
			}
		})
	}
}

func TestWatchIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		look func(since time.Duration) activity
		want time.Duration // 0: never within the hour
	}{
		"silence": {func(time.Duration) activity { return activity{frames: 7} }, 10 * time.Second},
		"busy for a minute": {func(since time.Duration) activity {
			return activity{frames: int64(min(since, time.Minute) / time.Second)}
		}, 70 * time.Second},
		"a tool call":    {func(time.Duration) activity { return activity{openCall: true} }, 100 * time.Second},
		"our turn":       {func(time.Duration) activity { return activity{waiting: true} }, 0},
		"busy all along": {func(since time.Duration) activity { return activity{frames: int64(since / time.Second)} }, 0},
		"a moment's work": {func(since time.Duration) activity {
			return activity{waiting: since > 5*time.Second && since < 7*time.Second}
		}, 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var expired time.Duration
				watchIdle(ctx, 10*time.Second, func() activity { return tt.look(time.Since(start)) }, func() {
					expired = time.Since(start)
				})
				// It is late by a tenth at most.
				if expired < tt.want || expired > tt.want+time.Second {
					t.Errorf("expired after %v, want %v", expired, tt.want)
				}
				if took := time.Since(start); tt.want == 0 && took != time.Hour || tt.want != 0 && took != expired {
					t.Errorf("it returned after %v", took)
				}
			})
		})
	}
}

// The time in which this process itself stood still is not the agent's: what it wrote
// meanwhile was not read yet.
func TestIdleClockStandsStillWithUs(t *testing.T) {
	const limit = 10 * time.Second
	start := time.Now()
	c := idleClock{limit: limit, last: start, looked: start}
	now := start
	for _, step := range []struct {
		since   time.Duration // the look before
		frames  int64
		expired bool
	}{
		{since: time.Second, frames: 1},
		{since: time.Second, frames: 1},
		{since: time.Hour, frames: 1}, // stopped, and just continued
		{since: time.Second, frames: 2},
		{since: time.Hour, frames: 2},
		{since: 7 * time.Second, frames: 2}, // slow, which counts as two looks each
		{since: 7 * time.Second, frames: 2},
		{since: 7 * time.Second, frames: 2},
		{since: 7 * time.Second, frames: 2, expired: true},
	} {
		now = now.Add(step.since)
		if got := c.tick(now, activity{frames: step.frames}); got != step.expired {
			t.Fatalf("%v after the look before, at %v: expired %v", step.since, now.Sub(start), got)
		}
	}
}
