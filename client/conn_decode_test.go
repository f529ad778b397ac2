package client

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
)

// asJSON makes what was decoded readable, and shows that the SDK can write it.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		return "cannot be written: " + err.Error()
	}
	return string(b)
}

// A badly shaped field costs that field; what can be read of it is read.
func TestDecodeAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		into      any
		want      string
	}{
		{"usage with floats, strings and null",
			`{"stopReason":"end_turn","usage":{"inputTokens":12.0,"outputTokens":"34","totalTokens":46.5,"thoughtTokens":null,"cachedReadTokens":[1]}}`,
			&acp.PromptResponse{}, `{"stopReason":"end_turn","usage":{"inputTokens":12,"outputTokens":34,"totalTokens":46}}`},
		{"usage is text", `{"stopReason":"end_turn","usage":"12 tokens"}`, &acp.PromptResponse{}, `{"stopReason":"end_turn"}`},
		{"usage is null", `{"stopReason":"end_turn","usage":null,"_meta":null}`, &acp.PromptResponse{}, `{"stopReason":"end_turn"}`},
		{"numbers beyond an int", `{"stopReason":"end_turn","usage":{"inputTokens":1e300,"outputTokens":-1,"totalTokens":99999999999999999999}}`,
			&acp.PromptResponse{}, `{"stopReason":"end_turn","usage":{"inputTokens":0,"outputTokens":-1,"totalTokens":0}}`},
		{"stop reason is a number", `{"stopReason":7}`, &acp.PromptResponse{}, `{"stopReason":"7"}`},
		{"stop reason is null", `{"stopReason":null,"userMessageId":5}`, &acp.PromptResponse{}, `{"stopReason":"","userMessageId":"5"}`},
		{"stop reason is an object", `{"stopReason":{"a":1},"_meta":{"b":2}}`, &acp.PromptResponse{}, `{"_meta":{"b":2},"stopReason":""}`},
		{"nothing", `null`, &acp.PromptResponse{}, `{"stopReason":""}`},
		{"not an object", `"done"`, &acp.PromptResponse{}, `{"stopReason":""}`},

		{"initialize, least", `{"protocolVersion":1}`, &acp.InitializeResponse{},
			`{"agentCapabilities":{"auth":{},"mcpCapabilities":{},"promptCapabilities":{},"sessionCapabilities":{}},"authMethods":[],"protocolVersion":1}`},
		{"initialize, all odd",
			`{"protocolVersion":"1","agentCapabilities":{"loadSession":"yes","promptCapabilities":{"image":true,"audio":1,"embeddedContext":"true"},"mcpCapabilities":[],"sessionCapabilities":{"close":{},"list":true,"fork":null},"auth":null},"agentInfo":{"name":"a","version":2,"title":null},"authMethods":{"id":"x"}}`,
			&acp.InitializeResponse{},
			`{"agentCapabilities":{"auth":{},"mcpCapabilities":{},"promptCapabilities":{"embeddedContext":true,"image":true},"sessionCapabilities":{"close":{}}},"agentInfo":{"name":"a","version":"2"},"authMethods":[],"protocolVersion":1}`},
		{"initialize, version is a date", `{"protocolVersion":"2025-01-01","agentCapabilities":null,"agentInfo":"x","authMethods":null}`, &acp.InitializeResponse{},
			`{"agentCapabilities":{"auth":{},"mcpCapabilities":{},"promptCapabilities":{},"sessionCapabilities":{}},"authMethods":[],"protocolVersion":0}`},
		{"auth methods",
			`{"protocolVersion":1,"authMethods":[{"id":"a","name":"A","description":null},{"id":"b","name":"B","type":"agent"},{"id":"c","name":"C","type":"terminal","args":["x",1,null]},{"id":"d","name":"D","type":"env_var","vars":[{"name":"KEY"},7]},{"id":"e","name":"E","type":"quantum"},"f",null]}`,
			&acp.InitializeResponse{},
			`{"agentCapabilities":{"auth":{},"mcpCapabilities":{},"promptCapabilities":{},"sessionCapabilities":{}},"authMethods":[{"id":"a","name":"A"},{"id":"b","name":"B"},{"args":["x","1"],"id":"c","name":"C","type":"terminal"},{"id":"d","name":"D","type":"env_var","vars":[{"name":"KEY","secret":true}]}],"protocolVersion":1}`},

		{"session with modes and options",
			`{"sessionId":7,"modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":5},"b"]},"configOptions":[{"type":"select","id":"m","name":"M","currentValue":"x","options":[{"value":"x","name":"X"},{"value":"y","name":"Y","description":5}]},{"type":"select","id":"g","name":"G","currentValue":"x","options":[{"group":"g","name":"G","options":[{"value":"x","name":"X"}]}]},{"type":"boolean","id":"b","name":"B","currentValue":"true"},{"type":"slider","id":"s"},null]}`,
			&acp.NewSessionResponse{},
			`{"configOptions":[{"currentValue":"x","id":"m","name":"M","options":[{"name":"X","value":"x"},{"description":"5","name":"Y","value":"y"}],"type":"select"},{"currentValue":"x","id":"g","name":"G","options":[{"group":"g","name":"G","options":[{"name":"X","value":"x"}]}],"type":"select"},{"currentValue":true,"id":"b","name":"B","type":"boolean"}],"modes":{"availableModes":[{"id":"a","name":"A"},{"id":"5","name":""}],"currentModeId":"a"},"sessionId":"7"}`},
		{"session with odd modes", `{"sessionId":"s","modes":["a"],"configOptions":{"a":1},"models":{"x":1}}`, &acp.NewSessionResponse{}, `{"sessionId":"s"}`},
		{"sessions", `{"sessions":[{"sessionId":"a","cwd":"/","updatedAt":5},7],"nextCursor":null}`, &acp.ListSessionsResponse{},
			`{"sessions":[{"cwd":"/","sessionId":"a","updatedAt":"5"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			decode([]byte(tt.raw), tt.into)
			if diff := cmp.Diff(tt.want, asJSON(t, tt.into)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What the SDK can read is read as the SDK reads it.
func TestDecodeAgreesWithSDK(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		into any
	}{
		{`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"x"}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"agent_message_chunk","messageId":"m","_meta":{"a":[1,{"b":null}]},"content":{"type":"text","text":"x\u00e4","annotations":{"audience":["user"],"priority":0.5,"lastModified":"now"},"_meta":{}}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"agent_thought_chunk","content":{"type":"image","data":"AA==","mimeType":"image/png","uri":"u"}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"agent_message_chunk","content":{"type":"audio","data":"AA==","mimeType":"audio/wav"}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","name":"n","uri":"file:///x","size":3,"title":"t","description":"d","mimeType":"text/plain"}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"u","text":"t","mimeType":"m"}}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"u","blob":"AA=="}}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","kind":"edit","status":"pending","locations":[{"path":"/a","line":3},{"path":"/b"}],"rawInput":{"n":1.5,"l":[null,"x"]},"rawOutput":"x","content":[{"type":"content","content":{"type":"text","text":"x"}},{"type":"diff","path":"/a","oldText":null,"newText":"n"},{"type":"diff","path":"/a","oldText":"o","newText":"n"},{"type":"terminal","terminalId":"tt"}]}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":null,"status":"completed","content":null,"kind":"other"}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending"}]}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"plan_update","plan":{"type":"markdown","id":"p","content":"# x"}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"plan_update","plan":{"type":"items","id":"p","entries":[]}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"plan_update","plan":{"type":"file","id":"p","uri":"u"}}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"plan_removed","id":"p"}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"n","description":"d","input":{"hint":"h"}},{"name":"m","description":"","input":null}]}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"current_mode_update","currentModeId":"m"}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"config_option_update","configOptions":[{"type":"select","id":"i","name":"n","category":"model","currentValue":"v","options":[{"value":"v","name":"V"}]},{"type":"boolean","id":"b","name":"n","currentValue":true}]}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"session_info_update","title":"t","updatedAt":null}`, &acp.SessionUpdate{}},
		{`{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.25,"currency":"USD"}}`, &acp.SessionUpdate{}},

		{`{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true},"mcpCapabilities":{"http":true},"sessionCapabilities":{"close":{},"list":{},"resume":{},"fork":{"_meta":{}}},"auth":{"logout":{}}},"agentInfo":{"name":"n","version":"v","title":"t"},"authMethods":[{"id":"a","name":"A","description":"d"},{"type":"env_var","id":"b","name":"B","vars":[{"name":"K","optional":true,"secret":false}]},{"type":"terminal","id":"c","name":"C","args":["x"],"env":{"A":"b"}}],"_meta":{"x":1}}`, &acp.InitializeResponse{}},
		{`{"protocolVersion":1}`, &acp.InitializeResponse{}},
		{`{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A","description":"d"}]},"configOptions":[]}`, &acp.NewSessionResponse{}},
		{`{"modes":null}`, &acp.LoadSessionResponse{}},
		{`{}`, &acp.LoadSessionResponse{}},
		{`{"stopReason":"max_tokens","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3,"thoughtTokens":4},"userMessageId":"u"}`, &acp.PromptResponse{}},
		{`{"sessionId":"s","toolCall":{"toolCallId":"t","title":"T","kind":"execute","rawInput":{"command":"ls"}},"options":[{"optionId":"o","name":"O","kind":"allow_always","_meta":{"x":1}}]}`, &acp.RequestPermissionRequest{}},
		{`{"sessionId":"s","path":"/p","line":3,"limit":10}`, &acp.ReadTextFileRequest{}},
		{`{"sessionId":"s","command":"c","args":["a"],"env":[{"name":"n","value":"v"}],"cwd":"/","outputByteLimit":5}`, &acp.CreateTerminalRequest{}},
		{`{"mode":"url","message":"m","elicitationId":"e","url":"u","sessionId":"s"}`, &acp.UnstableCreateElicitationRequest{}},
	} {
		want := reflect.New(reflect.TypeOf(tt.into).Elem()).Interface()
		if err := json.Unmarshal([]byte(tt.raw), want); err != nil {
			t.Errorf("%s: the SDK cannot read it: %v", tt.raw, err)
			continue
		}
		if !decode([]byte(tt.raw), tt.into) {
			t.Errorf("%s: refused", tt.raw)
		}
		if diff := cmp.Diff(want, tt.into); diff != "" {
			t.Errorf("%s (-SDK +ours)\n%s", tt.raw, diff)
		}
	}
}

// The name of each variant of a union is what the SDK writes as its discriminator.
func TestDecodeKnowsAllVariants(t *testing.T) {
	for _, union := range []any{
		acp.SessionUpdate{}, acp.ContentBlock{}, acp.ToolCallContent{}, acp.AuthMethod{}, acp.SessionConfigOption{},
		acp.PlanUpdateContent{}, acp.RequestPermissionOutcome{}, acp.UnstableCreateElicitationRequest{},
	} {
		typ := reflect.TypeOf(union)
		key := "type"
		if k, ok := discriminators[typ]; ok {
			key = k
		}
		for i := range typ.NumField() {
			v := reflect.New(typ).Elem()
			v.Field(i).Set(reflect.New(typ.Field(i).Type.Elem()))
			b, err := json.Marshal(v.Interface())
			if err != nil {
				// Its own parts are unions that are not set: the name is all there is.
				b = []byte(`{"` + key + `":"` + snake(typ.Field(i).Name) + `"}`)
			}
			name := member(b, key)
			if name == "" && typ == reflect.TypeFor[acp.AuthMethod]() {
				name = "agent"
			}
			if got, ok := shapeOf(typ).fields[name]; !ok || got != i {
				t.Errorf("%s.%s is written as %s %q, which reads as field %d", typ, typ.Field(i).Name, key, name, got)
			}
		}
	}
}

// Whatever it is, decode does not panic, and reads what the SDK has written as the SDK
// reads it.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"sessionId":"s","modes":{"availableModes":[{"id":1}]},"configOptions":[{"type":"select","options":[{"group":1}]}]}`))
	f.Add([]byte(`{"sessionUpdate":"tool_call","toolCallId":1,"locations":[{"line":"1"}],"content":[{"type":"content","content":{"type":"resource","resource":{"blob":1}}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		check.Cost(t, len(raw))
		for _, into := range []any{
			&acp.SessionUpdate{}, &acp.InitializeResponse{}, &acp.NewSessionResponse{}, &acp.PromptResponse{},
			&acp.RequestPermissionRequest{}, &acp.ListSessionsResponse{}, &acp.CreateTerminalRequest{},
		} {
			decode(raw, into)
			theirs, want, got := fresh(into), fresh(into), fresh(into)
			if json.Unmarshal(raw, theirs) != nil {
				continue
			}
			written, err := json.Marshal(theirs)
			if err != nil || json.Unmarshal(written, want) != nil {
				continue
			}
			// Not with cmp, whose time grows exponentially with the depth.
			if ok := decode(written, got); !ok || !reflect.DeepEqual(want, got) {
				t.Errorf("%s: %v\nSDK  %s\nours %s", written, ok, asJSON(t, want), asJSON(t, got))
			}
		}
	})
}

// fresh returns a pointer to a zero value of what v points to.
func fresh(v any) any { return reflect.New(reflect.TypeOf(v).Elem()).Interface() }
