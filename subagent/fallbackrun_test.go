package subagent

import "testing"

// A run that floods its session before its prompt is sent is taken as it is: no more can be
// kept back.
func TestFallbackKeepsBounded(t *testing.T) {
	var told int
	r := newFallbackRun("any", func(Event) { told++ })
	update := Event{Type: EventUpdate, Update: make([]byte, 1<<20)}
	p := &tries{fallback: &fallback{name: "any"}, ctx: t.Context()}
	inner := newRun(t.Context(), "p", Request{})
	for range keepEarly / len(update.Update) {
		select {
		case <-r.full:
			t.Fatal("there is room yet")
		default:
		}
		r.event(update)
	}
	r.event(update)
	if err := p.unsent(inner, r.full); err != nil {
		t.Errorf("it was given up: %v", err)
	}
	r.Run = inner
	r.open()
	r.event(update)
	if want := keepEarly/len(update.Update) + 2; told != want {
		t.Errorf("told %d events, want %d", told, want)
	}
}
