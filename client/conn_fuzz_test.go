package client

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/traces"
)

// Whatever an agent writes: nothing panics, session/new (id 1) and session/prompt (id 2)
// end, at the latest when it has gone; an update's value is what its raw form says; each
// permission request has an outcome; and nothing is kept, neither of sessions that the
// agent made up nor as a goroutine.
func FuzzConn(f *testing.F) {
	for _, text := range texts {
		f.Add(`{"jsonrpc":"2.0","method":"session/update","params":` + text + `}`)
	}
	f.Add(strings.Join(repeated(), "\n"))
	f.Fuzz(func(t *testing.T, text string) {
		goroutines := runtime.NumGoroutine()
		var asked, outcomes atomic.Int64
		r, w := io.Pipe()
		conn := NewConn(&Handlers{
			OnUpdate:        func(context.Context, Update) {},
			OnSessionUpdate: func(context.Context, acp.SessionNotification) error { return nil },
			OnRequestPermission: func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
				asked.Add(1)
				return allow(ctx, r)
			},
		}, writerFunc(func(frame []byte) {
			if strings.Contains(string(frame), `"result":{"outcome":`) {
				outcomes.Add(1)
			}
		}), r, &ConnOptions{MaxMessageBytes: 64 << 10, Observe: func(u *Update) {
			want := DecodeUpdate(u.SessionID, u.Raw)
			want.Meta = u.Meta
			if diff := cmp.Diff(want, *u); u.Known() && diff != "" {
				t.Errorf("%s (-read from Raw +got)\n%s", u.Raw, diff)
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
		_, err := await(t, turn)
		oneError(t, err)
		_, err = await(t, session)
		oneError(t, err)
		drain(t, conn)
		traces.Until(t, "all is answered and nothing of it is kept", func() bool {
			s := conn.Stats()
			return s.OpenRequests == 0 && runtime.NumGoroutine() <= goroutines && outcomes.Load() >= asked.Load() && conn.known() <= 1
		})
		if s := conn.Stats(); s.Panics > 0 {
			t.Errorf("%d panics", s.Panics)
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
