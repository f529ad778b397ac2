package acptest_test

import (
	"encoding/json"
	"testing"

	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/client/transcript"
)

// The end of an agent cancels its turns first, and answers what it asks in them then: each
// time.
func TestEndCancelsBeforeItAnswers(t *testing.T) {
	t.Parallel()
	const agents, sessions = 4, 16
	for range agents {
		agent := acptest.Start(t, acptest.Script(t, writer), nil)
		for range sessions {
			agent.Session("").Prompt("go").Permission("edit")
		}
		agent.Close()
		asks := map[string]string{} // the session of each request, by its id
		cancelled := map[string]bool{}
		answers := 0
		for _, e := range agent.Transcript().Entries {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
				Params struct {
					SessionID string `json:"sessionId"`
				} `json:"params"`
			}
			json.Unmarshal(e.Frame, &m)
			session, asked := asks[string(m.ID)]
			switch {
			case m.Method == "session/request_permission":
				asks[string(m.ID)] = m.Params.SessionID
			case m.Method == "session/cancel":
				cancelled[m.Params.SessionID] = true
			case e.From == transcript.FromClient && m.Method == "" && asked:
				answers++
				if !cancelled[session] {
					t.Errorf("the request of %s is answered before its session/cancel", session)
				}
			}
		}
		if answers != sessions || len(cancelled) != sessions {
			t.Errorf("%d answers, %d cancels of %d", answers, len(cancelled), sessions)
		}
	}
}
