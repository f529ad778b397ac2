package client

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
)

// Whatever an agent writes: nothing panics, every call ends once it has gone, and an
// update's value is what its raw form says.
func FuzzConn(f *testing.F) {
	f.Add(chunkLine("s", "x") + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`)
	f.Add(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":5,"modes":{"availableModes":[{}]}}}` + "\n" + `{"jsonrpc":"2.0","id":1,"error":{"code":"x","data":[1]}}`)
	f.Add(`{"id":null,"method":"session/request_permission","params":{"sessionId":"s","options":[{"optionId":"yes"}]}}` + "\n" + `[{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call"}}}]`)
	f.Add(`{"id":1,"method":"fs/read_text_file","params":{"path":1}}` + "\n" + `{"id":3,"method":"session/prompt"}`)
	for _, text := range texts {
		f.Add(`{"jsonrpc":"2.0","method":"session/update","params":` + text + `}`)
	}
	f.Add(strings.Join(repeated(), "\n"))
	f.Fuzz(func(t *testing.T, text string) {
		r, w := io.Pipe()
		conn := NewConn(&Handlers{
			OnUpdate:            func(context.Context, Update) {},
			OnSessionUpdate:     func(context.Context, acp.SessionNotification) error { return nil },
			OnRequestPermission: allow,
		}, io.Discard, r, &ConnOptions{MaxMessageBytes: 1 << 10, Observe: func(u *Update) {
			want := DecodeUpdate(u.SessionID, u.Raw)
			want.Meta = u.Meta
			if diff := cmp.Diff(want, *u); u.Known() && diff != "" {
				t.Errorf("%s (-read from Raw +got)\n%s", u.Raw, diff)
			}
		}})
		turn := prompt(t.Context(), conn, "s")
		session := async(func() (acp.NewSessionResponse, error) {
			return conn.NewSession(t.Context(), acp.NewSessionRequest{})
		})
		if err := conn.Notify(t.Context(), "note", nil); err != nil {
			t.Fatal(err)
		}
		io.Copy(w, strings.NewReader(text))
		w.Close()
		await(t, turn)
		await(t, session)
		drain(t, conn)
		if s := conn.Stats(); s.Panics > 0 {
			t.Errorf("%d panics", s.Panics)
		}
	})
}
