package client_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/leak"
	"github.com/errand-acp/errand/permission"
)

// A callback may close the agent that it hears of, with a turn open and more behind it:
// Close waits for no callback.
func TestCloseFromCallback(t *testing.T) {
	for name, set := range map[string]func(o *client.Options, f func()){
		"Update":       func(o *client.Options, f func()) { o.Update = func(context.Context, client.Update) { f() } },
		"OnPermission": func(o *client.Options, f func()) { o.OnPermission = func(permission.Record) { f() } },
		"Permission": func(o *client.Options, f func()) {
			o.Permission = permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision { f(); return permission.Decision{} })
		},
	} {
		for how, end := range map[string]func(*client.Agent) *client.Report{"Close": (*client.Agent).Close, "Kill": (*client.Agent).Kill} {
			t.Run(name+"/"+how, func(t *testing.T) {
				s := play(t, `on session/prompt; text "up"; permission t1 "Write"
					option yes allow_once Yes
					end
					text "more"; wait forever`)
				s.opts.Graces = deafToCancel
				s.opts.Graces.EOF = deafToEOF.EOF
				before := leak.Snapshot()
				var once sync.Once
				var report *client.Report
				closed := make(chan struct{})
				set(&s.opts, func() {
					once.Do(func() {
						report = end(s.agent)
						close(closed)
					})
				})
				turn := s.ask(t.Context(), s.session(), "go")
				select {
				case <-closed:
				case <-time.After(hang):
					t.Fatal("Close has not returned")
				}
				answer, err := s.await(turn)
				if how == "Close" {
					s.ended(answer, err, "cancelled")
				} else if err == nil {
					t.Error("the turn has an answer")
				}
				if report == nil || s.agent.Close() != report {
					t.Errorf("report %+v", report)
				}
				if err := before.Check(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
