package client

import (
	"context"
	"errors"
	"testing"

	"github.com/coder/acp-go-sdk"
)

func TestConnTurn(t *testing.T) {
	p := newConnPeer(t)
	var got connText
	conn := p.dial(&Handlers{
		OnSessionUpdate: got.add,
		OnRequestPermission: func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(r.Options[0].OptionId)}, nil
		},
	}, nil)
	done := async(func() (acp.PromptResponse, error) { return conn.Prompt(t.Context(), promptText("s", "hi")) })
	f := p.expect("session/prompt")
	p.chunk("s", "hello ")
	p.chunk("s", "wörld\n")
	p.send(`{"jsonrpc":"2.0","id":"p1","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"ok","name":"OK","kind":"allow_once"}]}}`)
	a := p.read()
	if string(a.ID) != `"p1"` || string(a.Result) != `{"outcome":{"optionId":"ok","outcome":"selected"}}` {
		t.Errorf("answer %s %s", a.ID, a.Result)
	}
	p.reply(f, `{"stopReason":"end_turn"}`)
	r, err := await(t, done)
	if err != nil || r.StopReason != "end_turn" {
		t.Fatal(r, err)
	}
	if got.String() != "hello wörld\n" {
		t.Errorf("text %q", got.String())
	}
}

func TestConnPromptCancel(t *testing.T) {
	p := newConnPeer(t)
	var got connText
	asked := make(chan struct{})
	conn := p.dial(&Handlers{
		OnSessionUpdate: got.add,
		OnRequestPermission: func(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			close(asked)
			<-ctx.Done()
			return acp.RequestPermissionResponse{}, ctx.Err()
		},
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := async(func() (acp.PromptResponse, error) { return conn.Prompt(ctx, promptText("s", "hi")) })
	f := p.expect("session/prompt")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"ok","name":"OK","kind":"allow_once"}]}}`)
	awaitClosed(t, asked, "permission request")
	if _, err := conn.Prompt(t.Context(), promptText("s", "again")); !errors.Is(err, ErrTurnActive) {
		t.Errorf("second prompt: %v", err)
	}
	cancel()
	p.expect("session/cancel")
	if a := p.read(); string(a.Result) != `{"outcome":{"outcome":"cancelled"}}` {
		t.Errorf("pending: %s", a.Result)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"ok","name":"OK","kind":"allow_once"}]}}`)
	if a := p.read(); string(a.Result) != `{"outcome":{"outcome":"cancelled"}}` {
		t.Errorf("later: %s", a.Result)
	}
	p.chunk("s", "last words")
	p.reply(f, `{"stopReason":"cancelled"}`)
	r, err := await(t, done)
	if err != nil || r.StopReason != "cancelled" || got.String() != "last words" {
		t.Fatal(r, err, got.String())
	}
}
