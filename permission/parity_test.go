package permission_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
)

// TestParity has a subtest for each row of PARITY.md that policies answer for by
// themselves; the first word of a subtest's name is the row's.
func TestParity(t *testing.T) {
	t.Run("C9 an approval is bound to its call", parityBound)
	t.Run("C17 an interpreter on an allow list does not allow everything", parityInterpreters)
	t.Run("C18 an approval is bound to where, what and when", parityScope)
	t.Run("D4 secrets ask in a trusted workspace", paritySecrets)
	t.Run("D5 an approval that nobody answers", parityNobody)
}

// lasting selects the standing option, where it is offered one.
var lasting = permission.PolicyFunc(func(_ context.Context, req permission.Request) permission.Decision {
	if req.Method == "" {
		return permission.Decision{OptionID: "always"}
	}
	return permission.Decision{OptionID: "yes"}
})

func parityBound(t *testing.T) {
	once := func(t *testing.T) permission.Request {
		return hosted(t, acp.ClientMethodFsWriteTextFile, writeHosted)
	}
	for _, tt := range []struct {
		name   string
		policy permission.Policy
		act    func(t *testing.T) permission.Request
		asked  int // of two such acts after the approval
	}{
		{"once", permission.Allow(), once, 1},
		{"standing", lasting, once, 0},
		{"changed arguments", lasting, func(t *testing.T) permission.Request {
			return hosted(t, acp.ClientMethodFsWriteTextFile, strings.Replace(writeHosted, `"newText":"n"`, `"newText":"N"`, 1))
		}, 2},
		{"another session", lasting, func(t *testing.T) permission.Request {
			req := once(t)
			req.SessionID = "s2"
			return req
		}, 2},
		{"another run", lasting, func(t *testing.T) permission.Request {
			req := once(t)
			req.RunID = "run2"
			return req
		}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var g permission.Grants
			inner := &counted{Policy: tt.policy}
			p := g.Policy(inner)
			p.Decide(t.Context(), call(t, writeAsked))
			inner.n = 0
			for range 2 {
				p.Decide(t.Context(), tt.act(t))
			}
			check.Equal(t, "questions", inner.n, tt.asked)
		})
	}
	t.Run("a replayed answer", func(t *testing.T) {
		var first *permission.Answer
		ask := permission.Ask{Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
			if first == nil {
				first = &permission.Answer{QuestionID: q.ID, OptionID: "yes"}
			}
			return *first, nil
		}}
		check.Equal(t, "the first time", ask.Decide(t.Context(), call(t, edit("a"))).OptionID, "yes")
		check.Equal(t, "again", ask.Decide(t.Context(), call(t, edit("a"))).OptionID, "no")
	})
}

func parityInterpreters(t *testing.T) {
	r := rules(t, `{"rules":[{"effect":"allow","commands":[["*","**"],["python3","gen.py"]]},{"effect":"allow","commands":[["sudo","**"]]}]}`)
	for line, want := range map[string]permission.Effect{
		"go vet ./...":      permission.EffectAllow,
		"python3 gen.py":    permission.EffectAllow, // named as such
		"sudo reboot":       permission.EffectAllow, // so is this, and the loader warns of it
		"python3 -c x":      permission.EffectDeny,
		"python3.12 x.py":   permission.EffectDeny,
		"/usr/bin/node x":   permission.EffectDeny,
		"sh x.sh":           permission.EffectDeny,
		"env go vet":        permission.EffectDeny,
		"xargs rm":          permission.EffectDeny,
		"find . -exec rm":   permission.EffectDeny,
		"go vet; rm -r src": permission.EffectDeny,
	} {
		check.Equal(t, line, r.Explain(call(t, run(line))).Effect, want)
	}
	check.Has(t, strings.Join(r.Warnings(), "\n"), "rule 1: allows every program that is no interpreter", "rule 2: allows everything through sudo")
}

func parityScope(t *testing.T) {
	for name, tt := range map[string]struct {
		asked string
		act   permission.Request
		then  func(*permission.Request)
	}{
		"another directory": {writeAsked, hosted(t, acp.ClientMethodFsWriteTextFile, writeHosted), func(r *permission.Request) { r.Dir = "/home/u" }},
		"another program under the name": {runAsked, hosted(t, acp.ClientMethodTerminalCreate, runHosted), func(r *permission.Request) {
			r.LookPath = func(string) (string, error) { return "/tmp/go", nil }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, change := range []bool{false, true} {
				var g permission.Grants
				inner := &counted{Policy: permission.Allow()}
				p := g.Policy(inner)
				p.Decide(t.Context(), call(t, tt.asked))
				inner.n = 0
				act := tt.act
				if change {
					tt.then(&act)
				}
				p.Decide(t.Context(), act)
				check.Equal(t, "asked anew", inner.n == 1, change)
			}
		})
	}
	t.Run("another version of the policy", func(t *testing.T) {
		const text = `{"default":"ask","rules":[{"effect":"deny","hosts":["a.example"]}]}`
		for version, again := range map[string]bool{text: false, strings.Replace(text, "a.example", "b.example", 1): true} {
			var g permission.Grants
			inner := &counted{Policy: lasting}
			old, now := rules(t, text), rules(t, version)
			old.Ask, now.Ask = permission.Allow(), inner
			g.Policy(old).Decide(t.Context(), call(t, writeAsked))
			g.Policy(now).Decide(t.Context(), hosted(t, acp.ClientMethodFsWriteTextFile, writeHosted))
			check.Equal(t, "asked anew", inner.n == 1, again)
		}
	})
	t.Run("expiry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for wait, again := range map[time.Duration]bool{time.Minute - 1: false, time.Minute: true} {
				g := &permission.Grants{TTL: time.Minute}
				inner := &counted{Policy: lasting}
				p := g.Policy(inner)
				p.Decide(t.Context(), call(t, writeAsked))
				inner.n = 0
				time.Sleep(wait)
				p.Decide(t.Context(), hosted(t, acp.ClientMethodFsWriteTextFile, writeHosted))
				check.Equal(t, "asked anew", inner.n == 1, again)
			}
		})
	})
	t.Run("none standing for high risk", func(t *testing.T) {
		r := rules(t, `{"rules":[{"effect":"ask","kinds":["edit","execute"],"always":true},{"effect":"ask","highRisk":true,"paths":["./prod/**"]}]}`)
		ask := permission.Ask{Func: answer("always"), Always: true}
		for text, want := range map[string]string{
			edit("a"): "always", edit("prod/a"): "no", edit(".env"): "no", edit("/etc/hosts"): "no", run("a; b"): "no", run("python3 x.py"): "no",
		} {
			for name, p := range map[string]permission.Policy{"Ask": ask, "another policy": lasting} { // whoever is asked
				r.Ask = p
				check.Equal(t, text+", asking "+name, r.Decide(t.Context(), call(t, text)).OptionID, want)
			}
			alone := want
			if text == edit("prod/a") {
				alone = "always" // it is the rules that say so
			}
			check.Equal(t, text+", without rules", ask.Decide(t.Context(), call(t, text)).OptionID, alone)
		}
	})
}

func paritySecrets(t *testing.T) {
	for name, trust := range map[string]string{
		"a rule":      `{"rules":[{"effect":"allow","paths":["./**"]}]}`,
		"the default": `{"default":"allow","rules":[]}`,
	} {
		asked := &counted{Policy: permission.Reject()}
		r := rules(t, trust)
		r.Ask = asked
		for path, want := range map[string]int{"main.go": 0, ".env": 1, "deploy/.env.local": 1, "id_ed25519": 1, "tls/server.key": 1, ".env.example": 0} {
			for _, kind := range []string{"read", "edit"} {
				asked.n = 0
				r.Decide(t.Context(), call(t, `{"kind":"`+kind+`","rawInput":{"path":"`+path+`"}}`))
				check.Equal(t, "questions about "+path+" with trust by "+name, asked.n, want)
			}
		}
	}
}

// The callback heeds nothing: what bounds it is ours.
func parityNobody(t *testing.T) {
	for name, tt := range map[string]struct {
		cancelAfter, want time.Duration
	}{
		"deadline": {time.Hour, time.Minute},
		"cancel":   {time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.cancelAfter)
				defer cancel()
				start, release := time.Now(), make(chan struct{})
				var heard time.Duration // when the callback could have known
				ask := permission.Ask{Timeout: time.Minute, Func: func(ctx context.Context, q permission.Question) (permission.Answer, error) {
					<-ctx.Done()
					heard = time.Since(start)
					<-release
					return permission.Answer{QuestionID: q.ID, OptionID: "yes"}, nil
				}}
				d := ask.Decide(ctx, call(t, edit("a")))
				check.Equal(t, "answer", d.OptionID, "no")
				check.Equal(t, "answered after", time.Since(start), tt.want)
				synctest.Wait()
				check.Equal(t, "the callback hears of it after", heard, tt.want)
				close(release)
			})
		})
	}
}
