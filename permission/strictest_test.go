package permission_test

import (
	"context"
	"testing"

	"github.com/errand-acp/errand/permission"
)

func TestStrictest(t *testing.T) {
	says := func(id string) permission.Policy {
		return permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
			return permission.Decision{OptionID: id, Rule: id}
		})
	}
	never := permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
		t.Error("asked after a refusal")
		return permission.Decision{OptionID: "yes"}
	})
	for _, tt := range []struct {
		name     string
		policies []permission.Policy
		want     string
		rule     string
	}{
		{"none", nil, "no", "reject"},
		{"nil", []permission.Policy{nil, never}, "no", "reject"},
		{"all allow", []permission.Policy{says("yes"), permission.Allow()}, "yes", "yes + allow"},
		{"one rejects", []permission.Policy{says("yes"), says("no"), never}, "no", "no"},
		{"one selects none", []permission.Policy{says("yes"), says(""), never}, "", "policy"},
		{"one selects what was not offered", []permission.Policy{says("made-up"), never}, "no", "made-up: option not offered"},
		{"one panics", []permission.Policy{says("yes"), permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision { panic(1) })}, "", "policy panicked"},
		{"once before always", []permission.Policy{says("always"), says("yes")}, "yes", "always + yes"},
		{"once before always, the other way", []permission.Policy{says("yes"), says("always")}, "yes", "yes + always"},
		{"always", []permission.Policy{says("always"), says("always")}, "always", "always + always"},
		{"different options", []permission.Policy{says("yes"), says("yes2")}, "no", "yes + yes2: different options"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := call(t, edit("a"))
			req.Options = append(req.Options, options([2]string{"allow_once", "yes2"})...)
			if len(tt.policies) == 2 && tt.name == "all allow" {
				req.Options = req.Options[:3]
			}
			d, _ := permission.Decide(t.Context(), permission.Strictest(tt.policies...), req)
			if d.OptionID != tt.want || d.Rule != tt.rule {
				t.Errorf("got %+v, want %q by %q", d, tt.want, tt.rule)
			}
		})
	}
}

func TestGuardsReads(t *testing.T) {
	var g permission.Grants
	r := &permission.Rules{}
	for _, tt := range []struct {
		name   string
		policy permission.Policy
		want   bool
	}{
		{"none", nil, false}, {"allow", permission.Allow(), false}, {"rules", r, true}, {"ask", permission.Ask{}, false},
		{"one of several", permission.Strictest(permission.Allow(), r), true}, {"none of several", permission.Strictest(permission.Allow()), false},
		{"remembered", g.Policy(r), true}, {"remembered allow", g.Policy(permission.Allow()), false},
	} {
		if got := permission.GuardsReads(tt.policy); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// What is named by its rules is so too beside another policy.
func TestStrictestDigest(t *testing.T) {
	digest := func(policies ...permission.Policy) string {
		return permission.Strictest(policies...).(interface{ Digest() string }).Digest()
	}
	allow, deny := &permission.Rules{Default: permission.EffectAllow}, &permission.Rules{}
	if got := digest(permission.Allow(), nil); got != "" {
		t.Errorf("of no named policy: %q", got)
	}
	both := digest(allow, deny)
	if both == "" || both != digest(allow, deny) || both == digest(deny, allow) || both == digest(allow) || both == digest(allow, permission.Allow()) {
		t.Errorf("%q does not tell the policies apart", both)
	}
}
