package client_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// A question is told as it is read: among the updates as the agent wrote them, also where
// the agent goes on before it has an answer, and where nobody is asked any more.
func TestObserveAskIsInWireOrder(t *testing.T) {
	s := play(t, `
on session/prompt
  text one
  background
    permission call-1 "Write" kind=edit
      option yes allow_once "Yes"
      option no reject_once "No"
    end
  end
  text two
  wait cancel
  permission call-2 "Write on"
    option yes allow_once "Yes"
  end
  text three
  stop cancelled
`)
	var order []string // appended to on the reader, read when the turn is over
	asked := make(chan struct{})
	s.opts.Observe = func(u *client.Update) {
		if text, ok := u.Text(); ok {
			order = append(order, text)
			if len(order) == 3 {
				close(asked)
			}
		}
	}
	s.opts.ObserveAsk = func(r permission.Request) {
		order = append(order, string(r.ToolCall.ToolCallId)+" "+strconv.Itoa(len(r.Options)))
		if len(order) == 3 {
			close(asked)
		}
		panic("contained")
	}
	s.opts.Permission = permission.PolicyFunc(func(ctx context.Context, r permission.Request) permission.Decision {
		<-ctx.Done()
		return permission.Decision{}
	})
	session := s.session()
	turn := s.ask(t.Context(), session, "go")
	receive(t, asked)
	session.Cancel()
	answer, err := s.await(turn)
	s.ended(answer, err, "cancelled")
	s.close(s.agent, client.RungEOF, "exit status 0")
	want := []string{"one", "call-1 2", "two", "call-2 1", "three"}
	if order[1] == "two" { // the script's two are written side by side
		want[1], want[2] = want[2], want[1]
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	checkRecords(s, "call-1 cancelled - (turn cancelled)", "call-2 cancelled - (turn cancelled)")
}
