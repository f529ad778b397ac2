package client

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// desk is an Agent as its connection sees it.
type desk Agent

// asked tells the caller of a question as it comes.
func (d *desk) asked(params json.RawMessage) {
	a := (*Agent)(d)
	if a.opts.ObserveAsk != nil {
		// Decoded from a copy: the reader's memory is used again.
		a.opts.ObserveAsk(a.permissionRequest(readAsk(slices.Clone(params))))
	}
}

// decide puts the agent's question to the policy.
func (d *desk) decide(ctx context.Context, p acp.RequestPermissionRequest) (acp.PermissionOptionId, permission.Record) {
	a := (*Agent)(d)
	decision, rec := permission.Decide(ctx, a.opts.Permission, a.permissionRequest(p))
	return acp.PermissionOptionId(decision.OptionID), rec
}

// settled tells the caller what became of it.
func (d *desk) settled(params json.RawMessage, rec *permission.Record, why string, since time.Time) (now, later func()) {
	a := (*Agent)(d)
	if a.opts.ObservePermission == nil && a.opts.OnPermission == nil {
		return nil, nil
	}
	var req permission.Request
	if rec == nil || rec.Facts != nil { // it may be long
		req = a.permissionRequest(readAsk(params))
	}
	if rec == nil {
		withdrawn := permission.Withdrawn(req, why, since)
		rec = &withdrawn
	}
	told := a.redactRecord(*rec, req)
	call := func(f func(permission.Record)) func() {
		if f == nil {
			return nil
		}
		return func() { f(told) }
	}
	return call(a.opts.ObservePermission), call(a.opts.OnPermission)
}

func (a *Agent) permissionRequest(p acp.RequestPermissionRequest) permission.Request {
	req := permission.Request{SessionID: string(p.SessionId), ToolCall: p.ToolCall, Options: p.Options}
	a.mu.Lock()
	if s := a.sessions[p.SessionId]; s != nil {
		req.Dir = s.dir
	}
	a.mu.Unlock()
	a.surroundings(&req)
	if len(a.paths) > 0 {
		req.Local = a.paths.ours
	}
	return req
}

// redactRecord replaces secrets in what the agent wrote in req.
func (a *Agent) redactRecord(rec permission.Record, req permission.Request) permission.Record {
	for _, text := range []**string{&rec.Title, &rec.Kind} {
		if *text != nil {
			clean := a.redact.String(**text)
			*text = &clean
		}
	}
	rec.RawInput = a.redactValue(rec.RawInput)
	rec.Rule = a.redact.String(rec.Rule) // a grant's has the id of a tool call in it
	if rec.Facts != nil {
		clean := a.cleanFacts(req, *rec.Facts).Map(a.redact.String)
		rec.Facts = &clean
	}
	rec.Options = slices.Clone(rec.Options)
	for i := range rec.Options {
		// The id has to match what the agent said, the kind need not.
		rec.Options[i].Kind = a.redact.String(rec.Options[i].Kind)
	}
	return rec
}

// cleanFacts returns the facts as they are where secrets have been replaced in the call
// itself: of what paths and lines are taken apart into, no piece need be a whole secret.
func (a *Agent) cleanFacts(req permission.Request, f permission.Facts) permission.Facts {
	text, err := json.Marshal(req.ToolCall)
	var call any
	if err != nil || json.Unmarshal(text, &call) != nil {
		return f
	}
	redacted := a.redactValue(call)
	if reflect.DeepEqual(call, redacted) {
		return f
	}
	clean := acp.ToolCallUpdate{}
	if text, err = json.Marshal(redacted); err != nil || json.Unmarshal(text, &clean) != nil {
		return permission.Facts{Digest: f.Digest}
	}
	req.ToolCall = clean
	told := req.Facts()
	told.Digest = f.Digest
	return told
}

// redactValue replaces secrets in decoded JSON, of which it changes nothing: the
// policy may have kept it.
func (a *Agent) redactValue(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return a.redact.String(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = a.redactValue(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, value := range v {
			object[a.redact.String(name)] = a.redactValue(value)
		}
		return object
	}
	// A secret may consist of digits only.
	text, _ := json.Marshal(v)
	if redacted := a.redact.String(string(text)); redacted != string(text) {
		return redacted
	}
	return v
}
