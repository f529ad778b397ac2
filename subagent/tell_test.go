package subagent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/errand-acp/errand/client"
)

func TestEventOrder(t *testing.T) {
	var got []string
	r := newRun(t.Context(), "p", Request{Events: func(e Event) {
		if e.RunID == "" || e.Time.IsZero() {
			t.Errorf("event %+v", e)
		}
		got = append(got, string(e.Type)+string(e.Update))
	}})
	defer r.cancel(errClosed)
	update := func(n int) { r.event(Event{Type: EventUpdate, Update: json.RawMessage(fmt.Sprint(n))}) }
	update(1)
	r.warn("w")
	update(2)
	if got != nil {
		t.Errorf("told before the start: %q", got)
	}
	r.tellStart()
	update(3)
	r.event(Event{Type: EventEnd})
	update(4)
	r.event(Event{Type: EventEnd})
	if joined := strings.Join(got, " "); joined != "start update1 warning update2 update3 end" {
		t.Errorf("told %q", joined)
	}
}

// An agent that floods its session before that exists does not fill the parent.
func TestEarlyEventsAreBounded(t *testing.T) {
	n := 0
	r := newRun(t.Context(), "p", Request{Events: func(Event) { n++ }})
	defer r.cancel(errClosed)
	const size = 1 << 20
	raw := make(json.RawMessage, size)
	for range 100 {
		r.event(Event{Type: EventUpdate, Update: raw})
	}
	r.tellStart()
	if n < 2 || n > 1+keepEarly/size {
		t.Errorf("%d events were kept", n)
	}
	r.event(Event{Type: EventUpdate, Update: raw})
	if r.early != nil {
		t.Error("the early ones are kept after the start")
	}
}

func TestListenerPanics(t *testing.T) {
	r := newRun(t.Context(), "p", Request{Events: func(e Event) { panic(e.Type) }})
	defer r.cancel(errClosed)
	r.tellStart()
	r.event(Event{Type: EventUpdate})
	r.event(Event{Type: EventEnd})
	if len(r.warnings) != 1 || r.warnings[0] != "Request.Events panicked at a start event" {
		t.Errorf("warnings %q", r.warnings)
	}
}

func TestRunIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := newRunID()
		if seen[id] || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(id) > 64 {
			t.Fatalf("run id %q", id)
		}
		seen[id] = true
	}
}

// What a slow reader does to the agent is not idleness of the agent's.
func TestDelivering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		r := newRun(t.Context(), "p", Request{Events: func(e Event) {
			if e.Type == EventUpdate {
				<-ready
			}
		}})
		defer r.cancel(errClosed)
		r.tellStart()
		if n := r.delivering.Load(); n != 0 {
			t.Errorf("%d updates are being delivered before there is one", n)
		}
		go r.update(client.Update{}) // ends when it is delivered
		synctest.Wait()
		if n := r.delivering.Load(); n != 1 {
			t.Errorf("%d updates are being delivered to a listener that is busy, want 1", n)
		}
		close(ready)
		synctest.Wait()
		if n := r.delivering.Load(); n != 0 {
			t.Errorf("%d updates are being delivered after all were", n)
		}
	})
}
