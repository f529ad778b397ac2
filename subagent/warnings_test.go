package subagent_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// Questions that are not answered when their turn ends are told of as what they are.
func TestLateQuestions(t *testing.T) {
	t.Parallel()
	const (
		first    = `send {"jsonrpc": "2.0", "id": "p1", "method": "session/request_permission", "params": {"sessionId": "session-1", "toolCall": {"toolCallId": "c1"}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}}` + "\n"
		second   = `send {"jsonrpc": "2.0", "id": "p2", "method": "session/request_permission", "params": {"sessionId": "session-1", "toolCall": {"toolCallId": "c2"}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]}}` + "\n"
		withdraw = `send {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "p1"}}` + "\n"
		end      = "stop end_turn\n"

		wasOpen = "ended the turn while it waited for an answer to a permission request"
		wasLate = "asked for permission after it had ended the turn"
	)
	for _, test := range []struct {
		name, script string
		has, lacks   []string
	}{
		{"open at the end", first + end, []string{wasOpen}, []string{wasLate}},
		{"after the end", end + first, []string{wasLate}, []string{wasOpen}},
		{"open, and after the end", first + end + second, []string{wasOpen, wasLate}, nil},
		{"withdrawn before the end", first + withdraw + end, nil, []string{wasOpen, wasLate}},
		{"withdrawn after the end", first + end + withdraw, []string{wasOpen}, []string{wasLate}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			s := play(t, "on session/prompt\n"+test.script+"write said\n", &subagent.ACPOptions{
				Permission: permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
					<-over
					return permission.Decision{}
				}),
			})
			req := s.request("go")
			run, err := s.provider.Start(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			<-run.Done()
			for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(filepath.Join(req.Dir, "said")); err == nil {
					break
				} else if time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
			close(over)
			warnings := strings.Join(run.Close().Warnings, "\n")
			check.Has(t, warnings, test.has...)
			check.Lacks(t, warnings, test.lacks...)
		})
	}
}

// Answers that nobody waits for change nothing, and the result tells how many came.
func TestAnswersToNothing(t *testing.T) {
	t.Parallel()
	res := play(t, `on session/new; reply {"sessionId": "session-1"}; reply {"sessionId": "session-2"}
		on session/prompt
		reply {"stopReason": "refusal"} id=99999
		reply {"stopReason": "refusal"} id="no-such-request"
		text "an answer"`, nil).run("go")
	check.Equal(t, "output", res.Output, "an answer")
	check.Equal(t, "warnings", strings.Join(res.Warnings, "\n"),
		"answers of the agent were ignored: 1 to requests that it had answered, 2 to requests that were never made")
	check.Equal(t, "warnings of a run without any", len(play(t, `on session/prompt; text "an answer"`, nil).run("go").Warnings), 0)
}

// A listener that does not return keeps a cancelled run from nothing, whatever there is to
// warn of.
func TestWarningsOfAStuckListener(t *testing.T) {
	t.Parallel()
	s := play(t, `on session/prompt
		set long x size=16KiB
		tool c1 "$long"
		text "an answer"
		stop cancelled`, &subagent.ACPOptions{MaxMessageBytes: 8 << 10})
	req := s.request("go")
	reached, free := make(chan struct{}), make(chan struct{})
	req.Events = func(e subagent.Event) {
		if e.Type == subagent.EventUpdate {
			close(reached)
			<-free
		}
	}
	run, err := s.provider.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	run.Cancel()
	res := outcome(t, run) // hangs, if a warning waits for the listener
	close(free)
	check.Equal(t, "stop", string(res.Stop), "aborted")
	check.Has(t, strings.Join(res.Warnings, "\n"), "1 update of the agent was larger than the limit of 8192 bytes")
	check.Has(t, strings.Join(closed(t, run).Warnings, "\n"), "1 update of the agent was larger than the limit of 8192 bytes")
}

// A field that holds more than is read costs that field, not the text beside it and not the
// turn; what is lost is told by its cause.
func TestTooManyValues(t *testing.T) {
	t.Parallel()
	const (
		leftOut = "held too many values were left out of updates or answers of the agent: of 1"
		missing = "held too many values are missing: 1"
	)
	for name, tt := range map[string]struct{ line, warning string }{
		"in a chunk":            {`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" really"},"_meta":{"x":$many}}}}`, leftOut},
		"in the answer":         {`{"jsonrpc":"2.0","id":$id,"result":{"stopReason":"end_turn","_meta":{"x":$many}}}`, leftOut},
		"in place of an update": {`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":$many}}`, missing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := play(t, `on session/prompt
				set many "1,"
				repeat 21
					set many "$many$many"
				end
				set many "[${many}1]"
				text "THE ANSWER"
				raw `+strconv.Quote(tt.line+"\n")+`
				stop end_turn`, nil).run("go")
			check.Equal(t, "output", strings.TrimSuffix(res.Output, " really"), "THE ANSWER")
			check.Equal(t, "all of it", strings.HasSuffix(res.Output, " really"), name == "in a chunk")
			check.Equal(t, "stop", string(res.Stop), "completed")
			check.Has(t, res.Warnings[0], tt.warning)
			check.Lacks(t, strings.Join(res.Warnings, "\n"), "larger")
		})
	}
}
