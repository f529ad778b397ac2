package permission

import (
	"context"
	"time"

	"github.com/coder/acp-go-sdk"
)

// Record is a decision as the result keeps it. Its JSON is part of the result's
// contract.
type Record struct {
	// SessionID is the session that the agent named in the request.
	SessionID string `json:"sessionId"`
	// ToolCallID is the call the request is for; empty where the agent named none.
	ToolCallID string `json:"toolCallId"`
	// Kind and Title are the call's, null where the request did not say.
	Kind  *string `json:"kind"`
	Title *string `json:"title"`
	// RawInput is the call's input as the agent sent it, null where it did not.
	RawInput any `json:"rawInput"`
	// Options are what was offered, in the agent's order.
	Options []Option `json:"options"`
	// Decision is what the request came to.
	Decision Outcome `json:"decision"`
	// OptionID is the option that was selected; null where it was cancelled.
	OptionID *string `json:"optionId"`
	// Rule names what decided.
	Rule string `json:"rule"`
	// Ambiguous is set where the policy would have allowed but could not tell which
	// of several like options was meant.
	Ambiguous bool `json:"ambiguous"`
	// Facts are what the call is about, if the policy went by them (Rules, Ask, Grants
	// do); null where it looked at the options only.
	Facts *Facts `json:"facts"`
	// Ms is the time the decision took, in milliseconds.
	Ms float64 `json:"ms"`
}

// Option is an offered option in a Record.
type Option struct {
	// ID is the agent's name for it.
	ID string `json:"id"`
	// Kind is the protocol's, as allow_once, or one that we do not know.
	Kind string `json:"kind"`
}

// Decide asks p about req and checks the answer: an option that was not offered, or
// a policy that panics, selects nothing. A nil p is Reject. The decision that is
// returned is the one to send, and the record is made from the kind of the option
// that was selected, not from what the policy thought it was.
func Decide(ctx context.Context, p Policy, req Request) (Decision, Record) {
	start := time.Now()
	req = req.keepFacts()
	d := ask(ctx, p, req)
	if d.Rule == "" {
		d.Rule = "policy"
	}
	outcome := Cancelled
	if d.OptionID != "" {
		var ok bool
		if outcome, ok = kindOf(req.Options, d.OptionID); !ok {
			d = Decision{Rule: d.Rule + ": option not offered", Ambiguous: d.Ambiguous}
		}
	}
	return d, record(req, d, outcome, time.Since(start))
}

// Withdrawn is the record of a request that was answered `cancelled` without a
// policy's word, because the turn was cancelled or the agent withdrew it. rule says
// which; since is when the request came.
func Withdrawn(req Request, rule string, since time.Time) Record {
	return record(req, Decision{Rule: rule}, Cancelled, time.Since(since))
}

func ask(ctx context.Context, p Policy, req Request) (d Decision) {
	if p == nil {
		p = Reject()
	}
	defer func() {
		// A policy is the caller's code: what it panics with may hold anything, so
		// only that it did is recorded.
		if recover() != nil {
			d = Decision{Rule: "policy panicked"}
		}
	}()
	return p.Decide(ctx, req)
}

// kindOf returns what selecting id would mean, and false where that is not clear.
func kindOf(options []acp.PermissionOption, id string) (Outcome, bool) {
	for _, o := range usable(options) {
		if string(o.OptionId) != id {
			continue
		}
		switch o.Kind {
		case acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways:
			return Allowed, true
		case acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways:
			return Denied, true
		}
	}
	return Cancelled, false
}

func record(req Request, d Decision, outcome Outcome, took time.Duration) Record {
	r := Record{
		SessionID:  req.SessionID,
		ToolCallID: string(req.ToolCall.ToolCallId),
		Title:      req.ToolCall.Title,
		RawInput:   req.ToolCall.RawInput,
		Options:    make([]Option, 0, len(req.Options)),
		Decision:   outcome,
		Rule:       d.Rule,
		Ambiguous:  d.Ambiguous,
		Facts:      req.seenFacts(),
		Ms:         float64(took.Microseconds()) / 1000,
	}
	if k := req.ToolCall.Kind; k != nil {
		r.Kind = (*string)(k)
	}
	for _, o := range req.Options {
		r.Options = append(r.Options, Option{ID: string(o.OptionId), Kind: string(o.Kind)})
	}
	if d.OptionID != "" {
		r.OptionID = &d.OptionID
	}
	return r
}
