package subagent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// Updates as an agent writes them.
func text(text string, id ...string) string { return chunk("agent_message_chunk", text, id...) }
func thought(s string) string               { return chunk("agent_thought_chunk", s) }
func call(id, title, fields string) string {
	return `{"sessionUpdate":"tool_call","toolCallId":"` + id + `","title":"` + title + `"` + fields + `}`
}

func chunk(kind, text string, id ...string) string {
	u := map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}}
	if len(id) > 0 {
		u["messageId"] = id[0]
	}
	raw, _ := json.Marshal(u)
	return string(raw)
}

// collect feeds updates for session "s", or the one before a "|", to a collector.
func collect(c *collector, updates ...string) {
	for _, u := range updates {
		session, raw, ok := strings.Cut(u, "|")
		if !ok || strings.HasPrefix(u, "{") {
			session, raw = "s", u
		}
		update := client.DecodeUpdate(acp.SessionId(session), json.RawMessage(raw))
		c.update(&update)
	}
}

func collected(c *collector, cancelled bool) *Result {
	res := &Result{}
	c.fill(res, cancelled, func(text string) string { return text })
	c.fillLate(res)
	return res
}

// collecting returns a collector whose session is known.
func collecting() *collector {
	c := newCollector()
	c.setSession("s")
	return c
}

func TestCollectMessages(t *testing.T) {
	for name, tt := range map[string]struct {
		updates []string
		want    []string // "id text", "- text" without an id
		output  string
	}{
		"nothing":                      {nil, nil, ""},
		"chunks of one message":        {[]string{text("a"), text("b")}, []string{"- ab"}, "ab"},
		"another id":                   {[]string{text("a", "1"), text("b", "1"), text("c", "2")}, []string{"1 ab", "2 c"}, "c"},
		"an id comes back":             {[]string{text("a", "1"), text("b", "2"), text("c", "1")}, []string{"1 a", "2 b", "1 c"}, "c"},
		"an id is left out":            {[]string{text("a", "1"), text("b")}, []string{"1 ab"}, "ab"},
		"an id comes late":             {[]string{text("a"), text("b", "1")}, []string{"- a", "1 b"}, "b"},
		"a tool call in between":       {[]string{text("a"), call("c", "t", ""), text("b")}, []string{"- a", "- b"}, "b"},
		"within one id":                {[]string{text("a", "1"), call("c", "t", ""), text("b", "1")}, []string{"1 a", "1 b"}, "b"},
		"a tool call's update":         {[]string{text("a"), `{"sessionUpdate":"tool_call_update","toolCallId":"c"}`, text("b")}, []string{"- a", "- b"}, "b"},
		"a thought in between":         {[]string{text("a"), thought("hm"), text("b")}, []string{"- a", "- b"}, "b"},
		"a plan in between":            {[]string{text("a"), `{"sessionUpdate":"plan","entries":[]}`, text("b")}, []string{"- a", "- b"}, "b"},
		"the user's words in between":  {[]string{text("a"), chunk("user_message_chunk", "u"), text("b")}, []string{"- a", "- b"}, "b"},
		"what does not interrupt":      {[]string{text("a"), `{"sessionUpdate":"usage_update","used":1,"size":2}`, `{"sessionUpdate":"new_kind"}`, text("b")}, []string{"- ab"}, "ab"},
		"an image within a message":    {[]string{text("a"), `{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"","mimeType":"image/png"}}`, text("b")}, []string{"- ab"}, "ab"},
		"an empty chunk is no message": {[]string{text(""), text("", "1")}, nil, ""},
		"an empty chunk begins one":    {[]string{text("a", "1"), text("", "2"), text("b", "2")}, []string{"1 a", "2 b"}, "b"},
		"an empty chunk ends one":      {[]string{text("a"), text("")}, []string{"- a"}, "a"},
		"blanks are not the answer":    {[]string{text("a"), thought(""), text(" \n")}, []string{"- a", "-  \n"}, "a"},
		"unless there is nothing else": {[]string{text(" "), thought(""), text("\n")}, []string{"-  ", "- \n"}, "\n"},
		"a character in two chunks":    {[]string{text("a\u00e4"), text("\u00f6")}, []string{"- aäö"}, "aäö"},
		"content in another shape":     {[]string{`{"sessionUpdate":"agent_message_chunk","content":7}`, text("a")}, []string{"- a"}, "a"},
		"an update of no kind":         {[]string{`{"content":{"type":"text","text":"x"}}`, text("a")}, []string{"- a"}, "a"},
		"what is in a card is no text": {[]string{call("c", "t", `,"content":[{"type":"content","content":{"type":"text","text":"x"}}]`), text("a")}, []string{"- a"}, "a"},
		"a foreign session's text":     {[]string{"other|" + text("x"), text("a"), "|" + text("y")}, []string{"- a"}, "a"},
		"it does not end a message":    {[]string{text("a"), "other|" + thought("x"), text("b")}, []string{"- ab"}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			c := collecting()
			collect(c, tt.updates...)
			res := collected(c, false)
			var got []string
			for _, m := range res.Messages {
				id := "-"
				if m.ID != nil {
					id = *m.ID
				}
				got = append(got, id+" "+m.Text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if res.Output != tt.output || res.Empty != (strings.TrimSpace(tt.output) == "") || res.Truncated {
				t.Errorf("output %q, empty %v, truncated %v; want %q", res.Output, res.Empty, res.Truncated, tt.output)
			}
		})
	}
}

func TestCollectLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		updates   []string
		want      string // messages, with / in between
		truncated bool
	}{
		"up to it":                          {[]string{text("12345"), text("67890")}, "1234567890", false},
		"the beginning of the answer stays": {[]string{text("12345"), text("67890"), text("x"), text("y")}, "1234567890", true},
		"older messages go first":           {[]string{text("1234", "1"), text("5678", "2"), text("90ab", "3")}, "5678/90ab", true},
		"and then the end of the last one":  {[]string{text("1234", "1"), text("5678", "2"), text("90abcdefghij", "3")}, "90abcdefgh", true},
		"no half characters":                {[]string{text("123456789\u00e4")}, "123456789", true},
		"nothing after the cut":             {[]string{text("123456789\u00e4"), text("x")}, "123456789", true},
		"the next message has room again":   {[]string{text("123456789\u00e4", "1"), text("x", "2")}, "123456789/x", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := collecting()
			c.limit = 10
			collect(c, tt.updates...)
			res := collected(c, false)
			var got []string
			for _, m := range res.Messages {
				got = append(got, m.Text)
			}
			if joined := strings.Join(got, "/"); joined != tt.want || res.Truncated != tt.truncated {
				t.Errorf("messages %q, truncated %v; want %q, %v", joined, res.Truncated, tt.want, tt.truncated)
			}
		})
	}
}

// What an agent makes without end does not fill the parent.
func TestCollectBounds(t *testing.T) {
	c := collecting()
	for i := range maxCards + 100 {
		id := fmt.Sprint(i)
		c.text("m", id)
		c.permission(permission.Record{SessionID: "s", ToolCallID: id}) // makes a tool call too
	}
	collect(c, text("the last", "last"))
	res := collected(c, false)
	if len(res.Messages) != maxCards || !res.Truncated || res.Output != "the last" {
		t.Errorf("%d messages, truncated %v, output %q", len(res.Messages), res.Truncated, res.Output)
	}
	if len(res.ToolCalls) != maxCards || len(res.Permissions) != maxCards {
		t.Errorf("%d tool calls, %d permissions", len(res.ToolCalls), len(res.Permissions))
	}
	if len(res.Warnings) != 2 || !strings.Contains(res.Warnings[0], "more text than is kept") ||
		!strings.Contains(res.Warnings[1], "more tool calls or permission requests than are kept") {
		t.Errorf("warnings %q", res.Warnings)
	}

	c = collecting()
	c.cardLimit = 40_000
	long := strings.Repeat("x", c.cardLimit/4)
	for i := range 5 {
		collect(c, call(fmt.Sprint(i), long, ""))
		c.permission(permission.Record{SessionID: "s", ToolCallID: fmt.Sprint(i), RawInput: long, Decision: permission.Denied})
	}
	res = collected(c, false)
	kept := 0
	for _, card := range res.ToolCalls {
		if card.Title != nil {
			kept += len(*card.Title)
		}
	}
	for _, rec := range res.Permissions {
		if rec.RawInput != nil {
			kept += len(long)
		}
	}
	if kept == 0 || kept > c.cardLimit {
		t.Errorf("%d bytes are kept, want up to %d", kept, c.cardLimit)
	}
	// What was decided is told whatever it was about.
	if len(res.Permissions) != 5 || len(res.ToolCalls) != 5 || len(res.Warnings) != 1 {
		t.Errorf("%d permissions, %d tool calls, warnings %q", len(res.Permissions), len(res.ToolCalls), res.Warnings)
	}
}

func TestCollectToolCalls(t *testing.T) {
	yes, no := true, false
	record := func(session, id string, outcome permission.Outcome, title *string) permission.Record {
		return permission.Record{SessionID: session, ToolCallID: id, Decision: outcome, Title: title}
	}
	for name, tt := range map[string]struct {
		steps     []any // updates and permission records
		cancelled bool
		want      []ToolCall
		warns     string
	}{
		"announced":         {steps: []any{call("1", "T", `,"kind":"edit"`)}, want: []ToolCall{{ID: "1", Title: str("T"), Kind: str("edit"), Status: "unknown"}}},
		"cancelled":         {steps: []any{call("1", "T", `,"status":"in_progress"`)}, cancelled: true, want: []ToolCall{{ID: "1", Title: str("T"), Status: "cancelled"}}},
		"done is done":      {steps: []any{call("1", "T", `,"status":"completed"`)}, cancelled: true, want: []ToolCall{{ID: "1", Title: str("T"), Status: "completed"}}},
		"an unknown status": {steps: []any{call("1", "T", `,"status":"paused"`)}, want: []ToolCall{{ID: "1", Title: str("T"), Status: "paused"}}},
		"updates are merged": {steps: []any{
			call("1", "T", `,"kind":"edit","status":"pending"`), call("2", "U", ""),
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed"}`,
			`{"sessionUpdate":"tool_call_update","toolCallId":"2","title":"V","status":null,"kind":null}`,
		}, want: []ToolCall{{ID: "1", Title: str("T"), Kind: str("edit"), Status: "failed"}, {ID: "2", Title: str("V"), Status: "unknown"}}},
		"an update comes first": {steps: []any{
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`, call("1", "T", ""),
		}, want: []ToolCall{{ID: "1", Title: str("T"), Status: "completed"}}},
		"a numeric id": {steps: []any{
			`{"sessionUpdate":"tool_call","toolCallId":7,"title":"T"}`, `{"sessionUpdate":"tool_call_update","toolCallId":7,"status":"completed"}`,
		}, want: []ToolCall{{ID: "7", Title: str("T"), Status: "completed"}}},
		"fields of other types": {steps: []any{
			`{"sessionUpdate":"tool_call","toolCallId":"1","title":["T"],"kind":3,"status":{},"content":"x","locations":[{"line":"9"}]}`,
		}, want: []ToolCall{{ID: "1", Status: "unknown"}}},
		"without an id":         {steps: []any{`{"sessionUpdate":"tool_call","title":"T"}`, `{"sessionUpdate":"tool_call","toolCallId":null}`}, want: []ToolCall{}},
		"allowed":               {steps: []any{call("1", "T", ""), record("s", "1", permission.Allowed, nil)}, want: []ToolCall{{ID: "1", Title: str("T"), Status: "unknown", Permitted: &yes}}},
		"denied":                {steps: []any{call("1", "T", ""), record("s", "1", permission.Denied, nil)}, want: []ToolCall{{ID: "1", Title: str("T"), Status: "unknown", Permitted: &no}}},
		"neither":               {steps: []any{call("1", "T", ""), record("s", "1", permission.Cancelled, nil)}, want: []ToolCall{{ID: "1", Title: str("T"), Status: "unknown", Permitted: &no}}},
		"denied, then not":      {steps: []any{record("s", "1", permission.Denied, nil), record("s", "1", permission.Allowed, nil)}, want: []ToolCall{{ID: "1", Status: "unknown", Permitted: &no}}},
		"allowed, then not":     {steps: []any{record("s", "1", permission.Allowed, nil), record("s", "1", permission.Denied, nil)}, want: []ToolCall{{ID: "1", Status: "unknown", Permitted: &no}}},
		"allowed twice":         {steps: []any{record("s", "1", permission.Allowed, nil), record("s", "1", permission.Allowed, nil)}, want: []ToolCall{{ID: "1", Status: "unknown", Permitted: &yes}}},
		"allowed as another":    {steps: []any{call("1", "Read f", `,"kind":"read"`), record("s", "1", permission.Allowed, nil), `{"sessionUpdate":"tool_call_update","toolCallId":"1","title":"rm -rf /","kind":"execute","status":"completed"}`}, want: []ToolCall{{ID: "1", Title: str("rm -rf /"), Kind: str("execute"), Status: "completed"}}, warns: "another kind"},
		"allowed, then told":    {steps: []any{call("1", "T", `,"kind":"read"`), record("s", "1", permission.Allowed, nil), `{"sessionUpdate":"tool_call_update","toolCallId":"1","title":"Read f","kind":"read","status":"completed"}`}, want: []ToolCall{{ID: "1", Title: str("Read f"), Kind: str("read"), Status: "completed", Permitted: &yes}}},
		"asked when it had run": {steps: []any{call("1", "rm -rf /", `,"kind":"execute","status":"completed"`), record("s", "1", permission.Allowed, str("Read f"))}, want: []ToolCall{{ID: "1", Title: str("rm -rf /"), Kind: str("execute"), Status: "completed"}}, warns: "had ended already"},
		"asked before":          {steps: []any{record("s", "1", permission.Denied, str("T")), `{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed"}`}, want: []ToolCall{{ID: "1", Title: str("T"), Status: "failed", Permitted: &no}}},
		"a nested session's":    {steps: []any{record("nested", "1", permission.Allowed, str("T"))}, want: []ToolCall{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := collecting()
			records := 0
			for _, step := range tt.steps {
				switch step := step.(type) {
				case string:
					collect(c, step)
				case permission.Record:
					c.permission(step)
					records++
				}
			}
			res := collected(c, tt.cancelled)
			if diff := cmp.Diff(tt.want, res.ToolCalls); diff != "" {
				t.Errorf("tool calls (-want +got):\n%s", diff)
			}
			if len(res.Permissions) != records {
				t.Errorf("%d permissions, want %d", len(res.Permissions), records)
			}
			if got := strings.Join(res.Warnings, "; "); !strings.Contains(got, tt.warns) || (got == "") != (tt.warns == "") {
				t.Errorf("warnings %q, want of %q", got, tt.warns)
			}
		})
	}
}

func TestCollectOpenCalls(t *testing.T) {
	c := collecting()
	for _, step := range []struct {
		update string
		open   bool
	}{
		{text("a"), false},
		{call("1", "T", ""), true},
		{call("2", "U", `,"status":"in_progress"`), true},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`, true},
		{`{"sessionUpdate":"tool_call_update","toolCallId":"2","status":"failed"}`, false},
	} {
		collect(c, step.update)
		if c.openCalls() != step.open {
			t.Errorf("after %s: open %v", step.update, !step.open)
		}
	}

	// A call that was denied is not under way, one that was allowed is.
	for decision, want := range map[permission.Outcome]bool{permission.Allowed: true, permission.Denied: false, permission.Cancelled: false} {
		c := collecting()
		c.permission(permission.Record{SessionID: "s", ToolCallID: "3", Decision: decision})
		if c.openCalls() != want {
			t.Errorf("%s: open %v", decision, !want)
		}
	}
}

func TestCollectEarlyForeignLate(t *testing.T) {
	c := newCollector()
	collect(c, "s|"+text("early "), "other|"+text("theirs"), "s|"+call("1", "T", ""), "|"+text("nobody's"))
	c.setSession("s")
	collect(c, text("in time"), "other|"+text("theirs"), `{"sessionUpdate":"brand_new"}`)
	c.endTurn()
	collect(c, text(" late"), `{"sessionUpdate":"usage_update","used":5,"size":9}`, `{"sessionUpdate":"current_mode_update","currentModeId":"m"}`, `{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`)
	res := collected(c, false)
	if want := (Counts{Updates: 8, Unknown: 1, Foreign: 3, Late: 4}); res.Counts != want {
		t.Errorf("counts %+v, want %+v", res.Counts, want)
	}
	if len(res.Messages) != 2 || res.Output != "in time" || res.Messages[0].Text != "early " {
		t.Errorf("messages %+v", res.Messages)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "after it had ended the turn") {
		t.Errorf("warnings %q", res.Warnings)
	}
	// What a late update says of the session holds.
	if *res.Usage.ContextUsed != 5 || *res.Mode != "m" || res.ToolCalls[0].Status != "completed" {
		t.Errorf("usage %+v, mode %q, tool calls %+v", res.Usage, *res.Mode, res.ToolCalls)
	}

	// A session id that is not known yet is no licence to fill the parent.
	c = newCollector()
	c.earlyLimit = 10_000
	for range 100 {
		collect(c, text(strings.Repeat("x", 1000)))
	}
	c.setSession("s")
	res = collected(c, false)
	if res.Counts.Dropped == 0 || res.Counts.Dropped+res.Counts.Updates != 100 || len(res.Output) > c.earlyLimit {
		t.Errorf("counts %+v, %d bytes of output", res.Counts, len(res.Output))
	}
}

func TestCollectSession(t *testing.T) {
	const (
		modes  = `"modes":{"currentModeId":"plan","availableModes":[]}`
		models = `"models":{"currentModelId":"big","availableModels":[]}`
	)
	for name, tt := range map[string]struct {
		answer      string
		updates     []string
		model, mode *string
	}{
		"nothing":                  {answer: `{}`},
		"modes and models":         {answer: `{` + modes + `,` + models + `}`, model: str("big"), mode: str("plan")},
		"a mode is chosen":         {answer: `{` + modes + `}`, updates: []string{`{"sessionUpdate":"current_mode_update","currentModeId":"code"}`}, mode: str("code")},
		"in another shape":         {answer: `{"modes":[1],"models":"x","configOptions":{"a":1}}`, updates: []string{`{"sessionUpdate":"current_mode_update","currentModeId":3}`}},
		"null":                     {answer: `{"modes":null,"models":null,"configOptions":null}`},
		"config options":           {answer: `{"configOptions":[{"id":"x","category":"model","currentValue":"big"},{"id":"mode","currentValue":"plan"},{"id":"b","currentValue":true},7]}`, model: str("big"), mode: str("plan")},
		"a config option's change": {answer: `{` + models + `}`, updates: []string{`{"sessionUpdate":"config_option_update","configOptions":[{"id":"model","currentValue":"small"}]}`}, model: str("small")},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector()
			c.setSession("s")
			c.newSession(json.RawMessage(tt.answer))
			collect(c, tt.updates...)
			model, mode := c.modelAndMode()
			if diff := cmp.Diff([]*string{tt.model, tt.mode}, []*string{model, mode}); diff != "" {
				t.Errorf("model and mode (-want +got):\n%s", diff)
			}
			res := collected(c, false)
			if diff := cmp.Diff([]*string{tt.model, tt.mode}, []*string{res.Model, res.Mode}); diff != "" {
				t.Errorf("in the result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCollectPlanAndUsage(t *testing.T) {
	c := collecting()
	if res := collected(c, false); res.Plan != nil || res.Usage != nil {
		t.Errorf("plan %v, usage %v of an agent that says nothing", res.Plan, res.Usage)
	}
	collect(c,
		`{"sessionUpdate":"plan","entries":[{"content":"old"}]}`,
		`{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"completed"},{"content":7,"status":"pending"},null,"x",{}]}`,
		`{"sessionUpdate":"usage_update","used":10,"size":"200","cost":{"amount":0.5,"currency":"USD"}}`,
		`{"sessionUpdate":"usage_update","used":"many","size":null}`,
		`{"sessionUpdate":"usage_update","used":30.5}`,
	)
	res := collected(c, false)
	if diff := cmp.Diff([]PlanEntry{{"a", "high", "completed"}, {Status: "pending"}}, res.Plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	want := &Usage{ContextUsed: num(30.5), ContextSize: num(200), Cost: &Cost{0.5, "USD"}}
	if diff := cmp.Diff(want, res.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	collect(c, `{"sessionUpdate":"plan","entries":[]}`)
	if res := collected(c, false); res.Plan == nil || len(res.Plan) != 0 {
		t.Errorf("plan %v after an empty one", res.Plan)
	}
}

func TestReadUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		usage string
		want  *Usage
	}{
		"absent":     {``, nil},
		"null":       {`null`, nil},
		"a string":   {`"lots"`, nil},
		"empty":      {`{}`, nil},
		"numbers":    {`{"inputTokens":1,"outputTokens":2,"totalTokens":3}`, &Usage{InputTokens: num(1), OutputTokens: num(2), TotalTokens: num(3)}},
		"floats":     {`{"inputTokens":1.5,"thoughtTokens":1e3}`, &Usage{InputTokens: num(1.5), ThoughtTokens: num(1000)}},
		"strings":    {`{"inputTokens":"12","outputTokens":" 7 ","totalTokens":"lots"}`, &Usage{InputTokens: num(12), OutputTokens: num(7)}},
		"odd values": {`{"inputTokens":null,"outputTokens":[1],"totalTokens":"NaN","cachedReadTokens":"Inf","cachedWriteTokens":4}`, &Usage{CachedWriteTokens: num(4)}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, readUsage(readFields(json.RawMessage(tt.usage)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	merged := mergeUsage(&Usage{InputTokens: num(1)}, &Usage{InputTokens: num(9), ContextUsed: num(2), Cost: &Cost{1, "EUR"}})
	if diff := cmp.Diff(&Usage{InputTokens: num(1), ContextUsed: num(2), Cost: &Cost{1, "EUR"}}, merged); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
}

func str(s string) *string   { return &s }
func num(f float64) *float64 { return &f }
