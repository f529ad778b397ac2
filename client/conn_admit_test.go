package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// eachWaiting runs a test for each callback of a request.
func eachWaiting(t *testing.T, test func(t *testing.T, c callback)) {
	eachCallback(t, func(t *testing.T, c callback) {
		if c.ordered {
			t.Skip("it is no request")
		}
		test(t, c)
	})
}

// bloated is the callback's line with so many bytes more in it.
func (c callback) bloated(id string, bytes int) string {
	line := strings.ReplaceAll(c.line, "q$N", id)
	return strings.TrimSuffix(line, "}") + fmt.Sprintf(`,"params":{"sessionId":"s","path":"/a","toolCall":{"toolCallId":"t"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}],"x":%q}}`, strings.Repeat("x", bytes))
}

// answered reads the answer to a request.
func (p *connPeer) answered(id string) {
	p.t.Helper()
	if f := p.read(); string(f.ID) != `"`+id+`"` {
		p.t.Fatalf("answered is %s, want %s", f.ID, id)
	}
}

// While the client is at work on a request, however large it or the next one is, the
// agent is heard: it can withdraw what it asked, and ask for what ends by itself.
func TestWaitingRequestsLeaveTheAgentHeard(t *testing.T) {
	eachWaiting(t, func(t *testing.T, c callback) {
		p := newConnPeer(t)
		var begun atomic.Int64
		h := &Handlers{OnKillTerminal: func(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
			return acp.KillTerminalResponse{}, nil
		}}
		c.set(h, func(ctx context.Context) { begun.Add(1); <-ctx.Done() })
		p.dial(h, &ConnOptions{MaxQueueBytes: 16 << 10, patience: connPatience})
		for i, bytes := range []int{0, 64 << 10, 128 << 10} {
			p.send("%s", c.bloated(fmt.Sprint("r", i), bytes))
			for deadline := time.Now().Add(connPatience); begun.Load() <= int64(i); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("it is not served")
				}
			}
		}
		p.send(`{"jsonrpc":"2.0","id":"kill","method":"terminal/kill","params":{"sessionId":"s","terminalId":"t"}}`)
		p.answered("kill")
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"r0"}}`)
		p.answered("r0")
		for _, id := range []string{"r1", "r2"} {
			p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%q}}`, id)
			p.answered(id)
		}
	})
}

// Only so many requests are open, in number and in bytes. What comes beyond waits, and is
// refused where none of the others ends, a permission with an outcome.
func TestTooManyWaitingRequests(t *testing.T) {
	const atOnce = 2
	for name, bytes := range map[string]int{"in number": 0, "in bytes": 12 << 10} {
		t.Run(name, func(t *testing.T) {
			eachWaiting(t, func(t *testing.T, c callback) {
				p := newConnPeer(t)
				release := make(chan struct{})
				var at, most atomic.Int64
				h := &Handlers{}
				c.set(h, func(context.Context) {
					if n := at.Add(1); n > most.Load() {
						most.Store(n)
					}
					<-release
					at.Add(-1)
				})
				conn := p.dial(h, &ConnOptions{MaxRequests: atOnce, MaxQueueBytes: 16 << 10, MaxMessageBytes: 32 << 10, patience: 10 * time.Millisecond})
				room := 2 * atOnce
				if bytes > 0 {
					room = 3
				}
				const over = 3
				for i := range room + over {
					p.send("%s", c.bloated(fmt.Sprint("r", i), bytes))
				}
				for range over {
					f := p.read() // which of them is one too many is not said
					if c.name == "OnRequestPermission" {
						if want := `{"outcome":{"outcome":"cancelled"}}`; string(f.Result) != want {
							t.Errorf("one too many: %s %s, want %s", f.Result, f.Error, want)
						}
						continue
					}
					var e struct {
						Code    int
						Message string
					}
					json.Unmarshal(f.Error, &e)
					if e.Code != codeRequest || e.Message != errBusy.Message {
						t.Errorf("one too many: %s %s", f.Result, f.Error)
					}
				}
				if got := conn.Stats().OpenRequests; got != room {
					t.Errorf("%d requests are open, want %d", got, room)
				}
				close(release)
				for range room {
					if f := p.read(); f.Error != nil || strings.Contains(string(f.Result), "cancelled") {
						t.Errorf("%s: %s %s", f.ID, f.Result, f.Error)
					}
				}
				if got := most.Load(); got > atOnce {
					t.Errorf("%d are served at once, want %d", got, atOnce)
				}
			})
		})
	}
}
