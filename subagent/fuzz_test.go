package subagent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
)

// Whatever an agent writes during a turn (session/prompt has id 1), the run has one
// outcome: a result that says what the agent said, of which all that the contract names is
// there, that goes through JSON and back unchanged, and that does not call a failure a
// success.
func FuzzRun(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		check.Cost(t, len(text))
		r := newRun(t.Context(), "fuzz", Request{Prompt: Text("hi")})
		var events [][]byte
		r.req.Events = func(e Event) {
			raw, err := json.Marshal(e)
			if err != nil || bytes.ContainsAny(raw, "\n\r") {
				t.Errorf("event %s: %s, %v", e.Type, raw, err)
			}
			events = append(events, raw)
		}
		session := "s"
		r.collect.setSession(session)
		r.begin(Result{
			SchemaVersion: SchemaVersion, RunID: r.ID(), Provider: "fuzz", SessionID: &session, Dir: "/d", StartedAt: time.Unix(0, 0).UTC(),
			Agent: Agent{Command: []string{}}, WithheldEnv: []string{}, Warnings: []string{}, Noise: Noise{First: []string{}},
		}, driver{turn: func(ctx context.Context) turnEnd { return play(ctx, r, text) }})
		<-r.Done()
		res := r.Close()

		if outcomes := []stopreason.Outcome{stopreason.Completed, stopreason.MaxTokens, stopreason.Refusal, stopreason.Aborted, stopreason.Error}; !slices.Contains(outcomes, res.Stop) {
			t.Errorf("stop %q", res.Stop)
		}
		if res.Stop == stopreason.Completed && (res.Error != nil || res.StopReason == nil || *res.StopReason != string(acp.StopReasonEndTurn)) {
			t.Errorf("completed with %v, %v", res.StopReason, res.Error)
		}
		if res.Stop == stopreason.Error && res.Error == nil {
			t.Error("an error without an error")
		}
		if !utf8.ValidString(res.Output) || res.Empty != (strings.TrimSpace(res.Output) == "") {
			t.Errorf("output %q, empty %v", res.Output, res.Empty)
		}
		if c := res.Counts; c.Unknown > c.Updates || c.Late > c.Updates {
			t.Errorf("%+v", c)
		}
		contractual(t, roundTrip(t, res))
		if reason, said, last, ok := told(text); ok {
			var got strings.Builder
			for _, m := range res.Messages {
				got.WriteString(m.Text)
			}
			// What comes right after the answer may count, as this turn is carried out.
			if !strings.HasPrefix(got.String(), said) || last && got.String() != said || res.Stop != stopreason.Of(reason) || res.StopReason == nil || *res.StopReason != reason {
				t.Errorf("%q, %v, %v; the agent said %q, %q", got.String(), res.Stop, res.StopReason, said, reason)
			}
		}
		if len(events) < 2 || !strings.HasPrefix(string(events[0]), `{"type":"start"`) || !strings.HasPrefix(string(events[len(events)-1]), `{"type":"end"`) {
			t.Errorf("%d events", len(events))
		}
	})
}

// maxMessage bounds a line in FuzzRun.
const maxMessage = 64 << 10

// told returns the stop reason and the text before it of an agent's output that leaves
// open neither, and whether the answer is the last it says.
func told(text string) (reason, said string, last, ok bool) {
	frames := check.ReadFrames(text, maxMessage)
	raw, before := frames.Reply("1")
	if reason, ok = check.Member(raw, "stopReason"); !ok || reason == "" {
		return "", "", false, false
	}
	for _, f := range frames.List[:before] {
		params := f["params"]
		kind, ok := check.Member(params, "update", "sessionUpdate")
		if !ok || kind != "agent_message_chunk" {
			if bytes.ContainsAny(params, "\\") || bytes.Contains(params, []byte("agent_message_chunk")) {
				return "", "", false, false
			}
			continue
		}
		session, ok1 := check.Member(params, "sessionId")
		typ, ok2 := check.Member(params, "update", "content", "type")
		text, ok3 := check.Member(params, "update", "content", "text")
		if string(f["method"]) != `"session/update"` || f["result"] != nil || f["error"] != nil || !ok1 || !ok2 || !ok3 || typ != "text" {
			return "", "", false, false
		}
		if session == "s" {
			said += text
		}
	}
	text = strings.TrimSpace(text)
	end := json.Valid([]byte(text[strings.LastIndexByte(text, '\n')+1:])) && before == len(frames.List)-1
	return reason, said, end, true
}

// contractual checks that a result has everything, and lists where there must be some.
func contractual(t *testing.T, raw []byte) {
	t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[Result]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[Result]().Field(i).Tag.Get("json"), ",")
		if _, ok := doc[name]; !ok {
			t.Errorf("no %s in %s", name, raw)
		}
	}
	for _, name := range []string{"messages", "toolCalls", "permissions", "withheldEnv", "warnings"} {
		if !bytes.HasPrefix(doc[name], []byte("[")) {
			t.Errorf("%s is %s", name, doc[name])
		}
	}
}

// play carries out a turn with an agent that writes text.
func play(ctx context.Context, r *run, text string) turnEnd {
	in, out := io.Pipe()
	conn := client.NewConn(&client.Handlers{
		OnUpdate: func(_ context.Context, u client.Update) { r.update(u) },
		OnRequestPermission: func(ctx context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			decision, rec := permission.Decide(ctx, permission.Allow(), permission.Request{SessionID: string(p.SessionId), ToolCall: p.ToolCall, Options: p.Options})
			r.collect.permission(rec)
			r.permission(rec)
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(decision.OptionID))}, nil
		},
	}, io.Discard, in, &client.ConnOptions{MaxMessageBytes: maxMessage, Observe: r.collect.update})
	go func() {
		for conn.Stats().Sent == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		io.WriteString(out, text)
		out.Close()
	}()
	var raw json.RawMessage
	err := conn.Call(ctx, acp.AgentMethodSessionPrompt, acp.PromptRequest{SessionId: "s", Prompt: r.req.Prompt}, &raw)
	r.collect.endTurn()
	<-conn.Done()
	answer := readFields(raw)
	end := turnEnd{stopReason: answer.text("stopReason"), usage: readUsage(answer.object("usage"))}
	if err != nil {
		end.err = &Error{Kind: client.KindAgent, Step: client.StepPrompt, Message: err.Error(), Err: err}
	}
	for conn.Stats().OpenRequests > 0 { // their records come before the outcome
		time.Sleep(100 * time.Microsecond)
	}
	return end
}

// roundTrip writes v as JSON, reads that, and writes the same again. What was read is
// what v is, as far as JSON can say it.
func roundTrip[T any](t *testing.T, v *T) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("it cannot be written: %v", err)
	}
	var back T
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&back); err != nil {
		t.Fatalf("%s cannot be read: %v", raw, err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(raw) != string(again) {
		t.Fatalf("it changed on its way, %v\nbefore %s\nafter  %s", err, raw, again)
	}
	return raw
}

// A result that was read can be written, and is then the same for ever.
func FuzzResult(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte) {
		check.Cost(t, len(raw))
		var res Result
		if json.Unmarshal(raw, &res) != nil {
			return
		}
		roundTrip(t, &res)
		if err := res.Err(); (err == nil) != (res.Error == nil && res.Stop.Success()) {
			t.Errorf("%s with %v: %v", res.Stop, res.Error, err)
		}
	})
}

// So is a request, with all that was in it, unless a block of its prompt is of no type.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"prompt":[{"type":"text","text":"hi"}],"dir":"/d","labels":{"a":"b"},"tools":[]}`))
	f.Add([]byte(`{"prompt":[{"type":"nope"},{"type":"image","data":"AA==","mimeType":"x"}],"maxDepth":0}`))
	f.Add([]byte(`{"prompt":[{"type":"audio","data":"AA==","mimeType":"x","_meta":{"a":1}},{"type":"resource","resource":{"uri":"u","blob":"AA=="}},` +
		`{"type":"resource_link","name":"n","uri":"u","size":3,"annotations":{"priority":0.5}}],"parentDir":"/p","model":"m","mode":"n","outputSchema":{},"tools":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		check.Cost(t, len(raw))
		var req, back Request
		if json.Unmarshal(raw, &req) != nil {
			return
		}
		written, err := json.Marshal(req)
		if err != nil {
			return
		}
		roundTrip(t, &req)
		if err := json.Unmarshal(written, &back); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(back.Needs()), fmt.Sprint(req.Needs()); got != want {
			t.Errorf("%s needs %s, before %s", written, got, want)
		}
		if !reflect.DeepEqual(back.Prompt, req.Prompt) && len(req.Prompt) > 0 {
			t.Errorf("the prompt is %+v, was %+v", back.Prompt, req.Prompt)
		}
	})
}
