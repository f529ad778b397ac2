package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/acp-go-sdk"
)

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// What nests too deep, or holds too much, for any reader fails the call it answers, at once, and nothing
// else: an update is dropped, a request answered, a permission request with an outcome.
func TestConnTooComplex(t *testing.T) {
	p := newConnPeer(t)
	var served atomic.Int64
	conn := p.dial(&Handlers{
		OnRequestPermission: allow,
		OnReadTextFile: func(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
			served.Add(1)
			return acp.ReadTextFileResponse{}, nil
		},
	}, nil)
	write := func(format string, args ...any) { go p.send(format, args...) } // more than a pipe holds
	for _, deep := range []string{nested(20_000), strings.Repeat(`{"a":`, 50_000) + "{}" + strings.Repeat("}", 50_000), "[" + strings.Repeat("{},", 1<<20) + "{}]"} {
		for _, answer := range []string{
			`"result":{"stopReason":"end_turn","_meta":{"x":` + deep + `}}`,
			`"result":` + deep,
			`"error":{"code":-32603,"message":"m","data":` + deep + `}`,
		} {
			turn := prompt(t.Context(), conn, "s")
			f := p.expect("session/prompt")
			before := conn.Stats().DroppedUpdates
			write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","rawInput":%s}}}`+"\n"+
				`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","_meta":%[1]s,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}`+"\n"+
				`{"jsonrpc":"2.0","id":"r","method":"fs/read_text_file","params":{"sessionId":"s","path":"/a","_meta":%[1]s}}`, deep)
			if f := p.read(); string(f.ID) != `"r"` || !strings.Contains(string(f.Error), "-32600") || !strings.Contains(string(f.Error), "deeper") {
				t.Errorf("request: %s %s %s", f.ID, f.Result, f.Error)
			}
			if got := conn.Stats().DroppedUpdates - before; got != 2 {
				t.Errorf("%d updates dropped, want 2", got)
			}
			write(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","rawInput":%s},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`, deep)
			if f := p.read(); string(f.ID) != `"p"` || string(f.Result) != cancelled {
				t.Errorf("permission: %s %s %s", f.ID, f.Result, f.Error)
			}
			write(`{"jsonrpc":"2.0","id":%s,%s}`, f.ID, answer)
			_, err := await(t, turn)
			if e, ok := errors.AsType[*TooComplexError](err); !ok || e.Method != "session/prompt" {
				t.Errorf("%v", err)
			}
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
