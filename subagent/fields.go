package subagent

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// fields is a JSON object read without a schema. Agents send fields of unexpected
// types; a field that cannot be read as what is asked for counts as absent, and
// costs nothing but itself.
type fields map[string]json.RawMessage

func readFields(raw json.RawMessage) fields {
	var f fields
	if json.Unmarshal(raw, &f) != nil {
		return nil
	}
	return f
}

func (f fields) set(name, value string) {
	f[name], _ = json.Marshal(value) // a string always marshals
}

// text returns a string field, nil where there is none.
func (f fields) text(name string) *string {
	var s *string
	if json.Unmarshal(f[name], &s) != nil {
		return nil
	}
	return s
}

// id returns a field that should be a string but is taken as a number too.
func (f fields) id(name string) string {
	if s := f.text(name); s != nil {
		return *s
	}
	var n json.Number
	if json.Unmarshal(f[name], &n) == nil {
		return n.String()
	}
	return ""
}

// number returns a number, also one that was sent as a string.
func (f fields) number(name string) *float64 {
	var n float64
	raw := strings.Trim(string(f[name]), `" `)
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return nil
	}
	return &n
}

func (f fields) object(name string) fields { return readFields(f[name]) }

func (f fields) list(name string) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(f[name], &l) != nil {
		return nil
	}
	return l
}

// toolCall returns call with what an update says of it.
func (f fields) toolCall(call ToolCall) ToolCall {
	if title := f.text("title"); title != nil {
		call.Title = title
	}
	if kind := f.text("kind"); kind != nil {
		call.Kind = kind
	}
	if status := f.text("status"); status != nil {
		call.Status = *status
	}
	return call
}

func readPlan(f fields) []PlanEntry {
	plan := []PlanEntry{}
	for _, raw := range f.list("entries") {
		entry := readFields(raw)
		var p PlanEntry
		for name, to := range map[string]*string{"content": &p.Content, "priority": &p.Priority, "status": &p.Status} {
			if text := entry.text(name); text != nil {
				*to = *text
			}
		}
		if p != (PlanEntry{}) {
			plan = append(plan, p)
		}
	}
	return plan
}

// readUsage reads the usage of an answer to session/prompt; nil if nothing of it
// can be read.
func readUsage(f fields) *Usage {
	u := &Usage{
		InputTokens: f.number("inputTokens"), OutputTokens: f.number("outputTokens"), TotalTokens: f.number("totalTokens"),
		ThoughtTokens: f.number("thoughtTokens"), CachedReadTokens: f.number("cachedReadTokens"), CachedWriteTokens: f.number("cachedWriteTokens"),
	}
	return u.orNil()
}

// readContext reads a usage_update.
func readContext(f fields) *Usage {
	u := &Usage{ContextUsed: f.number("used"), ContextSize: f.number("size")}
	cost := f.object("cost")
	if amount, currency := cost.number("amount"), cost.text("currency"); amount != nil && currency != nil {
		u.Cost = &Cost{Amount: *amount, Currency: *currency}
	}
	return u.orNil()
}

func (u *Usage) orNil() *Usage {
	if *u == (Usage{}) {
		return nil
	}
	return u
}

// mergeUsage returns what a says and, where it says nothing, what b does. A later
// usage_update goes before an earlier one.
func mergeUsage(a, b *Usage) *Usage {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	out := *a
	for _, f := range []struct{ to, from **float64 }{
		{&out.InputTokens, &b.InputTokens}, {&out.OutputTokens, &b.OutputTokens}, {&out.TotalTokens, &b.TotalTokens},
		{&out.ThoughtTokens, &b.ThoughtTokens}, {&out.CachedReadTokens, &b.CachedReadTokens}, {&out.CachedWriteTokens, &b.CachedWriteTokens},
		{&out.ContextUsed, &b.ContextUsed}, {&out.ContextSize, &b.ContextSize},
	} {
		if *f.to == nil {
			*f.to = *f.from
		}
	}
	if out.Cost == nil {
		out.Cost = b.Cost
	}
	return &out
}
