package permission

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"
)

// Grants remembers what was allowed, so that the agent need not be asked again when it
// wants us to do the very same: a write it was allowed to make and then sends as
// fs/write_text_file, a command that comes as terminal/create. A grant is for one act,
// once, in one run and session, under one policy, for a time. Anything else about
// the act, another text, argument, directory, variable, link, program, is a new
// question. The zero value is ready to use, by several goroutines.
type Grants struct {
	// TTL is how long a grant lasts; zero, or less, means DefaultGrantTTL.
	TTL time.Duration

	mu     sync.Mutex // guards grants
	grants []grant
}

// DefaultGrantTTL is how long a grant lasts where Grants is not told.
const DefaultGrantTTL = 10 * time.Minute

// maxGrants bounds what an agent can make us remember; the oldest go first.
const maxGrants = 1024

type grant struct {
	runID, sessionID, dir, policy string
	act                           string
	toolCallID                    string
	standing                      bool
	expires                       time.Time
}

// Policy returns p with the memory of g: what p allows is remembered, and a hosted
// request that a grant covers is allowed without asking p.
func (g *Grants) Policy(p Policy) Policy { return remembering{g, p} }

type remembering struct {
	grants *Grants
	policy Policy
}

func (r remembering) GuardsReads() bool { return GuardsReads(r.policy) }

func (r remembering) Decide(ctx context.Context, req Request) Decision {
	req = req.keepFacts()
	f := req.Facts()
	want := grant{runID: req.RunID, sessionID: req.SessionID, dir: req.Dir}
	if d, ok := r.policy.(interface{ Digest() string }); ok {
		want.policy = d.Digest()
	}
	once := ofKind(usable(req.Options), acp.PermissionOptionKindAllowOnce)
	if act, ok := f.hosted(); ok && len(once) == 1 {
		want.act = act
		if toolCallID, ok := r.grants.take(want); ok {
			return Decision{OptionID: once[0], Rule: "granted with " + toolCallID}
		}
	}
	d := ask(ctx, r.policy, req)
	if _, hosted := f.hosted(); hosted || d.Partial {
		return d // it is done at once, or nobody knows what it is: there is nothing to remember
	}
	if outcome, ok := kindOf(req.Options, d.OptionID); ok && outcome == Allowed && ctx.Err() == nil {
		want.toolCallID = string(req.ToolCall.ToolCallId)
		want.standing = standingOption(req.Options, d.OptionID)
		for _, act := range f.acts() {
			if act != "" {
				want.act = act
				r.grants.add(want)
			}
		}
	}
	return d
}

func (g *Grants) add(one grant) {
	ttl := g.TTL
	if ttl <= 0 {
		ttl = DefaultGrantTTL
	}
	now := time.Now()
	one.expires = now.Add(ttl)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grants = slices.DeleteFunc(g.grants, func(old grant) bool { return !now.Before(old.expires) })
	if len(g.grants) >= maxGrants {
		g.grants = slices.Delete(g.grants, 0, len(g.grants)-maxGrants+1)
	}
	g.grants = append(g.grants, one)
}

// take uses up a grant that is like want, unless it is a standing one, and returns the
// tool call it was given for.
func (g *Grants) take(want grant) (toolCallID string, ok bool) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, have := range g.grants {
		like := have
		like.toolCallID, like.standing, like.expires = "", false, time.Time{}
		if like == want && now.Before(have.expires) {
			if !have.standing {
				g.grants = slices.Delete(g.grants, i, i+1)
			}
			return have.toolCallID, true
		}
	}
	return "", false
}

// Forget drops the grants of a session, as when its turn has ended or was cancelled.
func (g *Grants) Forget(sessionID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grants = slices.DeleteFunc(g.grants, func(one grant) bool { return one.sessionID == sessionID })
}
