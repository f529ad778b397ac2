package client_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
)

// outcomes are the records in short: call, decision, option, rule.
func outcomes(records []permission.Record) []string {
	var short []string
	for _, r := range records {
		option := "-"
		if r.OptionID != nil {
			option = *r.OptionID
		}
		short = append(short, fmt.Sprintf("%s %s %s (%s)", r.ToolCallID, r.Decision, option, r.Rule))
	}
	return short
}

// What is recorded is what was answered, whatever was decided, and once.
func TestRecordIsTheAnswer(t *testing.T) {
	t.Run("decided", func(t *testing.T) {
		s := play(t, asks)
		s.opts.Permission = permission.Allow()
		s.completes(s.session(), "go", "end_turn")
		checkRecords(s, "call-1 allowed yes (allow)")
	})

	t.Run("cancelled while it is decided", func(t *testing.T) {
		s := play(t, asks)
		deciding, decided := make(chan struct{}), make(chan struct{})
		s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
			close(deciding)
			<-ctx.Done() // the request has been answered
			defer close(decided)
			return permission.Allow().Decide(ctx, r)
		})
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		receive(t, deciding)
		session.Cancel()
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		receive(t, decided)
		s.close(s.agent, client.RungEOF, "exit status 0")
		checkRecords(s, "call-1 cancelled - (turn cancelled)")
		check.Equal(t, "wire", s.wire(), "initialize session/new session/prompt session/cancel cancelled")
		check.Equal(t, "done", s.Exists("done"), false)
	})

	t.Run("a policy that does not hear of the cancel", func(t *testing.T) {
		s := play(t, asks)
		deciding, release := make(chan struct{}), make(chan struct{})
		s.opts.Permission = policy(func(permission.Request) permission.Decision {
			close(deciding)
			<-release
			return permission.Decision{OptionID: "yes", Rule: "mine"}
		})
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		receive(t, deciding)
		session.Cancel()
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		checkRecords(s, "call-1 cancelled - (turn cancelled)")
		close(release)
		s.close(s.agent, client.RungEOF, "exit status 0")
		checkRecords(s, "call-1 cancelled - (turn cancelled)")
	})

	t.Run("asked after the cancel", func(t *testing.T) {
		s := play(t, `on session/prompt
			text "up"
			wait cancel
			permission late "Late"
				option yes allow_once "Yes"
			end
			permission later "Later" session=its-own
				option yes allow_once "Yes"
			end
			stop cancelled`)
		s.opts.Permission = policy(func(permission.Request) permission.Decision {
			t.Error("the policy was asked")
			return permission.Decision{}
		})
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("up")
		session.Cancel()
		answer, err := s.await(turn)
		s.ended(answer, err, "cancelled")
		checkRecords(s, "late cancelled - (turn cancelled)", "later cancelled - (turn cancelled)")
		check.Equal(t, "session", s.permissions()[1].SessionID, "its-own")
		check.Equal(t, "options", fmt.Sprint(s.permissions()[0].Options), "[{yes allow_once}]")
	})

	t.Run("withdrawn by the agent", func(t *testing.T) {
		deciding := make(chan struct{})
		s := play(t, `on session/prompt
			background
				request session/request_permission {"sessionId":"session-1","toolCall":{"toolCallId":"c","title":"T"},"options":[{"optionId":"yes","kind":"allow_once","name":"Yes"}]} id="mine"
				text "$outcome"
			end
			wait file asked
			notify $/cancel_request {"requestId":"mine"}
			wait background`)
		s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
			close(deciding)
			<-ctx.Done()
			return permission.Decision{OptionID: "yes", Rule: "mine"}
		})
		turn := s.ask(t.Context(), s.session(), "go")
		receive(t, deciding)
		s.Touch("asked")
		answer, err := s.await(turn)
		s.ended(answer, err, "end_turn")
		check.Equal(t, "text", s.text(), "cancelled")
		checkRecords(s, "c cancelled - (withdrawn by the agent)")
	})

	t.Run("the agent goes", func(t *testing.T) {
		deciding := make(chan struct{})
		s := play(t, `on session/prompt
			background
				permission c "T"
					option yes allow_once "Yes"
				end
			end
			wait file asked
			exit 4`)
		s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
			close(deciding)
			<-ctx.Done()
			return permission.Decision{OptionID: "yes", Rule: "mine"}
		})
		turn := s.ask(t.Context(), s.session(), "go")
		receive(t, deciding)
		s.Touch("asked")
		_, err := s.await(turn)
		s.asError(err, client.KindExit, client.StepPrompt)
		checkRecords(s, "c cancelled - (connection ended)")
	})

	t.Run("too large", func(t *testing.T) {
		s := play(t, `set big x size=100KB
			on session/prompt
			request session/request_permission {"sessionId":"session-1","toolCall":{"toolCallId":"c","title":"$big"},"options":[]}
			text "$outcome"`)
		s.opts.MaxMessageBytes = 1 << 16
		s.completes(s.session(), "go", "end_turn")
		check.Equal(t, "text", s.text(), "cancelled")
		checkRecords(s, " cancelled - (request too large)")
	})

	t.Run("odd requests", func(t *testing.T) {
		s := play(t, `on session/prompt
			request session/request_permission {"sessionId":"session-1","toolCall":{"toolCallId":7,"title":null,"rawInput":[1]},"options":null}
			append got "$outcome"
			request session/request_permission {"sessionId":"session-1","options":"none"}
			append got "$outcome"
			request session/request_permission
			append got "$outcome"`)
		s.opts.Permission = permission.Allow()
		s.completes(s.session(), "go", "end_turn")
		check.Equal(t, "answers", s.File("got"), "cancelled\ncancelled\ncancelled\n")
		checkRecords(s, "7 cancelled - (allow: no allow option)", " cancelled - (allow: no allow option)", " cancelled - (allow: no allow option)")
	})
}

func checkRecords(s *scene, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, outcomes(s.permissions())); diff != "" {
		s.Errorf("records (-want +got):\n%s", diff)
	}
	for _, r := range s.permissions() {
		if r.Ms < 0 || r.Ms > float64(hang.Milliseconds()) {
			s.Errorf("it took %v ms", r.Ms)
		}
	}
}

// OnPermission is told in one order with Update, and all of it before Prompt returns.
func TestPermissionsInOrder(t *testing.T) {
	ask := `permission c$i "T"
			option yes allow_once "Yes"
			option no reject_once "No"
		end
		`
	s := play(t, `on session/prompt
		repeat 50
			text "t$i"
			`+ask+`
		end
		text "end"`)
	var mu sync.Mutex
	var got []string
	add := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, text)
	}
	s.opts.Update = func(_ context.Context, u client.Update) {
		time.Sleep(time.Millisecond) // slower than the agent
		add(u.Value.AgentMessageChunk.Content.Text.Text)
	}
	s.opts.OnPermission = func(r permission.Record) { add(r.ToolCallID) }
	s.completes(s.session(), "go", "end_turn")
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprintf("t%d", i+1), fmt.Sprintf("c%d", i+1))
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(append(want, "end"), got); diff != "" {
		t.Errorf("callbacks (-want +got):\n%s", diff)
	}
	check.Equal(t, "observed", len(s.permissions()), 50)
}

// A callback that never returns holds up neither a cancel nor the record.
func TestBlockedOnPermission(t *testing.T) {
	s := play(t, `on session/prompt
		permission one "T"
			option no reject_once "No"
		end
		text "up"
		permission two "T"
			option yes allow_once "Yes"
			when cancelled
				stop cancelled
		end`)
	release := make(chan struct{})
	defer close(release)
	s.opts.OnPermission = func(permission.Record) { <-release }
	s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
		if r.ToolCall.ToolCallId == "two" {
			<-ctx.Done()
		}
		return permission.Reject().Decide(ctx, r)
	})
	s.opts.Graces.Cancel = 500 * time.Millisecond
	session := s.session()
	turn := s.ask(t.Context(), session, "go")
	s.says("up")
	traces.Until(t, "two", func() bool { return s.agent.Conn().Stats().OpenRequests == 1 })
	session.Cancel()
	answer, err := s.await(turn)
	s.ended(answer, err, "cancelled")
	checkRecords(s, "one denied no (reject)", "two cancelled - (turn cancelled)")
	s.close(s.agent, client.RungEOF, "exit status 0")
}

// A callback that panics takes nothing with it.
func TestPermissionCallbacksPanic(t *testing.T) {
	s := play(t, asks)
	s.opts.Permission = permission.Allow()
	s.opts.ObservePermission = func(permission.Record) { panic("observe") }
	var told int
	s.opts.OnPermission = func(permission.Record) { told++; panic("on") }
	session := s.session()
	s.completes(session, "go", "end_turn")
	s.completes(session, "again", "end_turn")
	check.Equal(t, "done", s.File("done"), "yes\nyes\n")
	s.close(s.agent, client.RungEOF, "exit status 0")
	check.Equal(t, "told", told, 2)
	check.Equal(t, "panics", s.agent.Conn().Stats().Panics, int64(4))
}

// What the agent wrote into a request is redacted in its record, and only there.
func TestRecordIsRedacted(t *testing.T) {
	const canary = "canary-0123456789"
	t.Setenv("ERRAND_TEST_TOKEN", canary)
	asked := make(chan permission.Request, 1)
	s := play(t, `on session/prompt
		permission c "curl -H 'Authorization: `+canary+`'" kind=execute input={"`+canary+`":["`+canary+`",1,true,null,{"url":"https://x/?key=`+canary+`&n=12345678901"}],"n":98765432123}
			option no reject_once "No"
		end`)
	s.command.Env = append(s.command.Env, "PIN_PASSWORD=98765432123")
	s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
		asked <- r
		return permission.Reject().Decide(ctx, r)
	})
	s.completes(s.session(), "go", "end_turn")
	r := s.permissions()[0]
	all := *r.Title + fmt.Sprint(r.RawInput)
	check.Lacks(t, all, canary, "98765432123")
	check.Has(t, *r.Title, "curl -H 'Authorization: ")
	check.Has(t, fmt.Sprint(r.RawInput), "1 true <nil>", "https://x/?key=", "&n=12345678901")
	// The policy decides on what was really asked.
	check.Has(t, fmt.Sprint(receive(t, asked)), canary)
}

// Requests of sessions that are not ours are decided and recorded under their own id.
func TestForeignSession(t *testing.T) {
	s := play(t, strings.Replace(asks, `path=hello.txt`, `path=hello.txt session=nested`, 1))
	var dirs []string
	s.opts.Permission = policy(func(r permission.Request) permission.Decision {
		dirs = append(dirs, r.Dir)
		return permission.Decision{OptionID: "yes", Rule: "mine"}
	})
	s.completes(s.session(), "go", "end_turn")
	check.Equal(t, "text", s.text(), "did it")
	check.Equal(t, "session", s.permissions()[0].SessionID, "nested")
	if !slices.Equal(dirs, []string{""}) {
		t.Errorf("directories %q, want none of ours", dirs)
	}
}
