package permission_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// counted is a policy that allows and counts how often it is asked.
type counted struct {
	permission.Policy
	n int
}

func (c *counted) Decide(ctx context.Context, req permission.Request) permission.Decision {
	c.n++
	return c.Policy.Decide(ctx, req)
}

// hosted makes the request that we make up for what the agent wants us to do.
func hosted(t testing.TB, method, text string) permission.Request {
	req := call(t, text)
	req.Method = method
	req.Options = options([2]string{"allow_once", "yes"}, [2]string{"reject_once", "no"})
	return req
}

const (
	writeAsked  = `{"toolCallId":"c1","kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","oldText":"o","newText":"n"}]}`
	writeHosted = `{"toolCallId":"w1","kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","oldText":"o","newText":"n"}],"rawInput":{"path":"/home/u/project/a"}}`
	runAsked    = `{"toolCallId":"c2","kind":"execute","rawInput":{"command":"go test ./...","description":"x"}}`
	runHosted   = `{"toolCallId":"t1","kind":"execute","rawInput":{"command":"go","args":["test","./..."],"cwd":"/home/u/project","env":[]}}`
)

// What was judged by the paths of another world is asked again when it is to run in ours.
func TestGrantsOfAnotherWorld(t *testing.T) {
	inner := &counted{Policy: permission.Allow()}
	var g permission.Grants
	p := g.Policy(inner)
	asked := call(t, run("cat /home/u/project/a"))
	asked.Options = options([2]string{"allow_once", "yes"})
	asked.Local = func(path string) (string, bool) { return dir + "/there" + path, true }
	p.Decide(t.Context(), asked)
	permission.Decide(t.Context(), p, hosted(t, acp.ClientMethodTerminalCreate, run("cat /home/u/project/a")))
	if inner.n != 2 {
		t.Errorf("asked %d times, want 2", inner.n)
	}
}

func TestGrants(t *testing.T) {
	write, start := acp.ClientMethodFsWriteTextFile, acp.ClientMethodTerminalCreate
	tests := []struct {
		name, asked string
		option      string // of the first answer
		hosted      permission.Request
		change      func(*permission.Request)
		asks        int // how often the policy is asked after the grant
	}{
		{name: "the same write", asked: writeAsked, hosted: hosted(t, write, writeHosted)},
		{name: "the same command", asked: runAsked, hosted: hosted(t, start, runHosted)},
		{name: "the same shell line", asked: run("a && b"), hosted: hosted(t, start, run("a && b"))},
		{name: "another text", asked: writeAsked, hosted: hosted(t, write, `{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","oldText":"o","newText":"N"}]}`), asks: 1},
		{name: "another file", asked: writeAsked, hosted: hosted(t, write, `{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/b","oldText":"o","newText":"n"}]}`), asks: 1},
		{name: "a part of the file shown as if it were all", asked: writeAsked, hosted: hosted(t, write, `{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","oldText":"o and more","newText":"n"}]}`), asks: 1},
		{name: "a new file that is there", asked: `{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","newText":"n"}]}`, hosted: hosted(t, write, writeHosted), asks: 1},
		{name: "an argument that leads elsewhere", asked: run("cat a"), hosted: hosted(t, start, run("cat a")), change: func(r *permission.Request) { r.Resolve = linked(map[string]string{dir + "/a": "/etc/x"}) }, asks: 1},
		{name: "another argument", asked: runAsked, hosted: hosted(t, start, `{"kind":"execute","rawInput":{"command":"go","args":["test","./...","x"]}}`), asks: 1},
		{name: "arguments cut elsewhere", asked: `{"kind":"execute","rawInput":{"command":"go","args":["test","a b"]}}`, hosted: hosted(t, start, `{"kind":"execute","rawInput":{"command":"go","args":["test","a","b"]}}`), asks: 1},
		{name: "another directory for the command", asked: runAsked, hosted: hosted(t, start, `{"kind":"execute","rawInput":{"command":"go","args":["test","./..."],"cwd":"/tmp"}}`), asks: 1},
		{name: "a variable", asked: runAsked, hosted: hosted(t, start, `{"kind":"execute","rawInput":{"command":"go","args":["test","./..."],"env":[{"name":"A","value":"b"}]}}`), asks: 1},
		{name: "another session", asked: writeAsked, hosted: hosted(t, write, writeHosted), change: func(r *permission.Request) { r.SessionID = "s2" }, asks: 1},
		{name: "another run", asked: writeAsked, hosted: hosted(t, write, writeHosted), change: func(r *permission.Request) { r.RunID = "run2" }, asks: 1},
		{name: "another session directory", asked: writeAsked, hosted: hosted(t, write, writeHosted), change: func(r *permission.Request) { r.Dir = "/home/u" }, asks: 1},
		{name: "a link that was not there", asked: writeAsked, hosted: hosted(t, write, writeHosted), change: func(r *permission.Request) { r.Resolve = linked(map[string]string{dir + "/a": "/etc/x"}) }, asks: 1},
		{name: "another program under the name", asked: runAsked, hosted: hosted(t, start, runHosted), change: func(r *permission.Request) { r.LookPath = func(string) (string, error) { return "/tmp/go", nil } }, asks: 1},
		{name: "a read", asked: writeAsked, hosted: hosted(t, acp.ClientMethodFsReadTextFile, writeHosted), asks: 1},
		{name: "a question of the agent", asked: writeAsked, hosted: hosted(t, "", writeAsked), asks: 1},
		{name: "two acts at once", asked: writeAsked, hosted: hosted(t, write, `{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","oldText":"o","newText":"n"},{"type":"diff","path":"/home/u/project/b","oldText":"o","newText":"n"}]}`), asks: 1},
		{name: "what was rejected", asked: writeAsked, option: "no", hosted: hosted(t, write, writeHosted), asks: 1},
		{name: "what was cancelled", asked: writeAsked, option: "none", hosted: hosted(t, write, writeHosted), asks: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			option := tt.option
			if option == "" {
				option = "yes"
			}
			inner := &counted{Policy: permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
				return permission.Decision{OptionID: option}
			})}
			var g permission.Grants
			p := g.Policy(inner)
			p.Decide(t.Context(), call(t, tt.asked))
			if inner.n != 1 {
				t.Fatalf("asked %d times at first", inner.n)
			}
			req := tt.hosted
			if tt.change != nil {
				tt.change(&req)
			}
			d, _ := permission.Decide(t.Context(), p, req)
			if inner.n != 1+tt.asks {
				t.Errorf("asked %d times more, want %d (%+v)", inner.n-1, tt.asks, d)
			}
			if tt.asks == 0 {
				if d.OptionID != "yes" || d.Rule != "granted with "+string(call(t, tt.asked).ToolCall.ToolCallId) {
					t.Errorf("got %+v", d)
				}
				// Once: a replay is a new question.
				permission.Decide(t.Context(), p, req)
				if inner.n != 2 {
					t.Errorf("the second time: asked %d times, want 2", inner.n)
				}
			}
		})
	}
}

func TestGrantsEnd(t *testing.T) {
	write := hosted(t, acp.ClientMethodFsWriteTextFile, writeHosted)
	for name, end := range map[string]func(*permission.Grants){
		"expiry":           func(*permission.Grants) { time.Sleep(time.Minute) },
		"of the session":   func(g *permission.Grants) { g.Forget("s1") },
		"another's is not": func(g *permission.Grants) { g.Forget("s2"); time.Sleep(time.Minute - 1) },
		"too many after it": func(g *permission.Grants) {
			p := g.Policy(permission.Allow())
			for i := range 1100 {
				p.Decide(t.Context(), call(t, fmt.Sprintf(`{"kind":"execute","rawInput":{"command":"x %d"}}`, i)))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &permission.Grants{TTL: time.Minute}
				inner := &counted{Policy: permission.Allow()}
				p := g.Policy(inner)
				p.Decide(t.Context(), call(t, writeAsked))
				end(g)
				inner.n = 0
				p.Decide(t.Context(), write)
				if want := 1; (inner.n == want) == (name == "another's is not") {
					t.Errorf("asked %d times", inner.n)
				}
			})
		})
	}
}

// A standing answer covers the same act again, under the same policy only.
func TestStandingGrant(t *testing.T) {
	always := permission.PolicyFunc(func(_ context.Context, req permission.Request) permission.Decision {
		return permission.Decision{OptionID: "always"}
	})
	var g permission.Grants
	inner := &counted{Policy: always}
	p := g.Policy(inner)
	p.Decide(t.Context(), call(t, writeAsked))
	for range 3 {
		if d := p.Decide(t.Context(), hosted(t, acp.ClientMethodFsWriteTextFile, writeHosted)); d.OptionID != "yes" {
			t.Errorf("got %+v", d)
		}
	}
	if inner.n != 1 {
		t.Errorf("asked %d times", inner.n)
	}
	other := g.Policy(rules(t, `{"rules":[]}`))
	if d := other.Decide(t.Context(), hosted(t, acp.ClientMethodFsWriteTextFile, writeHosted)); d.OptionID != "no" {
		t.Errorf("under another policy: %+v", d)
	}
}

// C10: answers of calls at once go each to its own.
func TestGrantsAtOnce(t *testing.T) {
	var g permission.Grants
	p := g.Policy(permission.Allow())
	var wg sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for range 8 {
		p.Decide(t.Context(), call(t, writeAsked))
	}
	for range 32 {
		wg.Go(func() {
			d := p.Decide(t.Context(), hosted(t, acp.ClientMethodFsWriteTextFile, writeHosted))
			mu.Lock()
			defer mu.Unlock()
			if d.Rule == "granted with c1" {
				granted++
			}
		})
	}
	wg.Wait()
	if granted != 8 {
		t.Errorf("%d granted, want each of the 8 once", granted)
	}
}

// An answer of somebody who has not seen all of the call grants nothing beyond it.
func TestPartialAnswerGrantsNothing(t *testing.T) {
	for _, partial := range []bool{false, true} {
		asked := 0
		yes := permission.Ask{Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
			asked++
			return permission.Answer{QuestionID: q.ID, OptionID: "yes", Partial: partial}, nil
		}}
		for name, policy := range map[string]permission.Policy{
			"asked": yes, "rules": &permission.Rules{Default: permission.EffectAsk, Ask: yes}, "both": permission.Strictest(yes, permission.Allow()),
		} {
			var g permission.Grants
			asked = 0
			p := g.Policy(policy)
			text := `{"kind":"edit","content":[{"type":"diff","path":"/home/u/project/a","newText":"x"}]}`
			if d, _ := permission.Decide(t.Context(), p, call(t, text)); d.OptionID != "yes" {
				t.Fatalf("%s: %+v", name, d)
			}
			hosted := call(t, text)
			hosted.Method = acp.ClientMethodFsWriteTextFile
			permission.Decide(t.Context(), p, hosted)
			if again := asked == 2; again != partial {
				t.Errorf("%s, partial %v: asked %d times", name, partial, asked)
			}
		}
	}
	always := permission.Ask{Always: true, Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
		return permission.Answer{QuestionID: q.ID, OptionID: "always", Partial: true}, nil
	}}
	if d, _ := permission.Decide(t.Context(), always, call(t, edit("a"))); d.OptionID != "no" || d.Rule != "ask: no standing grant" {
		t.Errorf("a standing option: %+v", d)
	}
}
