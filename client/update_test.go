package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/wire"
)

// What becomes of the params of an update: its kind, its typed value, its raw form.
func TestReadUpdate(t *testing.T) {
	for _, tt := range []struct {
		name, params string
		session      acp.SessionId
		kind, value  string // value is JSON, empty for an unknown kind
		raw          string // "" is the update within params
	}{
		{"text", `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}`,
			"s", "agent_message_chunk", `{"content":{"text":"x","type":"text"},"sessionUpdate":"agent_message_chunk"}`, ""},
		{"unknown kind with content", `{"sessionId":"s","update":{"sessionUpdate":"agent_audio_chunk","content":{"type":"text","text":"x"}}}`,
			"s", "agent_audio_chunk", "", ""},
		{"unknown kind with toolCallId", `{"sessionId":"s","update":{"sessionUpdate":"tool_progress","toolCallId":"t","title":"x"}}`, "s", "tool_progress", "", ""},
		{"unknown kind with neither", `{"sessionId":"s","update":{"sessionUpdate":"heartbeat"}}`, "s", "heartbeat", "", ""},
		{"another notation is another kind", `{"sessionId":"s","update":{"sessionUpdate":"ToolCall","toolCallId":"t"}}`, "s", "ToolCall", "", ""},
		{"nearly a kind", `{"sessionId":"s","update":{"sessionUpdate":"tool__call","toolCallId":"t"}}`, "s", "tool__call", "", ""},
		{"no kind", `{"sessionId":"s","update":{"content":{"type":"text","text":"x"}}}`, "s", "", "", ""},
		{"kind is a number", `{"sessionId":"s","update":{"sessionUpdate":1,"content":{"type":"text","text":"x"}}}`, "s", "", "", ""},
		{"flattened", `{"sessionId":"s","sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`, "s", "", "", "all"},
		{"update is text", `{"sessionId":"s","update":"x"}`, "s", "", "", "all"},
		{"no params", `null`, "", "", "", "all"},
		{"array", `[1]`, "", "", "", "all"},
		{"no session", `{"update":{"sessionUpdate":"plan_removed","id":"p"}}`, "", "plan_removed", `{"id":"p","sessionUpdate":"plan_removed"}`, ""},
		{"session is a number", `{"sessionId":5,"update":{"sessionUpdate":"plan_removed","id":"p"}}`, "5", "plan_removed", `{"id":"p","sessionUpdate":"plan_removed"}`, ""},

		{"content is text", `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","content":"x"}}`,
			"s", "tool_call", `{"sessionUpdate":"tool_call","title":"T","toolCallId":"t"}`, ""},
		{"numeric toolCallId, line as text", `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":7,"status":"completed","locations":[{"path":"/a","line":"12"},{"path":"/b","line":"x"}]}}`,
			"s", "tool_call_update", `{"locations":[{"line":12,"path":"/a"},{"path":"/b"}],"sessionUpdate":"tool_call_update","status":"completed","toolCallId":"7"}`, ""},
		{"an odd item of content", `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","content":[{"type":"video","x":1},{"type":"content","content":{"type":"text","text":"x"}},7]}}`,
			"s", "tool_call", `{"content":[{"content":{"text":"x","type":"text"},"type":"content"}],"sessionUpdate":"tool_call","title":"T","toolCallId":"t"}`, ""},
		{"an odd plan", `{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"c","priority":1,"status":null},"x",{"content":["y"],"priority":"low"}]}}`,
			"s", "plan", `{"entries":[{"content":"c","priority":"1","status":""},{"content":"","priority":"low","status":""}],"sessionUpdate":"plan"}`, ""},
		{"odd commands", `{"sessionId":"s","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"a","description":null,"input":"x"},{"name":"b","description":"d","input":{"hint":3}}]}}`,
			"s", "available_commands_update", `{"availableCommands":[{"description":"","name":"a"},{"description":"d","input":{"hint":"3"},"name":"b"}],"sessionUpdate":"available_commands_update"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var u Update
			readUpdate([]byte(tt.params), &u)
			value := ""
			if u.Known() {
				value = asJSON(t, u.Value)
			}
			raw := tt.params
			if tt.raw == "" {
				var p struct{ Update json.RawMessage }
				if err := json.Unmarshal([]byte(tt.params), &p); err != nil {
					t.Fatal(err)
				}
				raw = string(p.Update)
			}
			type fields struct{ Session, Kind, Value, Raw string }
			want := fields{string(tt.session), tt.kind, tt.value, raw}
			got := fields{string(u.SessionID), u.Kind, value, string(u.Raw)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A chunk's content of a wrong shape costs the content, and the chunk stays. Where it is
// text all the same, that is taken.
func TestReadUpdateOddContent(t *testing.T) {
	for content, text := range map[string]string{
		`"x"`: "x", `""`: "", `[{"type":"text","text":"x"}]`: "x", `["x",{"type":"image"},{"type":"text","text":"y"},["z"]]`: "xy",
		`[]`: "none", `[7]`: "none", `[[["x"]]]`: "none", `null`: "none", `7`: "none", `{}`: "none", `{"type":"video"}`: "none", `{"text":"x"}`: "none",
	} {
		var u Update
		readUpdate([]byte(`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":`+content+`}}`), &u)
		c := u.Value.AgentMessageChunk
		if c == nil || c.MessageId == nil || *c.MessageId != "m" {
			t.Errorf("%s: %+v", content, c)
			continue
		}
		got := "none"
		if c.Content.Text != nil {
			got = c.Content.Text.Text
		} else if c.Content != (acp.ContentBlock{}) {
			got = asJSON(t, c.Content)
		}
		if got != text {
			t.Errorf("%s: text %q, want %q", content, got, text)
		}
	}
}

// Of a union's variants that come one after the other the last one counts, alone.
func TestReadUpdateTwoVariants(t *testing.T) {
	var u Update
	readUpdate([]byte(`{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"content":{"type":"image","data":"d","mimeType":"m"}}}`), &u)
	if c := u.Value.AgentMessageChunk; c == nil || c.Content.Text != nil || c.Content.Image == nil {
		t.Errorf("%s", asJSON(t, u.Value))
	}
}

func newReader() *Conn {
	conn := NewConn(nil, io.Discard, strings.NewReader(""), nil)
	<-conn.Done()
	return conn
}

// texts are params that are read as text, or must not be.
var texts = []string{
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a \"quoted\" \u00e4\n"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_thought_chunk","content":{"text":"hm","type":"text"}}}`,
	`{"sessionId":"t","update":{"content":{"text":"hm","type":"text"},"messageId":"m1","sessionUpdate":"agent_message_chunk"}}`,
	`{"update":{"content":{"text":"hm","type":"text"},"messageId":"m2","sessionUpdate":"agent_message_chunk"},"sessionId":"t"}`,
	` { "sessionId" : "s" , "update" : { "sessionUpdate" : "agent_message_chunk" , "content" : { "type" : "text" , "text" : "x" } } } `,
	`{"sessionId":"s","extra":{"a":[]},"update":{"sessionUpdate":"agent_message_chunk","n":1,"content":{"type":"text","text":"x","k":"text"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x","text":"y"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"content":{"type":"text"}}}`,
	`{"sessionId":"s","_meta":{"a":1},"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","_meta":{"a":1},"content":{"type":"text","text":"x"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x","annotations":{"priority":1}}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"x"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":7}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"image","text":"x"}}}`,
	`{"sessionId":7,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":7,"content":{"type":"text","text":"x"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":[{"type":"text","text":"x"}]}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}},"update":{}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"x"}},"update":{"content":{"type":"text","text":"y"}}}`,
	`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"x"}},"update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"y"}}}`,
	`{"sessionId":"s","update":{},"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}},"sessionId":"t"}`,
}

// repeated are lines whose params have an update twice, each after one that differs in
// its text only.
func repeated() (lines []string) {
	for _, update := range []string{`{}`, `{"sessionUpdate":"agent_thought_chunk"}`, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"y"}}`} {
		for _, text := range []string{strings.Repeat("x", 300), "", "x"} {
			line := strings.TrimSuffix(chunkLine("s", text), "}}")
			lines = append(lines, line+`,"update":`+update+`}}`)
		}
	}
	return lines
}

// Whatever comes twice, and whatever came before: nothing panics, and an update's
// value is what its raw form says.
func TestConnUpdateRepeated(t *testing.T) {
	r, w := io.Pipe()
	seen := 0
	conn := NewConn(nil, io.Discard, r, &ConnOptions{Observe: func(u *Update) {
		seen++
		if diff := cmp.Diff(DecodeUpdate(u.SessionID, u.Raw), *u); diff != "" {
			t.Errorf("%s (-read from Raw +got)\n%s", u.Raw, diff)
		}
	}})
	for _, line := range repeated() {
		io.WriteString(w, line+"\n")
	}
	w.Close()
	drain(t, conn)
	if s := conn.Stats(); s.Panics != 0 || seen != len(repeated()) {
		t.Errorf("%d panics, %d updates of %d", s.Panics, seen, len(repeated()))
	}
}

// checkText checks that the short way, if it takes params, reads what the long one
// does, and reports whether it took them.
func checkText(t *testing.T, conn *Conn, params string) bool {
	t.Helper()
	params = strings.TrimSpace(params) // as they come from wire
	s := wire.NewScan([]byte(params))
	text := conn.readText(&s)
	if text == nil {
		return false
	}
	if !s.End() {
		return false // not whole: it will not be used
	}
	got := text.update(conn.pattern.raw([]byte(params)))
	var want Update
	readUpdate([]byte(params), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-long +short)\n%s", params, diff)
	}
	if diff := cmp.Diff(want.notification(), text.notification()); diff != "" {
		t.Errorf("%s: the notification (-long +short)\n%s", params, diff)
	}
	return true
}

// Whatever was read before, a chunk of text is read for what it is.
func TestReadText(t *testing.T) {
	conn := newReader()
	taken := 0
	for _, first := range texts {
		for _, second := range texts {
			checkText(t, conn, first)
			if checkText(t, conn, second) {
				taken++
			}
		}
	}
	if want := len(texts) * 11; taken != want {
		t.Errorf("%d were taken, want %d", taken, want)
	}
	// The second one of a kind is only compared.
	checkText(t, conn, texts[0])
	s := wire.NewScan([]byte(texts[1]))
	if conn.pattern.match(&s) == nil {
		t.Error("the next chunk does not match the pattern of the last")
	}
	// Nothing long is kept.
	checkText(t, conn, `{"sessionId":"`+strings.Repeat("s", 2*maxPattern)+`","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}`)
	p := &conn.pattern
	if n := cap(p.head) + cap(p.tail) + len(p.session) + len(p.messageID); n > 2*maxPattern {
		t.Errorf("%d bytes are kept", n)
	}
}

func FuzzText(f *testing.F) {
	for i, text := range texts {
		f.Add(text, texts[(i+1)%len(texts)])
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		check.Cost(t, len(first)+len(second))
		conn := newReader()
		for _, params := range []string{first, second} {
			if !json.Valid([]byte(params)) {
				continue
			}
			// What follows mostly differs in its text only.
			checkText(t, conn, strings.ReplaceAll(params, `"x"`, `"`+strings.Repeat("x", 300)+`"`))
			checkText(t, conn, strings.ReplaceAll(params, `"x"`, `""`))
			checkText(t, conn, params)
		}
	})
}

// drain waits until everything was delivered that the peer wrote before it went.
func drain(t testing.TB, conn *Conn) {
	t.Helper()
	awaitClosed(t, conn.Done(), "end of the reading")
	done := make(chan struct{})
	conn.wire.Defer(func() { close(done) })
	awaitClosed(t, done, "end of the deliveries")
}

// Observe sees everything first; the client gets what it asked for.
func TestConnUpdates(t *testing.T) {
	lines := []string{
		chunkLine("s", "one"),
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"brand_new","x":[1, 2]}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","_meta":{"k":"v"},"update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"T"}}}`,
		`{"params":{"update":{"content":{"text":"two","type":"text"},"sessionUpdate":"agent_message_chunk"},"sessionId":"s"},"method":"session/update","jsonrpc":"2.0"}`,
	}
	type seen struct {
		Kind, Raw string
		Meta      map[string]any
	}
	all := []seen{
		{"agent_message_chunk", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one"}}`, nil},
		{"brand_new", `{"sessionUpdate":"brand_new","x":[1, 2]}`, nil},
		{"tool_call", `{"sessionUpdate":"tool_call","toolCallId":"t","title":"T"}`, map[string]any{"k": "v"}},
		{"agent_message_chunk", `{"content":{"text":"two","type":"text"},"sessionUpdate":"agent_message_chunk"}`, nil},
	}
	var observed, updates []seen
	var typed []acp.SessionNotification
	r, w := io.Pipe()
	conn := NewConn(&Handlers{
		OnUpdate: func(_ context.Context, u Update) { updates = append(updates, seen{u.Kind, string(u.Raw), u.Meta}) },
		OnSessionUpdate: func(_ context.Context, n acp.SessionNotification) error {
			typed = append(typed, n)
			return nil
		},
	}, io.Discard, r, &ConnOptions{Observe: func(u *Update) {
		observed = append(observed, seen{u.Kind, string(u.Raw), u.Meta})
		panic("it is contained")
	}})
	for _, line := range lines {
		io.WriteString(w, line+"\n")
	}
	w.Close()
	drain(t, conn)
	if diff := cmp.Diff(all, observed); diff != "" {
		t.Errorf("Observe (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(all, updates); diff != "" {
		t.Errorf("OnUpdate (-want +got)\n%s", diff)
	}
	if len(typed) != 3 || typed[0].Update.AgentMessageChunk.Content.Text.Text != "one" || typed[1].Meta["k"] != "v" ||
		typed[1].Update.ToolCall.Title != "T" || typed[2].Update.AgentMessageChunk.Content.Text.Text != "two" {
		t.Errorf("OnSessionUpdate: %s", asJSON(t, typed))
	}
	if s := conn.Stats(); s.UnknownUpdates != 1 || s.Panics != 4 {
		t.Errorf("%+v", s)
	}
}

// What a callback keeps does not change with the next line, nor does it keep the
// reader's buffer.
func TestConnUpdatesAreTheirOwn(t *testing.T) {
	var kept []Update
	r, w := io.Pipe()
	conn := NewConn(&Handlers{OnUpdate: func(_ context.Context, u Update) { kept = append(kept, u) }}, io.Discard, r, nil)
	const n = 100
	for i := range n {
		io.WriteString(w, chunkLine("s", strings.Repeat(string(rune('a'+i%26)), 50))+"\n")
	}
	w.Close()
	drain(t, conn)
	for i, u := range kept {
		want := strings.Repeat(string(rune('a'+i%26)), 50)
		if got := u.Value.AgentMessageChunk.Content.Text.Text; got != want || !bytes.Contains(u.Raw, []byte(want)) || cap(u.Raw) > 1<<10 {
			t.Fatalf("update %d: %q, %s", i, got, u.Raw)
		}
	}
	if len(kept) != n || conn.observed.Raw != nil {
		t.Errorf("%d updates; the connection keeps %d bytes", len(kept), len(conn.observed.Raw))
	}
}

// Of members that come twice the last one counts, however the frame is read.
func TestConnUpdateTwice(t *testing.T) {
	var got []string
	r, w := io.Pipe()
	conn := NewConn(&Handlers{OnUpdate: func(_ context.Context, u Update) { got = append(got, u.Kind+" "+string(u.Raw)) }}, io.Discard, r, nil)
	other := `{"sessionId":"s","update":{"sessionUpdate":"plan_removed","id":"p"}}`
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"session/update","params":` + texts[0] + `,"params":` + other + `}`,
		`{"jsonrpc":"2.0","method":"session/update","params":` + texts[0] + `,"id":null,"params":` + other + `}`,
		`{"jsonrpc":"2.0","method":"session/update","params":` + texts[0] + `,"method":"vendor/note"}`,
		`{"jsonrpc":"2.0","method":"session/update","params":` + texts[0] + `,`,
		`{"jsonrpc":"2.0","method":"session/update","params":` + texts[0] + `]`,
	} {
		io.WriteString(w, line+"\n")
	}
	w.Close()
	drain(t, conn)
	want := `plan_removed {"sessionUpdate":"plan_removed","id":"p"}`
	if diff := cmp.Diff([]string{want, want}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := conn.Stats().Noise.Lines; n != 2 {
		t.Errorf("%d lines of noise, want 2", n)
	}
}
