package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

// A prompt is sent as it is, or refused before any of it is.
func TestPromptContent(t *testing.T) {
	resource := acp.ResourceBlock(acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{Uri: "file:///a", Text: "in it"}})
	blocks := map[string]acp.ContentBlock{
		"text":          acp.TextBlock("words"),
		"image":         acp.ImageBlock("aGk=", "image/png"),
		"audio":         acp.AudioBlock("aGk=", "audio/wav"),
		"resource":      resource,
		"resource_link": acp.ResourceLinkBlock("a", "file:///a"),
	}
	for _, tt := range []struct {
		capabilities string
		taken        []string
		refused      []string
	}{
		{`{}`, []string{"text", "resource_link"}, []string{"image", "audio", "resource"}},
		{`{"promptCapabilities":{"image":true}}`, []string{"text", "image"}, []string{"audio", "resource"}},
		{`{"promptCapabilities":{"audio":true,"image":false}}`, []string{"audio"}, []string{"image", "resource"}},
		{`{"promptCapabilities":{"embeddedContext":true}}`, []string{"resource"}, []string{"image", "audio"}},
		{`{"promptCapabilities":{"image":"true","audio":1,"embeddedContext":null}}`, []string{"text"}, []string{"image", "audio", "resource"}},
	} {
		t.Run(tt.capabilities, func(t *testing.T) {
			s := play(t, `on initialize; reply {"protocolVersion":1,"agentCapabilities":`+tt.capabilities+`}`)
			session := s.session()
			for _, refused := range tt.refused {
				prompt := []acp.ContentBlock{acp.TextBlock("first"), blocks[refused]}
				answer, err := session.Prompt(t.Context(), prompt, nil)
				check.Has(t, s.asError(err, client.KindCapability, client.StepPrompt).Error(), "block 1", refused, "promptCapabilities")
				check.Equal(t, "sent", answer.Sent, false)
			}
			check.Equal(t, "wire", s.wire(), "initialize session/new")
			var prompt []acp.ContentBlock
			for _, taken := range tt.taken {
				prompt = append(prompt, blocks[taken])
			}
			if _, err := session.Prompt(t.Context(), prompt, nil); err != nil {
				t.Fatal(err)
			}
			var sent struct{ Prompt []acp.ContentBlock }
			if err := json.Unmarshal([]byte(s.Params("session/prompt")), &sent); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(prompt, sent.Prompt); diff != "" {
				t.Errorf("prompt (-want +got):\n%s", diff)
			}
		})
	}

	s := play(t, "")
	session := s.session()
	for _, prompt := range [][]acp.ContentBlock{nil, {}, {{}}, {acp.TextBlock("a"), {}}} {
		_, err := session.Prompt(t.Context(), prompt, nil)
		s.asError(err, client.KindConfig, client.StepConfig)
	}
	check.Equal(t, "wire", s.wire(), "initialize session/new")
}

// A session has one turn at a time. The second prompt is refused, and the first goes on.
func TestBusySession(t *testing.T) {
	s := play(t, `on session/prompt; text "up"; wait file go`)
	session := s.session()
	turn := s.ask(t.Context(), session, "go")
	s.says("up")
	answer, err := session.Prompt(t.Context(), textPrompt("again"), nil)
	s.asError(err, client.KindConfig, client.StepPrompt)
	check.Equal(t, "is ErrTurnActive", errors.Is(err, client.ErrTurnActive), true)
	check.Equal(t, "sent", answer.Sent, false)
	// Nor behind the session's back.
	_, err = s.agent.Conn().Prompt(t.Context(), acp.PromptRequest{SessionId: session.ID(), Prompt: textPrompt("again")})
	check.Equal(t, "is ErrTurnActive", errors.Is(err, client.ErrTurnActive), true)
	s.Touch("go")
	answer, err = s.await(turn)
	s.ended(answer, err, "end_turn")
	check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt")
}

// OnReply comes where the answer stands among the updates.
func TestOnReply(t *testing.T) {
	var mu sync.Mutex
	var order []string
	add := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, fmt.Sprintf(format, args...))
	}
	s := play(t, `on session/new
			update {"sessionUpdate":"session_info_update","title":"before"} session=session-1
			reply {"sessionId":"session-1","modes":null}
			commands "x: X"
			write new
		on session/prompt
			text "a"
			stop end_turn
			text "late"
			write late`)
	s.opts.Observe = func(u *client.Update) { add("%s of %s", u.Kind, u.SessionID) }
	a := s.start()
	session, err := a.NewSession(t.Context(), &client.SessionOptions{OnReply: func(id string, raw json.RawMessage) { add("new %s %s", id, raw) }})
	if err != nil {
		t.Fatal(err)
	}
	s.Await("new")
	answer, err := session.Prompt(t.Context(), textPrompt("go"), &client.PromptOptions{OnReply: func() { add("reply") }})
	s.ended(answer, err, "end_turn")
	s.Await("late")
	s.close(a, client.RungEOF, "exit status 0")
	want := []string{
		"session_info_update of session-1",
		`new session-1 {"sessionId":"session-1","modes":null}`,
		"available_commands_update of session-1",
		"agent_message_chunk of session-1",
		"reply",
		"agent_message_chunk of session-1",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// An error is an answer too; a callback that panics on it takes nothing with it.
func TestOnReplyOfAnError(t *testing.T) {
	s := play(t, `on session/prompt 1; fail 1 "no"`)
	session := s.session()
	called := 0
	_, err := session.Prompt(t.Context(), textPrompt("go"), &client.PromptOptions{OnReply: func() { called++; panic("on reply") }})
	s.asError(err, client.KindAgent, client.StepPrompt)
	check.Equal(t, "called", called, 1)
	s.completes(session, "again", "end_turn")

	_, err = s.agent.NewSession(t.Context(), &client.SessionOptions{OnReply: func(string, json.RawMessage) { panic("on reply") }})
	if err != nil {
		t.Error(err)
	}
	// What is no session is no reply either.
	s = play(t, `on session/new; reply {}`)
	_, err = s.start().NewSession(t.Context(), &client.SessionOptions{OnReply: func(string, json.RawMessage) { called++ }})
	s.asError(err, client.KindProtocol, client.StepNewSession)
	check.Equal(t, "called", called, 1)
}

// Updates come to Options.Update in order, all of them before Prompt returns, and a slow
// one loses nothing.
func TestUpdates(t *testing.T) {
	s := play(t, `on session/prompt; burst 2000 "$i,"`)
	var got strings.Builder
	s.opts.Update = func(_ context.Context, u client.Update) {
		got.WriteString(u.Value.AgentMessageChunk.Content.Text.Text)
	}
	s.opts.MaxQueueBytes = 4 << 10
	s.completes(s.session(), "go", "end_turn")
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&want, "%d,", i+1)
	}
	check.Equal(t, "updates", got.String(), want.String())
	check.Equal(t, "observed", s.text(), want.String())
}

// Whatever of an answer can be read counts.
func TestAnswers(t *testing.T) {
	tests := []struct {
		answer string
		reason string // "-" for none
		usage  string
		meta   string
	}{
		{`{"stopReason":"end_turn"}`, "end_turn", "", "null"},
		{`{"stopReason":"max_tokens","usage":{"inputTokens":1.5},"_meta":{"a":1}}`, "max_tokens", `{"inputTokens":1.5}`, `{"a":1}`},
		{`{"stopReason":"later_kind","usage":"much","_meta":"x"}`, "later_kind", `"much"`, "null"},
		{`{"stopReason":"","usage":null}`, "", "", "null"},
		{`{"stopReason":7}`, "7", "", "null"},
		{`{"stopReason":{"a":1}}`, `{"a":1}`, "", "null"},
		{`{"stopReason":null}`, "-", "", "null"},
		{`{"usage":{}}`, "-", `{}`, "null"},
		{`{}`, "-", "", "null"},
		{`null`, "-", "", "null"},
		{`[1]`, "-", "", "null"},
		{`"end_turn"`, "-", "", "null"},
	}
	var src strings.Builder
	for i, tt := range tests {
		fmt.Fprintf(&src, "on session/prompt %d; reply %s\n", i+1, tt.answer)
	}
	s := play(t, src.String())
	session := s.session()
	for _, tt := range tests {
		answer, err := s.prompt(session, "go")
		if err != nil {
			t.Errorf("%s: %v", tt.answer, err)
		}
		reason := "-"
		if answer.StopReason != nil {
			reason = *answer.StopReason
		}
		meta, _ := json.Marshal(answer.Meta)
		got := []string{string(answer.Raw), reason, string(answer.Usage), string(meta)}
		if diff := cmp.Diff([]string{tt.answer, tt.reason, tt.usage, tt.meta}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.answer, diff)
		}
		check.Equal(t, "sent", answer.Sent, true)
		check.Equal(t, "cancelled", answer.Cancelled, false)
	}
}

// Exactly one session/cancel goes out for a turn, however often it is cancelled, and
// none for a turn that has its answer or never began.
func TestCancelOnTheWire(t *testing.T) {
	s := play(t, `on session/prompt 1; text "up"; wait cancel; text "down"; wait file go; stop cancelled
		on session/prompt 2; text "second"; stop end_turn; write answered`)
	session := s.session()
	session.Cancel() // there is nothing to cancel
	ctx, cancel := context.WithCancel(t.Context())
	turn := s.ask(ctx, session, "go")
	s.says("up")
	session.Cancel()
	cancel()
	session.Cancel()
	s.says("down")
	s.Touch("go")
	answer, err := s.await(turn)
	s.ended(answer, err, "cancelled")
	session.Cancel()

	ctx, cancel = context.WithCancel(t.Context())
	turn = s.ask(ctx, session, "again")
	answer, err = s.await(turn)
	s.ended(answer, err, "end_turn")
	cancel()
	session.Cancel()
	check.Equal(t, "cancelled", answer.Cancelled, false)

	answer, err = session.Prompt(ctx, textPrompt("too late"), nil)
	s.asError(err, client.KindCancelled, client.StepPrompt)
	check.Equal(t, "sent", answer.Sent, false)
	check.Equal(t, "cancelled", answer.Cancelled, false)
	s.close(s.agent, client.RungEOF, "exit status 0")
	check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel session/prompt")
}

// An answer that was read before the context ended is the turn's, though its callbacks
// are still at work.
func TestAnswerBeforeCancel(t *testing.T) {
	s := play(t, `on session/prompt; text "a"; stop end_turn`)
	release := make(chan struct{})
	s.opts.Update = func(context.Context, client.Update) { <-release }
	session := s.session()
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan struct{})
	turn := make(chan ended, 1)
	go func() { // ends with the turn
		answer, err := session.Prompt(ctx, textPrompt("go"), &client.PromptOptions{OnReply: func() { close(read) }})
		turn <- ended{answer, err}
	}()
	receive(t, read)
	cancel()
	close(release)
	answer, err := s.await(turn)
	s.ended(answer, err, "end_turn")
	check.Equal(t, "cancelled", answer.Cancelled, false)
	s.close(s.agent, client.RungEOF, "exit status 0")
	check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt")
}

// session/close is asked for once, where it is advertised.
func TestSessionClose(t *testing.T) {
	t.Run("advertised", func(t *testing.T) {
		s := play(t, `on session/close; append closed "$params.sessionId"`)
		a := s.start()
		one, two := s.newSession(a, ""), s.newSession(a, "")
		if err := one.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := one.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := one.Prompt(t.Context(), textPrompt("go"), nil)
		check.Has(t, s.asError(err, client.KindConfig, client.StepPrompt).Error(), "the session was closed")
		s.completes(two, "go", "end_turn")
		s.close(a, client.RungEOF, "exit status 0")
		check.Equal(t, "closed", s.File("closed"), "session-1\nsession-2\n")
	})
	t.Run("not advertised", func(t *testing.T) {
		s := play(t, "")
		session := s.session()
		if err := session.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.completes(session, "go", "end_turn")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt")
	})
	for _, advertised := range []struct {
		close string
		want  bool
	}{{`{}`, true}, {`{"x":1}`, true}, {`true`, true}, {`false`, false}, {`null`, false}} {
		t.Run("advertised as "+advertised.close, func(t *testing.T) {
			s := play(t, `on initialize; reply {"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":`+advertised.close+`}}}
				on session/close; write closed`)
			s.session()
			s.close(s.agent, client.RungEOF, "exit status 0")
			check.Equal(t, "closed", s.Exists("closed"), advertised.want)
		})
	}
	t.Run("in the middle of a turn", func(t *testing.T) {
		s := play(t, `on session/prompt; text "up"; wait cancel; stop cancelled
			on session/close; write closed`)
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("up")
		if err := session.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel session/close")
	})
	t.Run("refused", func(t *testing.T) {
		s := play(t, `on session/close; fail 5 "busy"`)
		session := s.session()
		e := s.asError(session.Close(t.Context()), client.KindAgent, client.StepShutdown)
		check.Equal(t, "code", *e.Code, 5)
		s.close(s.agent, client.RungEOF, "exit status 0")
	})
}

// What the agent makes of a cancel is the turn's end, and known as one that was
// cancelled.
func TestAnswersToACancel(t *testing.T) {
	for _, tt := range []struct{ end, reason string }{
		{`stop cancelled`, "cancelled"},
		{`stop end_turn`, "end_turn"},
		{`fail -32800 "Request cancelled"`, ""},
	} {
		s := play(t, `on session/prompt; text "up"; wait cancel; `+tt.end)
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("up")
		session.Cancel()
		answer, err := s.await(turn)
		check.Equal(t, "cancelled", answer.Cancelled, true)
		if tt.reason != "" {
			s.ended(answer, err, tt.reason)
			continue
		}
		e := s.asError(err, client.KindAgent, client.StepPrompt)
		check.Equal(t, "code", *e.Code, -32800)
	}
}
