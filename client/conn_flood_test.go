package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// slowDesk decides at once and is slow to hear of it.
type slowDesk struct{ release chan struct{} }

func (d slowDesk) asked(json.RawMessage) {}

func (d slowDesk) decide(_ context.Context, p acp.RequestPermissionRequest) (acp.PermissionOptionId, permission.Record) {
	return "yes", permission.Record{RawInput: p.ToolCall.RawInput}
}

func (d slowDesk) settled(params json.RawMessage, rec *permission.Record, why string, since time.Time) (now, later func()) {
	return nil, func() { <-d.release; runtime.KeepAlive(rec); runtime.KeepAlive(params) }
}

// However much an agent sends of what ACP has, and whoever is slow, little is held.
func TestConnFlood(t *testing.T) {
	const (
		flood = 4 << 20
		most  = 3 << 20
	)
	x := func(n int) string { return strings.Repeat("x", n) }
	ask := func(id, session, input string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"t","rawInput":%q},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`, id, session, input)
	}
	for name, line := range map[string]func(i int) string{
		"permissions":              func(i int) string { return ask(fmt.Sprint(i), "s", "") },
		"large permissions":        func(i int) string { return ask(fmt.Sprint(i), "s", x(200<<10)) },
		"permissions of sessions":  func(i int) string { return ask(fmt.Sprint(i), fmt.Sprint("session ", i, x(100)), "") },
		"updates of sessions":      func(i int) string { return chunkLine(fmt.Sprint("session ", i, x(100)), "x") },
		"sessions with long names": func(i int) string { return chunkLine(fmt.Sprint("session ", i, x(200<<10)), "x") },
		"updates":                  func(i int) string { return chunkLine("s", "x") },
		"updates of unknown kinds": func(i int) string {
			return strings.Replace(chunkLine("s", "x"), "agent_message_chunk", fmt.Sprint("kind", i), 1)
		},
		"notifications by any name": func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"vendor/%d","params":%q}`, i, x(100))
		},
		"requests by any name": func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"_vendor/%d","params":%q}`, i, i, x(100))
		},
		"withdrawn permissions": func(i int) string {
			return ask(fmt.Sprint(i), "s", x(1000)) + fmt.Sprintf("\n"+`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"%d"}}`, i)
		},
	} {
		for _, desk := range []bool{false, true} {
			for _, stopped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/desk=%v,cancelled=%v", name, desk, stopped), func(t *testing.T) {
					release := make(chan struct{})
					o := &ConnOptions{MaxQueueBytes: 128 << 10, MaxMessageBytes: 512 << 10}
					if desk {
						o.desk = slowDesk{release}
					}
					before := heapInUse()
					r, w := io.Pipe()
					conn := NewConn(&Handlers{
						OnUpdate: func(context.Context, Update) { <-release },
						OnRequestPermission: func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
							<-release
							return allow(ctx, r)
						},
						OnMethod:       func(context.Context, string, json.RawMessage) (any, error) { <-release; return nil, nil },
						OnNotification: func(context.Context, string, json.RawMessage) { <-release },
					}, io.Discard, r, o)
					if stopped {
						if err := conn.Cancel(t.Context(), acp.CancelNotification{SessionId: "s"}); err != nil {
							t.Fatal(err)
						}
					}
					written := make(chan struct{})
					go func() {
						defer close(written)
						for i, n := 0, 0; n < flood; i++ {
							text := line(i) + "\n"
							if _, err := io.WriteString(w, text); err != nil {
								return
							}
							n += len(text)
						}
					}()
					// Until all is read, or nothing more is.
					for last, same := int64(-1), 0; same < 20; time.Sleep(time.Millisecond) {
						select {
						case <-written:
							same = 20
						default:
						}
						if now := conn.Stats().Received; now == last {
							same++
						} else {
							last, same = now, 0
						}
					}
					holds(t, before, most)
					r.Close() // what is not written yet is not
					<-written
					close(release)
					awaitClosed(t, conn.Done(), "end")
					drain(t, conn)
					for deadline := time.Now().Add(connPatience); conn.known() > 1; time.Sleep(time.Millisecond) {
						if time.Now().After(deadline) {
							t.Fatalf("%d sessions are kept", conn.known())
						}
					}
					holds(t, before, most/3)
				})
			}
		}
	}
}

// known is how many sessions the connection holds something of.
func (c *Conn) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions)
}

// holds fails if more than so many bytes stay in use beside those before. What is under
// way on a slow machine does not stay.
func holds(t *testing.T, before, most int64) {
	t.Helper()
	deadline := time.Now().Add(connPatience)
	for took := heapInUse() - before; took > most; took = heapInUse() - before {
		if time.Now().After(deadline) {
			t.Fatalf("%d KiB are held", took>>10)
		}
		time.Sleep(time.Millisecond)
	}
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
