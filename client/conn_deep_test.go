package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/check"
)

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// What nests too deep, or holds too much, for any reader costs the field that it is in: the
// text of an update and the end of a turn are there. Where nothing is left without it, it
// fails the call it answers, at once, and nothing else; a request is answered, a permission
// request with an outcome.
func TestConnTooComplex(t *testing.T) {
	p := newConnPeer(t)
	var served atomic.Int64
	updates := make(chan string, 10)
	conn := p.dial(&Handlers{
		OnRequestPermission: allow,
		OnReadTextFile: func(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
			served.Add(1)
			return acp.ReadTextFileResponse{}, nil
		},
		OnUpdate: func(_ context.Context, u Update) { updates <- string(u.Raw) },
	}, nil)
	write := func(format string, args ...any) { go p.send(format, args...) } // more than a pipe holds
	for _, deep := range []string{nested(20_000), strings.Repeat(`{"a":`, 50_000) + "{}" + strings.Repeat("}", 50_000), "[" + strings.Repeat("1,", 1<<20) + "{}]"} {
		for answer, want := range map[string]string{
			`"result":{"stopReason":"end_turn","_meta":{"x":` + deep + `}}`: "end_turn",
			`"result":[` + deep + `]`: "too complex",
			`"error":{"code":-32000,"message":"the error","data":` + deep + `}`: "the error",
		} {
			if len(deep) > 1<<20 && want != "end_turn" {
				continue // it takes long with the race detector
			}
			turn := prompt(t.Context(), conn, "s")
			f := p.expect("session/prompt")
			before := conn.Stats()
			write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":%s}}}`+"\n"+
				`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":[%[1]s]}}`+"\n"+
				`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","_meta":%[1]s,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"THE ANSWER"}}}}`+"\n"+
				`{"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{"sessionId":"s","path":"/a","_meta":%[1]s}}`, deep)
			if f := p.read(); string(f.ID) != `"r"` || !strings.Contains(string(f.Error), "-32600") || !strings.Contains(string(f.Error), "deeper") {
				t.Errorf("request: %s %s %s", f.ID, f.Result, f.Error)
			}
			check.Equal(t, "update", <-updates, `{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":null}`)
			check.Equal(t, "update", <-updates, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"THE ANSWER"}}`)
			if s := conn.Stats(); s.DroppedUpdates-before.DroppedUpdates != 1 || s.ComplexUpdates-before.ComplexUpdates != 1 || s.ReducedFrames-before.ReducedFrames != 2 {
				t.Errorf("%+v, then %+v", before, s)
			}
			write(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","rawInput":%s},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`, deep)
			if f := p.read(); string(f.ID) != `"p"` || string(f.Result) != cancelled {
				t.Errorf("permission: %s %s %s", f.ID, f.Result, f.Error)
			}
			write(`{"jsonrpc":"2.0","id":%s,%s}`, f.ID, answer)
			res, err := await(t, turn)
			got := string(res.StopReason)
			if failed, ok := errors.AsType[*acp.RequestError](err); ok {
				got = failed.Message
			} else if e, ok := errors.AsType[*TooComplexError](err); ok && e.Method == "session/prompt" {
				got = "too complex"
			}
			check.Equal(t, "the end of the turn", got, want)
		}
	}
	if s := conn.Stats(); served.Load() > 0 || s.Noise.Lines > 0 || s.Panics > 0 || s.OpenRequests > 0 {
		t.Errorf("%d served, %+v", served.Load(), s)
	}
}

// What is read although it nests deep is delivered, and what of it may be repeated is
// bounded.
func TestConnDeep(t *testing.T) {
	p := newConnPeer(t)
	conn := p.dial(&Handlers{OnRequestPermission: allow}, nil)
	deep := nested(9000)
	p.send(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","rawInput":%s},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`, deep)
	if f := p.read(); string(f.Result) != selected {
		t.Errorf("permission: %s %s", f.Result, f.Error)
	}
	turn := prompt(t.Context(), conn, "s")
	f := p.expect("session/prompt")
	p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":7,"message":"m","data":%s}}`, f.ID, deep)
	_, err := await(t, turn)
	var e *acp.RequestError
	if !errors.As(err, &e) || e.Code != 7 || e.Data != "left out: 18000 bytes, or what nests too deep" {
		t.Errorf("%.200v", err)
	}
}

func TestRepeatable(t *testing.T) {
	object := func(depth int) string {
		return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	}
	for raw, want := range map[string]bool{
		``: true, `1`: true, `{"a":"[[["}`: true, nested(100): true, nested(101): false, object(100): true, object(101): false,
		`"` + strings.Repeat("[", 200) + `"`: true, `["\"` + strings.Repeat("[", 200) + `"]`: true, `["\\",` + nested(100) + `]`: false,
		`[` + strings.Repeat("[],", 1000) + `1]`: true, `"` + strings.Repeat("x", maxRepeated) + `"`: false,
	} {
		if got := repeatable([]byte(raw)); got != want {
			t.Errorf("%.50s: %v", raw, got)
		}
	}
	for meta, want := range map[string]bool{`{"a":1}`: true, `{"a":` + nested(99) + `}`: true, `{"a":` + nested(100) + `}`: false, `[]`: false} {
		a := readAnswer(json.RawMessage(`{"stopReason":"end_turn","_meta":` + meta + `}`))
		if (a.Meta != nil) != want || *a.StopReason != "end_turn" {
			t.Errorf("_meta %.50s: %v", meta, a.Meta)
		}
	}
}
