package subagent

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
)

// Whatever an agent writes during a turn (session/prompt has id 1), the run has one
// outcome: a result of which all that the contract names is there, that goes through
// JSON and back unchanged, and that does not call a failure a success.
func FuzzRun(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
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
			Agent: Agent{Command: []string{}}, WithheldEnv: []string{}, Noise: Noise{First: []string{}},
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
		raw := roundTrip(t, res)
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
			if doc[name][0] != '[' && name != "warnings" {
				t.Errorf("%s is %s", name, doc[name])
			}
		}
		if len(events) < 2 || !strings.HasPrefix(string(events[0]), `{"type":"start"`) || !strings.HasPrefix(string(events[len(events)-1]), `{"type":"end"`) {
			t.Errorf("%d events", len(events))
		}
	})
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
	}, io.Discard, in, &client.ConnOptions{MaxMessageBytes: 64 << 10, Observe: r.collect.update})
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

// roundTrip writes v as JSON, reads that, and writes the same again.
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
	if diff := cmp.Diff(string(raw), string(again)); err != nil || diff != "" {
		t.Fatalf("it changed on its way, %v (-before +after)\n%s", err, diff)
	}
	return raw
}

// A result that was read can be written, and is then the same for ever.
func FuzzResult(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte) {
		var res Result
		if json.Unmarshal(raw, &res) != nil {
			return
		}
		roundTrip(t, &res)
		_ = res.Err()
	})
}

// So is a request, unless a block of its prompt is of no type.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"prompt":[{"type":"text","text":"hi"}],"dir":"/d","labels":{"a":"b"},"tools":[]}`))
	f.Add([]byte(`{"prompt":[{"type":"nope"},{"type":"image","data":"AA==","mimeType":"x"}],"maxDepth":0}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var req Request
		if json.Unmarshal(raw, &req) != nil {
			return
		}
		if _, err := json.Marshal(req); err == nil {
			roundTrip(t, &req)
		}
	})
}
