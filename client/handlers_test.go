package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
)

// The requests of the agent that a client may serve.
var requestNames = []string{
	acp.ClientMethodFsReadTextFile, acp.ClientMethodFsWriteTextFile, acp.ClientMethodTerminalCreate,
	acp.ClientMethodTerminalKill, acp.ClientMethodTerminalOutput, acp.ClientMethodTerminalRelease,
	acp.ClientMethodTerminalWaitForExit, acp.ClientMethodElicitationCreate, acp.ClientMethodMcpConnect,
	acp.ClientMethodMcpDisconnect, acp.ClientMethodMcpMessage, "vendor/x", "_vendor/x",
}

// params that fit all of them.
const anyParams = `{"sessionId":"s","path":"/p","content":"c","command":"c","terminalId":"t","mode":"url","url":"u","elicitationId":"e","message":"m","acpId":"a","connectionId":"c"}`

// What nobody serves is answered -32601, by no client and by Handlers without functions.
func TestHandlersNil(t *testing.T) {
	for name, client := range map[string]acp.Client{"no client": nil, "no functions": &Handlers{}} {
		t.Run(name, func(t *testing.T) {
			p := newConnPeer(t)
			p.dial(client, &ConnOptions{MaxMessageBytes: 1 << 10})
			p.chunk("s", "ignored")
			p.send(`{"jsonrpc":"2.0","method":"vendor/note"}`)
			for i, method := range requestNames {
				for _, params := range []string{
					`,"params":` + anyParams, ``, `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":"x"`,
					`,"params":{"path":1,"terminalId":[]}`, `,"params":"` + strings.Repeat("x", 2<<10) + `"`,
				} {
					p.send(`{"jsonrpc":"2.0","id":%d,"method":%q%s}`, i, method, params)
					want := fmt.Sprintf(`{"code":-32601,"message":"Method not found","data":{"method":%q}}`, method)
					if f := p.read(); string(f.Error) != want || string(f.ID) != fmt.Sprint(i) {
						t.Errorf("%s%.50s: %s %s %s", method, params, f.ID, f.Result, f.Error)
					}
				}
			}
		})
	}
}

// Each function gets what is meant for it.
func TestHandlersFunctions(t *testing.T) {
	p := newConnPeer(t)
	heard := make(chan string, 10)
	p.dial(&Handlers{
		OnReadTextFile: func(_ context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
			return acp.ReadTextFileResponse{Content: r.Path}, nil
		},
		OnWriteTextFile: func(_ context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
			return acp.WriteTextFileResponse{Meta: map[string]any{"wrote": r.Content}}, nil
		},
		OnCreateTerminal: func(_ context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
			return acp.CreateTerminalResponse{TerminalId: r.Command}, nil
		},
		OnKillTerminal: func(_ context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
			return acp.KillTerminalResponse{Meta: map[string]any{"killed": r.TerminalId}}, nil
		},
		OnTerminalOutput: func(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
			return acp.TerminalOutputResponse{Output: "o"}, nil
		},
		OnReleaseTerminal: func(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
			return acp.ReleaseTerminalResponse{}, nil
		},
		OnWaitForTerminalExit: func(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
			return acp.WaitForTerminalExitResponse{ExitCode: acp.Ptr(3)}, nil
		},
		OnMethod: func(_ context.Context, method string, params json.RawMessage) (any, error) {
			if method == "vendor/x" {
				return nil, &acp.RequestError{Code: 7, Message: "no", Data: []int{1}}
			}
			return map[string]any{"method": method, "bytes": len(params)}, nil
		},
		OnNotification: func(_ context.Context, method string, params json.RawMessage) { heard <- method + string(params) },
		OnSessionUpdate: func(_ context.Context, n acp.SessionNotification) error {
			heard <- n.Update.AgentMessageChunk.Content.Text.Text
			return errors.New("nobody asks")
		},
	}, nil)
	want := []string{
		`{"content":"/p"}`, `{"_meta":{"wrote":"c"}}`, `{"terminalId":"c"}`, `{"_meta":{"killed":"t"}}`, `{"output":"o","truncated":false}`,
		`{}`, `{"exitCode":3}`,
		// Handlers has no function for these, so they go by name.
		fmt.Sprintf(`{"bytes":%d,"method":"elicitation/create"}`, len(anyParams)),
		fmt.Sprintf(`{"bytes":%d,"method":"mcp/connect"}`, len(anyParams)),
		fmt.Sprintf(`{"bytes":%d,"method":"mcp/disconnect"}`, len(anyParams)),
		fmt.Sprintf(`{"bytes":%d,"method":"mcp/message"}`, len(anyParams)),
		`{"code":7,"message":"no","data":[1]}`,
		fmt.Sprintf(`{"bytes":%d,"method":"_vendor/x"}`, len(anyParams)),
	}
	var got []string
	for i, method := range requestNames {
		p.send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, anyParams)
		f := p.read()
		got = append(got, string(f.Result)+string(f.Error))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	p.send(`{"jsonrpc":"2.0","method":"vendor/note","params":[1]}`)
	p.chunk("s", "text")
	p.send(`{"jsonrpc":"2.0","method":"_vendor/note"}`)
	for _, want := range []string{"vendor/note[1]", "text", "_vendor/note"} {
		if got := <-heard; got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
	// What does not have what the method needs is refused before the function.
	for _, params := range []string{`{"sessionId":"s"}`, `null`, `[1]`, `"x"`} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":%s}`, params)
		var e acp.RequestError
		if f := p.read(); json.Unmarshal(f.Error, &e) != nil || e.Code != -32602 {
			t.Errorf("params %s: %s %s", params, f.Result, f.Error)
		}
	}
}

// withdrawn is what a handler returns when its context ends.
func TestHandlersWithdrawn(t *testing.T) {
	p := newConnPeer(t)
	begun := make(chan struct{})
	p.dial(&Handlers{OnMethod: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}}, nil)
	p.send(`{"jsonrpc":"2.0","id":"x","method":"vendor/slow"}`)
	awaitClosed(t, begun, "handler")
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"x"}}`)
	if f := p.read(); string(f.Error) != `{"code":-32800,"message":"Request cancelled"}` {
		t.Errorf("%s %s", f.Result, f.Error)
	}
}

// Any request and notification can be sent by name.
func TestConnByName(t *testing.T) {
	p := newConnPeer(t)
	conn := p.dial(nil, nil)
	call := func(method string, params, into any) <-chan outcome[any] {
		return async(func() (any, error) { return nil, conn.Call(t.Context(), method, params, into) })
	}
	var raw json.RawMessage
	c := call("vendor/a", json.RawMessage("{\n\t\"a\": 1\n}"), &raw)
	f := p.expect("vendor/a")
	if string(f.Params) != `{"a":1}` {
		t.Errorf("params %s", f.Params)
	}
	p.reply(f, `{"b": [ 2 ]}`)
	if _, err := await(t, c); err != nil || string(raw) != `{"b": [ 2 ]}` {
		t.Errorf("%s, %v", raw, err)
	}
	var into struct{ B int }
	c = call("vendor/b", nil, &into)
	f = p.expect("vendor/b")
	if f.Params != nil {
		t.Errorf("params %s, want none", f.Params)
	}
	p.reply(f, `{"b":2}`)
	if _, err := await(t, c); err != nil || into.B != 2 {
		t.Errorf("%+v, %v", into, err)
	}
	c = call("vendor/c", nil, &into)
	p.reply(p.expect("vendor/c"), `{"b":"x"}`)
	if _, err := await(t, c); err == nil {
		t.Error("a result of another shape is no error")
	}
	c = call("vendor/d", []any{1}, nil)
	p.reply(p.expect("vendor/d"), `"ignored"`)
	if _, err := await(t, c); err != nil {
		t.Error(err)
	}
	for _, params := range []any{json.RawMessage(`{"a":`), json.RawMessage(""), func() {}} {
		if _, err := await(t, call("vendor/e", params, nil)); err == nil {
			t.Errorf("%v is no JSON and was sent", params)
		}
		if err := conn.Notify(t.Context(), "vendor/e", params); err == nil {
			t.Errorf("%v is no JSON and was sent", params)
		}
	}
	if err := conn.Notify(t.Context(), "vendor/note", map[string]int{"a": 1}); err != nil {
		t.Error(err)
	}
	if f := p.expect("vendor/note"); f.ID != nil || string(f.Params) != `{"a":1}` {
		t.Errorf("%s %s", f.ID, f.Params)
	}
}

// An empty text is one: it makes an empty file. Only where there is none is it missing.
func TestEmptyText(t *testing.T) {
	p := newConnPeer(t)
	p.dial(&Handlers{OnWriteTextFile: func(_ context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
		return acp.WriteTextFileResponse{Meta: map[string]any{"wrote": r.Content}}, nil
	}}, nil)
	for params, want := range map[string]bool{
		`{"sessionId":"s","path":"/a","content":""}`:   true,
		`{"sessionId":"s","path":"/a","content":"x"}`:  true,
		`{"sessionId":"s","path":"/a"}`:                false,
		`{"sessionId":"s","path":"/a","content":null}`: false,
		`{"sessionId":"s","path":"","content":""}`:     false,
	} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":%s}`, params)
		if f := p.read(); (f.Error == nil) != want {
			t.Errorf("%s: result %s, error %s", params, f.Result, f.Error)
		}
	}
}
