package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// requestPermission puts the agent's question to the policy.
func (a *Agent) requestPermission(ctx context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	req := permission.Request{SessionID: string(p.SessionId), ToolCall: p.ToolCall, Options: p.Options}
	a.mu.Lock()
	if s := a.sessions[p.SessionId]; s != nil {
		req.Dir = s.dir
	}
	a.mu.Unlock()
	asked := time.Now()
	d, rec := permission.Decide(ctx, a.opts.Permission, req)
	if ctx.Err() != nil {
		// Whatever the policy says now comes too late: the connection has answered.
		d, rec = permission.Decision{}, permission.Withdrawn(req, "turn cancelled", asked)
	}
	a.tellPermission(rec)
	if d.OptionID == "" {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(d.OptionID))}, nil
}

// tellPermission hands rec to the caller, with secrets replaced in what the agent
// wrote.
func (a *Agent) tellPermission(rec permission.Record) {
	if a.opts.OnPermission != nil {
		a.opts.OnPermission(a.redactRecord(rec))
	}
}

// redactRecord replaces secrets in what the agent wrote.
func (a *Agent) redactRecord(rec permission.Record) permission.Record {
	if rec.Title != nil {
		title := a.redact.String(*rec.Title)
		rec.Title = &title
	}
	rec.RawInput = a.redactValue(rec.RawInput)
	return rec
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
