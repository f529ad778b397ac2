package permission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/permission"
)

// answer is a callback that picks an option of the question it is asked.
func answer(id string) func(context.Context, permission.Question) (permission.Answer, error) {
	return func(_ context.Context, q permission.Question) (permission.Answer, error) {
		return permission.Answer{QuestionID: q.ID, OptionID: id}, nil
	}
}

func TestAsk(t *testing.T) {
	var earlier permission.Answer // to a question of another time
	permission.Ask{Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
		earlier = permission.Answer{QuestionID: q.ID, OptionID: "yes"}
		return earlier, nil
	}}.Decide(t.Context(), call(t, edit("a")))

	type want struct {
		id, rule string
	}
	no := func(rule string) want { return want{"no", rule} }
	tests := []struct {
		name string
		ask  permission.Ask
		call string
		want want
	}{
		{"yes", permission.Ask{Func: answer("yes")}, edit("a"), want{"yes", "ask"}},
		{"no", permission.Ask{Func: answer("no")}, edit("a"), no("ask")},
		{"neither", permission.Ask{Func: answer("")}, edit("a"), want{"", "ask: cancelled"}},
		{"nobody", permission.Ask{}, edit("a"), no("ask: nobody to ask")},
		{"a replayed answer", permission.Ask{Func: func(context.Context, permission.Question) (permission.Answer, error) { return earlier, nil }}, edit("a"), no("ask: an answer to another question")},
		{"an answer to no question", permission.Ask{Func: func(context.Context, permission.Question) (permission.Answer, error) {
			return permission.Answer{OptionID: "yes"}, nil
		}}, edit("a"), no("ask: an answer to another question")},
		{"an option that was not offered", permission.Ask{Func: answer("YES")}, edit("a"), no("ask: option not offered")},
		{"a standing option", permission.Ask{Func: answer("always")}, edit("a"), no("ask: no standing grant")},
		{"a standing option where it may be", permission.Ask{Func: answer("always"), Always: true}, edit("a"), want{"always", "ask"}},
		{"a standing option for a shell line", permission.Ask{Func: answer("always"), Always: true}, run("a; b"), no("ask: no standing grant")},
		{"a standing option for an interpreter", permission.Ask{Func: answer("always"), Always: true}, run("python x"), no("ask: no standing grant")},
		{"a standing option for a sensitive file", permission.Ask{Func: answer("always"), Always: true}, edit(".env"), no("ask: no standing grant")},
		{"a standing option outside", permission.Ask{Func: answer("always"), Always: true}, edit("/etc/x"), no("ask: no standing grant")},
		{"a standing option for a command that is not told", permission.Ask{Func: answer("always"), Always: true}, `{"kind":"execute"}`, no("ask: no standing grant")},
		{"an error", permission.Ask{Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
			return permission.Answer{QuestionID: q.ID, OptionID: "yes"}, errors.New("secret")
		}}, edit("a"), no("ask: failed")},
		{"a clock of its own", permission.Ask{Func: func(context.Context, permission.Question) (permission.Answer, error) {
			return permission.Answer{}, fmt.Errorf("late: %w", context.DeadlineExceeded)
		}}, edit("a"), no("ask: no answer in time")},
		{"a panic", permission.Ask{Func: func(context.Context, permission.Question) (permission.Answer, error) { panic("secret") }}, edit("a"), no("ask: failed")},
		{"an ended goroutine", permission.Ask{Func: func(context.Context, permission.Question) (permission.Answer, error) {
			runtime.Goexit()
			panic("unreachable")
		}}, edit("a"), no("ask: failed")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := permission.Decide(t.Context(), tt.ask, call(t, tt.call))
			if diff := cmp.Diff(tt.want, want{d.OptionID, d.Rule}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// D5: an approval that nobody answers does not hang.
func TestAskDeadline(t *testing.T) {
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		want    time.Duration
	}{{"as told", time.Second, time.Second}, {"by default", 0, permission.DefaultTimeout}, {"a negative one", -1, permission.DefaultTimeout}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				start := time.Now()
				told := make(chan time.Time, 1)
				ask := permission.Ask{Timeout: tt.timeout, Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
					told <- q.Expires
					<-release // heeds no context
					return permission.Answer{QuestionID: q.ID, OptionID: "yes"}, nil
				}}
				d, rec := permission.Decide(t.Context(), ask, call(t, edit("a")))
				if d.OptionID != "no" || d.Rule != "ask: no answer in time" || rec.Decision != permission.Denied {
					t.Errorf("got %+v", d)
				}
				expires := <-told
				if took := time.Since(start); took != tt.want || !expires.Equal(start.Add(tt.want)) {
					t.Errorf("after %v, expires after %v, want %v", took, expires.Sub(start), tt.want)
				}
				close(release)
			})
		})
	}
}

func TestAskAnswerAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := permission.Ask{Timeout: time.Second, Func: func(ctx context.Context, q permission.Question) (permission.Answer, error) {
			<-ctx.Done()
			return permission.Answer{QuestionID: q.ID, OptionID: "yes"}, nil
		}}
		// Both may be ready at once; neither lets a late answer through.
		for range 100 {
			if d := ask.Decide(t.Context(), call(t, edit("a"))); d.OptionID != "no" {
				t.Fatalf("got %+v", d)
			}
		}
	})
}

func TestAskIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := permission.Ask{Func: func(ctx context.Context, q permission.Question) (permission.Answer, error) {
		cancel()
		<-ctx.Done()
		return permission.Answer{}, ctx.Err()
	}}.Decide(ctx, call(t, edit("a")))
	if d.OptionID == "yes" {
		t.Errorf("got %+v", d)
	}
}

// A question can be handed to a program as it is.
func TestQuestionJSON(t *testing.T) {
	var got map[string]any
	ask := permission.Ask{Func: func(_ context.Context, q permission.Question) (permission.Answer, error) {
		text, err := json.Marshal(q)
		if err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Error(err)
		}
		return permission.Answer{QuestionID: q.ID, OptionID: "yes"}, nil
	}}
	req := call(t, run("go test ./..."))
	req.Resolve = linked(nil)
	ask.Decide(t.Context(), req)
	facts, _ := got["facts"].(map[string]any)
	request, _ := got["request"].(map[string]any)
	if facts["digest"] == "" || request["runId"] != "run1" || len(request["options"].([]any)) != 3 {
		t.Errorf("got %v", got)
	}
}

func TestRulesAsk(t *testing.T) {
	text := `{"rules":[
		{"name":"once","effect":"ask","kinds":["edit"]},
		{"name":"lasting","effect":"ask","kinds":["search"],"always":true},
		{"name":"risky","effect":"ask","highRisk":true,"paths":["./prod/**"]}]}`
	for _, tt := range []struct{ name, call, option, want, rule string }{
		{"once", edit("a"), "yes", "yes", "ask: once: ask"},
		{"a standing answer where the rule has none", edit("a"), "always", "no", "ask: once: ask: no standing grant"},
		{"a standing answer where it has", `{"kind":"search","rawInput":{"path":"a"}}`, "always", "always", "ask: lasting: ask"},
		{"a standing answer for high risk", `{"kind":"search","rawInput":{"path":"prod/a"}}`, "always", "no", "ask: lasting: ask: no standing grant"},
		{"a standing answer for what the package calls high risk", `{"kind":"search","rawInput":{"path":".env"}}`, "always", "no", "ask: lasting: ask: no standing grant"},
		{"denied", `{"kind":"think"}`, "yes", "no", "deny: default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rules(t, text)
			r.Ask = permission.Ask{Func: answer(tt.option), Always: true}
			d, _ := permission.Decide(t.Context(), r, call(t, tt.call))
			if d.OptionID != tt.want || d.Rule != tt.rule {
				t.Errorf("got %+v, want %s by %q", d, tt.want, tt.rule)
			}
			// Whoever is asked, the rules keep their word.
			r.Ask = permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
				return permission.Decision{OptionID: tt.option}
			})
			if d, _ := permission.Decide(t.Context(), r, call(t, tt.call)); d.OptionID != tt.want {
				t.Errorf("another policy: got %+v, want %s", d, tt.want)
			}
		})
	}
	r := rules(t, text)
	if d, _ := permission.Decide(t.Context(), r, call(t, edit("a"))); d.OptionID != "no" || d.Rule != "ask: once: nobody to ask" {
		t.Errorf("with nobody to ask: %+v", d)
	}
}
