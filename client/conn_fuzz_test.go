package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
)

// Whatever an agent writes: nothing panics, session/new (id 1) and session/prompt (id 2)
// end, at the latest when it has gone, and with the answer if there was one; an update's
// value is what its raw form says; each permission request has an outcome, never an error;
// and nothing is kept, neither of sessions that the agent made up nor as a goroutine.
func FuzzConn(f *testing.F) {
	for _, text := range texts {
		f.Add(`{"jsonrpc":"2.0","method":"session/update","params":` + text + `}`)
	}
	f.Add(strings.Join(repeated(), "\n"))
	const limit = 64 << 10
	f.Fuzz(func(t *testing.T, text string) {
		check.Cost(t, len(text))
		goroutines := runtime.NumGoroutine()
		var asked, outcomes atomic.Int64
		decided := map[string]bool{} // by the request's id
		r, w := io.Pipe()
		conn := NewConn(&Handlers{
			OnUpdate:        func(context.Context, Update) {},
			OnSessionUpdate: func(context.Context, acp.SessionNotification) error { return nil },
			OnRequestPermission: func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
				asked.Add(1)
				return allow(ctx, r)
			},
		}, writerFunc(func(frame []byte) {
			var answer check.Frame
			if err := json.Unmarshal(frame, &answer); err != nil {
				t.Errorf("%s: %v", frame, err)
			}
			if strings.HasPrefix(string(answer["result"]), `{"outcome":`) {
				decided[string(answer["id"])] = true
				outcomes.Add(1)
			}
		}), r, &ConnOptions{MaxMessageBytes: limit, Observe: func(u *Update) {
			want := DecodeUpdate(u.SessionID, u.Raw)
			want.Meta = u.Meta
			// Not with cmp, whose time grows exponentially with the depth.
			if u.Known() && !reflect.DeepEqual(want, *u) {
				t.Errorf("%s: got %+v, want %+v", u.Raw, *u, want)
			}
		}})
		session := async(func() (acp.NewSessionResponse, error) {
			return conn.NewSession(t.Context(), acp.NewSessionRequest{})
		})
		sent(t, conn, 1)
		turn := prompt(t.Context(), conn, "s")
		sent(t, conn, 2)
		io.Copy(w, strings.NewReader(text))
		w.Close()
		said := check.ReadFrames(text, limit)
		answer, err := await(t, turn)
		oneError(t, err)
		raw, _ := said.Reply("2")
		if want, ok := check.Member(raw, "stopReason"); ok && (err != nil || string(answer.StopReason) != want) {
			t.Errorf("the turn ended with %q, %v; the answer was %s", answer.StopReason, err, raw)
		}
		made, err := await(t, session)
		oneError(t, err)
		raw, _ = said.Reply("1")
		if want, ok := check.Member(raw, "sessionId"); ok && want != "" && (err != nil || string(made.SessionId) != want) {
			t.Errorf("the session is %q, %v; the answer was %s", made.SessionId, err, raw)
		}
		drain(t, conn)
		traces.Until(t, "all is answered and nothing of it is kept", func() bool {
			s := conn.Stats()
			return s.OpenRequests == 0 && runtime.NumGoroutine() <= goroutines && outcomes.Load() >= asked.Load() && conn.known() <= 1
		})
		if s := conn.Stats(); s.Panics > 0 {
			t.Errorf("%d panics", s.Panics)
		}
		for _, f := range said.List {
			if id := string(f["id"]); f.Asks() && string(f["method"]) == `"session/request_permission"` && !decided[id] {
				t.Errorf("the permission request %s has no outcome", id)
			}
		}
	})
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// sent waits until so many frames were written.
func sent(t testing.TB, conn *Conn, n int64) {
	t.Helper()
	traces.Until(t, "the frame is written", func() bool { return conn.Stats().Sent >= n })
}

// oneError fails for an error of no type that a caller can know.
func oneError(t testing.TB, err error) {
	t.Helper()
	_, call := errors.AsType[*CallError](err)
	_, answer := errors.AsType[*acp.RequestError](err)
	if err != nil && call == answer {
		t.Errorf("%#v", err)
	}
}
