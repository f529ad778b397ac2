package permission

import (
	"context"
	"reflect"

	"github.com/coder/acp-go-sdk"
)

// Request is one permission request of an agent, with what a policy may go by.
type Request struct {
	// SessionID is the session the request names. It need not be one of ours: an
	// agent's own child session asks under its own id.
	SessionID string `json:"sessionId"`
	// RunID is the run the request belongs to; empty where the caller has no runs.
	RunID string `json:"runId"`
	// Method is the ACP method that leads to the question: empty or
	// session/request_permission where the agent asks, and fs/write_text_file,
	// fs/read_text_file or terminal/create where it wants us to act and need not have
	// asked.
	Method string `json:"method"`
	// Dir is the absolute directory of the session, against which relative paths
	// in the tool call are meant; empty where the session is not ours.
	Dir string `json:"dir"`
	// RealDir is Dir with its links resolved, as it was when the session began: if it
	// leads elsewhere by now, what is in it is not in the session's directory. Empty
	// means that nobody looked.
	RealDir string `json:"-"`
	// Home is the agent's home directory, absolute, for paths that begin with ~; empty
	// where it is not known, and such paths are not understood then.
	Home string `json:"home"`
	// UserHome is our own where that is another one; else it is empty. What is sensitive
	// in a home is so in it too, and what a rule denies or asks about below ~.
	UserHome string `json:"userHome"`
	// Resolve returns path, which is absolute and may hold "..", with its symbolic
	// links resolved as far as it exists. It is how the package sees the file system;
	// nil means that paths are compared as they are written. An error means that
	// nobody can say which file is meant, and no rule allows it.
	Resolve func(path string) (string, error) `json:"-"`
	// Local returns our path for an absolute one of the agent's, which lives in another
	// world of paths: a container, say. False means that it has none here, and no rule
	// allows it. Nil means that both see the same.
	Local func(path string) (string, bool) `json:"-"`
	// LookPath returns the file that would run under a program's name. It binds a
	// grant to the program itself; nil binds it to the name.
	LookPath func(name string) (string, error) `json:"-"`
	// ToolCall is the call the agent wants to make. It need not have been
	// announced by an update before; every field but the id may be missing.
	ToolCall acp.ToolCallUpdate `json:"toolCall"`
	// Options are what the agent offers, in its order. They may be empty, of kinds
	// we do not know, or contradict each other.
	Options []acp.PermissionOption `json:"options"`

	facts *drawn // what Facts has found already; nil for nowhere to keep it
	once  bool   // Rules: a standing option will not be accepted
}

// Equal reports whether r and q ask the same, for tests that compare them with cmp.Diff. How
// the file system is seen makes no difference, nor what a policy has found out by then.
func (r Request) Equal(q Request) bool {
	for _, a := range []*Request{&r, &q} {
		a.Resolve, a.Local, a.LookPath, a.facts, a.once = nil, nil, nil, nil, false
	}
	return reflect.DeepEqual(r, q)
}

// Outcome is what a decision came to, as the result records it.
type Outcome string

// The outcomes of a decision. The zero value is none of them.
const (
	Allowed   Outcome = "allowed"   // an allow option was selected
	Denied    Outcome = "denied"    // a reject option was selected
	Cancelled Outcome = "cancelled" // no option was selected
)

// Decision is the answer to a Request.
type Decision struct {
	// OptionID is the option to select; empty means the outcome `cancelled`.
	OptionID string
	// Rule names what decided, for the record: "reject", "allow", …; empty means
	// "policy".
	Rule string
	// Ambiguous is set where the policy would have allowed but could not tell
	// which of several like options was meant, and so did not.
	Ambiguous bool
	// Partial is set where whoever decided has not seen all of the call: Grants remembers
	// nothing of it.
	Partial bool
}

// Policy answers permission requests.
//
// Decide must be safe to call from several goroutines. It should return soon after
// ctx ends, which it does when the turn is cancelled or the agent withdraws the
// request; what it returns then is not sent. It need not check that the option it
// selects was offered: Decide (the function) does.
//
// The policies of this package are Reject, the default, and Allow. Anything with
// this method is one; PolicyFunc makes one of a function.
type Policy interface {
	Decide(ctx context.Context, req Request) Decision
}

// PolicyFunc is a function that is a Policy.
type PolicyFunc func(ctx context.Context, req Request) Decision

// Decide calls f.
func (f PolicyFunc) Decide(ctx context.Context, req Request) Decision { return f(ctx, req) }

// Reject returns the policy that says no to everything: it selects a reject_once
// option, else a reject_always one, and answers `cancelled` only where neither is
// offered, because agents take `cancelled` for a user's abort of the whole turn.
func Reject() Policy { return rejectPolicy{} }

type rejectPolicy struct{}

func (rejectPolicy) Decide(_ context.Context, req Request) Decision {
	return reject(usable(req.Options), "reject")
}

// Allow returns the zero AllowPolicy: it says yes wherever that is one clear option.
func Allow() AllowPolicy { return AllowPolicy{} }

// AllowPolicy says yes: it selects the allow_once option, else the allow_always
// one, and answers `cancelled` where nothing allow-shaped is offered.
//
// Several options of the preferred kind are a question that a plain yes does not
// answer (one of them may switch the session's mode as well), so it rejects them
// and marks the decision as ambiguous, unless Choose or First says which to take.
// The zero value is ready to use.
type AllowPolicy struct {
	// Choose lists option ids to take where several options of the preferred kind
	// are offered; the earliest in this list that is one of them is taken.
	Choose []string
	// First takes the agent's first option of the preferred kind where Choose
	// names none of them.
	First bool
}

// Decide implements Policy.
func (p AllowPolicy) Decide(_ context.Context, req Request) Decision {
	options := usable(req.Options)
	preferred := ofKind(options, acp.PermissionOptionKindAllowOnce)
	if len(preferred) == 0 {
		preferred = ofKind(options, acp.PermissionOptionKindAllowAlways)
	}
	switch {
	case len(preferred) == 0:
		return Decision{Rule: "allow: no allow option"}
	case len(preferred) == 1:
		return Decision{OptionID: preferred[0], Rule: "allow"}
	}
	for _, id := range p.Choose {
		for _, offered := range preferred {
			if offered == id {
				return Decision{OptionID: id, Rule: "allow: choose"}
			}
		}
	}
	if p.First {
		return Decision{OptionID: preferred[0], Rule: "allow: first"}
	}
	d := reject(options, "allow: ambiguous")
	d.Ambiguous = true
	return d
}

func reject(options []acp.PermissionOption, rule string) Decision {
	for _, kind := range []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways} {
		// Which of several like rejects is selected makes no difference: none of
		// them lets the call through.
		if ids := ofKind(options, kind); len(ids) > 0 {
			return Decision{OptionID: ids[0], Rule: rule}
		}
	}
	return Decision{Rule: rule + ": no reject option"}
}

// usable returns the options that an answer can name without doubt. One without an
// id cannot be named, and an id that stands for two kinds could be read by the
// agent as the one we did not mean; repeats of the same option are one.
func usable(options []acp.PermissionOption) []acp.PermissionOption {
	kinds := make(map[acp.PermissionOptionId]acp.PermissionOptionKind, len(options))
	unclear := map[acp.PermissionOptionId]bool{"": true}
	for _, o := range options {
		if kind, ok := kinds[o.OptionId]; ok && kind != o.Kind {
			unclear[o.OptionId] = true
		}
		kinds[o.OptionId] = o.Kind
	}
	var out []acp.PermissionOption
	seen := make(map[acp.PermissionOptionId]bool, len(options))
	for _, o := range options {
		if !unclear[o.OptionId] && !seen[o.OptionId] {
			seen[o.OptionId] = true
			out = append(out, o)
		}
	}
	return out
}

func ofKind(options []acp.PermissionOption, kind acp.PermissionOptionKind) []string {
	var ids []string
	for _, o := range options {
		if o.Kind == kind {
			ids = append(ids, string(o.OptionId))
		}
	}
	return ids
}
