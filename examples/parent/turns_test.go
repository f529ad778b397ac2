package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/check"
)

const waitsForWord = `
	on session/prompt
	  append ready $prompt
	  permission c1 "$prompt" kind=edit
	    option yes allow_once "Yes"
	    when allowed; text "$prompt in $cwd"
	  end`

// Sessions, and turns of one session, are at the same time, and do not get into each
// other's way.
func TestTurnsAtOnce(t *testing.T) {
	w := plant(t)
	p := w.speakTo(w.parent(map[string][]string{"a": w.scripted(waitsForWord)}))
	other, err := os.MkdirTemp(w.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	one, two := p.newSession(w.dir), p.newSession(other)
	p.prompt(1, one, "first")
	first := p.permission("first")
	p.prompt(2, one, "second")
	second := p.permission("second")
	p.prompt(3, two, "third")
	third := p.permission("third")

	check.Equal(t, "session of the first", first.session, one)
	check.Equal(t, "session of the second", second.session, one)
	check.Equal(t, "session of the third", third.session, two)
	if first.call == second.call || !strings.HasSuffix(first.call, "/c1") || !strings.HasSuffix(second.call, "/c1") {
		t.Errorf("tool calls %q and %q are not told apart", first.call, second.call)
	}

	// In another order than they were asked.
	p.allow(third)
	check.Equal(t, "third", p.stopped(3), "end_turn")
	p.allow(second)
	check.Equal(t, "second", p.stopped(2), "end_turn")
	p.allow(first)
	check.Equal(t, "first", p.stopped(1), "end_turn")
	check.Equal(t, "answers of the one session", p.answers(one), "second in "+w.dir+"; first in "+w.dir)
	check.Equal(t, "answers of the other", p.answers(two), "third in "+other)
	p.in.Close()
	p.ended()
}

// A cancel is for the turns that a session has then, and for no other.
func TestCancelOfOneSession(t *testing.T) {
	w := plant(t)
	p := w.speakTo(w.parent(map[string][]string{"a": w.scripted(waitsForWord)}))
	one, two := p.newSession(w.dir), p.newSession(w.dir)
	p.prompt(1, one, "first")
	p.prompt(2, one, "second")
	p.prompt(3, two, "third")
	p.permission("first")
	p.permission("second")
	third := p.permission("third")
	p.send(map[string]any{"method": "session/cancel", "params": map[string]any{"sessionId": one}})
	check.Equal(t, "first", p.stopped(1), "cancelled")
	check.Equal(t, "second", p.stopped(2), "cancelled")
	p.prompt(4, one, "fourth")
	p.allow(p.permission("fourth"))
	check.Equal(t, "fourth", p.stopped(4), "end_turn")
	p.allow(third)
	check.Equal(t, "third", p.stopped(3), "end_turn")
	p.in.Close()
	p.ended()
}

// Who closes a session gets the answer when its agents have ended, and those of other
// sessions go on.
func TestCloseOfOneSession(t *testing.T) {
	w := plant(t)
	p := w.speakTo(w.parent(map[string][]string{"a": w.scripted(`
		on session/prompt
		  append ready $prompt
		  text "at it"
		  wait file go
		  text "$prompt went on"
		on session/cancel
		  wait 300ms # who does not wait for it finds it alive
		  interrupt`)}))
	one, two := p.newSession(w.dir), p.newSession(w.dir)
	p.prompt(1, one, "first")
	p.prompt(2, two, "second")
	w.await("ready", 2)
	before := len(w.alive())
	if m := p.call(3, "session/close", map[string]any{"sessionId": one}); m.Error != nil {
		t.Fatalf("close: %s", m.Error.Message)
	}
	check.Equal(t, "processes", len(w.alive()), before-1)
	check.Equal(t, "first", p.stopped(1), "cancelled")
	if err := os.WriteFile(w.dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "second", p.stopped(2), "end_turn")
	check.Has(t, p.answers(two), "second went on")
	for id, method := range map[int]string{4: "session/prompt", 5: "session/close"} {
		if m := p.call(id, method, map[string]any{"sessionId": one, "prompt": []any{}}); m.Error == nil {
			t.Errorf("%s in a session that was closed is answered with %s", method, m.Result)
		}
	}
	p.in.Close()
	p.ended()
}

// question is a permission request that has come.
type question struct {
	id            int
	session, call string
	options       json.RawMessage
}

// permission receives the request with that title.
func (p *peer) permission(title string) question {
	p.Helper()
	var q struct {
		SessionID string
		ToolCall  struct{ ToolCallID, Title string }
		Options   json.RawMessage
	}
	m := p.receive(func(m message) bool {
		return m.Method == "session/request_permission" && json.Unmarshal(m.Params, &q) == nil && q.ToolCall.Title == title
	})
	return question{*m.ID, q.SessionID, q.ToolCall.ToolCallID, q.Options}
}

func (p *peer) allow(q question) {
	p.Helper()
	p.send(map[string]any{"id": q.id, "result": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "yes"}}})
}

// answers are the parent's own words in a session that were passed over until now.
func (p *peer) answers(session string) string {
	var words []string
	for _, m := range p.seen {
		var u struct {
			SessionID string
			Update    struct {
				SessionUpdate string
				Content       json.RawMessage
			}
		}
		if m.Method != "session/update" || json.Unmarshal(m.Params, &u) != nil || u.SessionID != session || u.Update.SessionUpdate != "agent_message_chunk" {
			continue
		}
		var text struct{ Text string }
		if err := json.Unmarshal(u.Update.Content, &text); err != nil {
			p.Fatal(err)
		}
		words = append(words, text.Text)
	}
	return strings.Join(words, "; ")
}

// What the parent's client says to a request of the agent reaches it as it came.
func TestAnswersOfTheClient(t *testing.T) {
	const asks = `
		on session/prompt
		  permission c1 "Write" kind=edit path=x input={"a": [1, {"b": null}]}
		    option 1 allow_always "One"
		    option 2 allow_once "Another"
		    option 3 _custom "What nobody knows"
		    option 4 reject_always "Never"
		    when cancelled; text "cancelled"
		    when other; text "$outcome $option"
		  end`
	for name, tt := range map[string]struct {
		answer map[string]any
		want   string
	}{
		"an option":               {map[string]any{"result": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "2"}}}, "selected 2"},
		"of a kind of its own":    {map[string]any{"result": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "3"}}}, "cancelled"},
		"cancelled":               {map[string]any{"result": map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}}, "cancelled"},
		"one that was not there":  {map[string]any{"result": map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "9"}}}, "cancelled"},
		"that it cannot be asked": {map[string]any{"error": map[string]any{"code": -32601, "message": "Method not found"}}, "selected 4"},
		"nothing of the sort":     {map[string]any{"result": map[string]any{"yes": true}}, "selected 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := plant(t)
			p := w.speakTo(w.parent(map[string][]string{"a": w.scripted(asks)}))
			s := p.newSession(w.dir)
			p.prompt(1, s, "go")
			q := p.permission("Write")
			check.Equal(t, "options", compact(t, q.options), `[{"kind":"allow_always","name":"One","optionId":"1"},{"kind":"allow_once","name":"Another","optionId":"2"},`+
				`{"kind":"_custom","name":"What nobody knows","optionId":"3"},{"kind":"reject_always","name":"Never","optionId":"4"}]`)
			tt.answer["id"] = q.id
			p.send(tt.answer)
			check.Equal(t, "stop reason", p.stopped(1), "end_turn")
			check.Equal(t, "what the agent was told", p.answers(s), tt.want)
			p.in.Close()
			p.ended()
		})
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
