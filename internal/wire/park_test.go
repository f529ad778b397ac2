package wire

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A request that is parked takes no place, and only so many of a kind can be.
func TestPark(t *testing.T) {
	const bound = 2
	release := make(chan struct{})
	var parked atomic.Int64
	p := dial(t, &hooks{serve: func(r *Request) (any, error) {
		if r.Method == "ask/now" {
			return "now", nil
		}
		if !Park(r.Context(), r.Method, 0) {
			return "full", nil
		}
		Park(r.Context(), r.Method, patience) // is the same as once
		parked.Add(1)
		<-release
		return "waited", nil
	}}, &Options{MaxRequests: bound, MaxQueueBytes: 1000})
	const n = parkedPerPlace * bound
	for _, kind := range []string{"ask/wait", "ask/other"} {
		before := parked.Load()
		for i := range n {
			p.send(`{"jsonrpc":"2.0","id":"%s %d","method":%q}`, kind, i, kind)
		}
		eventually(t, "all wait", func() bool { return parked.Load() == before+n })
	}
	for range 2 * bound { // each place is free
		p.send(`{"jsonrpc":"2.0","id":"x","method":"ask/wait"}`)
		if m := p.read(); string(m.Result) != `"full"` {
			t.Errorf("one too many: %s %s", m.Result, m.Error)
		}
		p.send(`{"jsonrpc":"2.0","id":"y","method":"ask/now"}`)
		if m := p.read(); string(m.Result) != `"now"` {
			t.Errorf("beside those that wait: %s %s", m.Result, m.Error)
		}
	}
	close(release)
	for range 2 * n {
		if m := p.read(); string(m.Result) != `"waited"` {
			t.Errorf("one that waited: %s %s", m.Result, m.Error)
		}
	}
	eventually(t, "nothing is left", p.conn.idle)
	if !Park(t.Context(), "any", 0) {
		t.Error("who has no place has none to give up")
	}
}

// However large those are that wait for the world, what comes after them is read, until
// they are too large together; then one that ends makes room, and what waits for room is
// held up no longer than it wants to, or is withdrawn.
func TestParkedBytes(t *testing.T) {
	const bound = 64 << 10
	release := make(chan struct{})
	var parked log
	waits := map[string]time.Duration{"ask/patient": patience, "ask/impatient": 0}
	p := dial(t, &hooks{serve: func(r *Request) (any, error) {
		if r.Method == "ask/now" {
			return "now", nil
		}
		if !Park(r.Context(), r.Method, waits[r.Method]) {
			return "full", nil
		}
		parked.add("%s", r.Method)
		if r.Method != "ask/impatient" { // those are only seen
			<-release
		}
		return "waited", nil
	}}, &Options{MaxQueueBytes: bound, MaxMessageBytes: 3 * bound})
	ask := func(id, method string, size int) {
		p.send(`{"id":%q,"method":%q,"params":%q}`, id, method, strings.Repeat("x", size))
	}
	answers := func(id, result string) {
		t.Helper()
		if m := p.read(); string(m.ID) != `"`+id+`"` || string(m.Result) != `"`+result+`"` {
			t.Errorf("answer %s: %s %s, want %s: %s", m.ID, m.Result, m.Error, id, result)
		}
	}
	ask("small", "ask/one", 10)
	ask("large", "ask/two", 2*bound)
	ask("other", "ask/three", 3*bound/2) // they are as large as the bounds together now
	eventually(t, "they wait", func() bool { return len(parked.all()) == 3 })
	ask("1", "ask/now", 10)
	answers("1", "now")
	ask("2", "ask/impatient", bound)
	answers("2", "full")
	ask("3", "ask/patient", bound)
	waitsForRoom := func() bool {
		p.conn.mu.Lock()
		defer p.conn.mu.Unlock()
		return p.conn.parked.left != nil && p.conn.serving > 0
	}
	eventually(t, "it waits for room", waitsForRoom)
	p.send(`{"method":"$/cancel_request","params":{"requestId":"3"}}`)
	answers("3", "full")
	ask("5", "ask/patient", bound)
	eventually(t, "it waits for room", waitsForRoom)
	release <- struct{}{}
	p.read()
	release <- struct{}{}
	p.read()
	eventually(t, "there was room for it", func() bool { return len(parked.all()) == 4 })
	close(release)
	p.read()
	p.read()
	eventually(t, "nothing is left", p.conn.idle)
}
