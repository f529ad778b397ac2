package faults

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

func callbacks() row {
	const asks = `on session/prompt
		text "one "
		permission c1 "Write"
			option yes allow_once "Yes"
			option no reject_once "No"
			when allowed; text "allowed "
			when rejected; text "rejected "
			when cancelled; text "cancelled "
			when error; text "error "
		end
		text "three"`
	const whole = `completed; "one two three"; 3 updates; exit status 0`
	// events has f called with each.
	events := func(f func(subagent.Event)) func(*scene) {
		return func(s *scene) { s.request.Events = f }
	}
	decides := func(f func(context.Context, permission.Request) permission.Decision) func(*scene) {
		return func(s *scene) { s.opts.Permission = permission.PolicyFunc(f) }
	}
	warned := warns("Request.Events panicked")
	// withRun has f called with the run at its first update.
	withRun := func(f func(*scene, subagent.Run)) func(*scene) {
		return func(s *scene) {
			var run atomic.Value
			started := make(chan struct{})
			once := false
			s.listen(func(e subagent.Event) {
				if e.Type == subagent.EventUpdate && !once {
					once = true
					<-started
					f(s, run.Load().(subagent.Run))
				}
			})
			run.Store(s.start())
			close(started)
			s.finish(run.Load().(subagent.Run))
		}
	}
	return row{id: "T19", does: "sends updates and requests to callbacks that block for seconds, panic, or call the run", forms: []form{
		{script: "t19-calls-back", slow: time.Second, want: whole},
		{
			name: "Events panics", script: "t19-calls-back", given: events(func(subagent.Event) { panic("no") }),
			want: whole, check: warned,
		},
		{
			name: "Events panics with an error, at the last event only", script: "t19-calls-back",
			given: events(func(e subagent.Event) {
				if e.Type == subagent.EventEnd {
					panic(errors.New("no"))
				}
			}),
			want: whole, check: warned,
		},
		{
			name: "Events ends its goroutine", script: "t19-calls-back",
			given: events(func(e subagent.Event) {
				if e.Type != subagent.EventStart {
					runtime.Goexit()
				}
			}),
			want: whole,
		},
		{
			name: "Events ends the goroutine that starts the run", script: "t19-calls-back",
			given: events(func(e subagent.Event) { runtime.Goexit() }),
			do: func(s *scene) {
				s.within(hang, "the start", func() { s.delegate(s.Context()) })
			},
			want: "neither a result nor an error",
		},
		{
			name: "Events cancels the run", script: `on session/prompt; text "one "; wait forever`,
			do:   withRun(func(_ *scene, run subagent.Run) { run.Cancel() }),
			want: `aborted; "one "; 1 updates; exit status 0`,
		},
		{
			name: "Events waits for the run, with a bound of its own", script: "t19-calls-back",
			do: withRun(func(s *scene, run subagent.Run) {
				ctx, cancel := context.WithTimeout(s.Context(), 200*time.Millisecond)
				defer cancel()
				if _, err := run.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
					s.Errorf("Wait: %v", err)
				}
			}),
			want: whole,
		},
		{
			name: "Events carries out another run", script: "t19-calls-back",
			do: func(s *scene) {
				once := false
				s.listen(func(e subagent.Event) {
					if e.Type != subagent.EventUpdate || once {
						return
					}
					once = true
					other := newScene(s.TB, &form{script: `on session/prompt; text "another"`})
					other.delegate(s.Context())
					check.Equal(s, "the other run", other.summary(), `completed; "another"; 1 updates; exit status 0`)
					other.nothingLeft()
				})
				s.delegate(s.Context())
			},
			want: whole,
		},
		{
			name: "Events takes seconds after the answer, and the run is cancelled meanwhile", slow: 100 * time.Millisecond,
			// What is no request is refused as it is read: when that is done of the one after
			// the answer, the answer was read.
			given: hears("-32600", 1), script: `record heard
				on session/prompt; burst 20 "x"; stop end_turn; send {"jsonrpc": "2.0", "id": "n", "method": ""}; wait file answered; exit 3` + deafToEOF,
			do: func(s *scene) {
				ctx, cancel := context.WithCancel(s.Context())
				defer cancel()
				s.listen(func(e subagent.Event) {
					if e.Type == subagent.EventUpdate && ctx.Err() == nil {
						s.until("the answer", func() bool { return s.exists("answered") })
						cancel()
					}
				})
				s.delegate(ctx)
			},
			want: `completed; "xxxxxxxxxxxxxxxxxxxx"; 20 updates; exit status 3`,
		},
		{
			name: "a reader of Updates leaves at once", script: `on session/prompt; burst 12000 "x" size=1KB`,
			do: func(s *scene) {
				run := s.start()
				for range run.Updates() {
					break
				}
				s.finish(run)
			},
			want: "completed; 12000000 bytes of text; 12000 updates; exit status 0",
		},
		{
			name: "a reader of Updates that stops while the run is cancelled", given: deafTo(client.RungCancel), script: `on session/prompt; burst 100000 "x" size=1KB; stop end_turn`,
			do: func(s *scene) {
				run := s.start()
				for range run.Updates() {
					run.Cancel()
					s.within(hang, "the outcome", func() { <-run.Done() }) // the fault: it reads no more until then
					break
				}
				s.finish(run)
				check.Equal(s, "stop", s.result.Stop, "aborted")
			},
			check: func(s *scene) { check.Equal(s, "exit", s.result.Exit.String(), "exit status 0") },
		},
		{
			name: "the policy panics", script: asks, given: decides(func(context.Context, permission.Request) permission.Decision { panic("no") }),
			want:  `completed; "one cancelled three"; 3 updates; cancelled; exit status 0`,
			check: func(s *scene) { check.Equal(s, "rule", s.result.Permissions[0].Rule, "policy panicked") },
		},
		{
			name: "the policy ends its goroutine", script: asks,
			given: decides(func(context.Context, permission.Request) permission.Decision {
				runtime.Goexit()
				return permission.Decision{OptionID: "yes"}
			}),
			want: `completed; "one cancelled three"; 3 updates; cancelled; exit status 0`,
		},
		{
			name: "the policy takes its time", script: asks,
			given: decides(func(context.Context, permission.Request) permission.Decision {
				time.Sleep(2 * time.Second) // the fault
				return permission.Decision{OptionID: "yes"}
			}),
			want: `completed; "one allowed three"; 3 updates; allowed; exit status 0`,
		},
		{
			name: "the policy selects what was not offered", script: asks,
			given: decides(func(context.Context, permission.Request) permission.Decision {
				return permission.Decision{OptionID: "YES"}
			}),
			want: `completed; "one cancelled three"; 3 updates; cancelled; exit status 0`,
		},
		{
			name: "the policy does not return until long after the cancel", script: asks,
			do: func(s *scene) {
				asked, release := make(chan struct{}), make(chan struct{})
				s.opts.Permission = permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
					close(asked)
					<-release // whatever its context says: the fault
					return permission.Decision{OptionID: "yes"}
				})
				run := s.start()
				s.within(hang, "the question", func() { <-asked })
				run.Cancel()
				s.finish(run)
				close(release)
			},
			want: `aborted; "one cancelled "; 2 updates; cancelled; exit status 0`,
		},
		{
			name: "the logger panics", script: asks,
			given: func(s *scene) { s.opts.Logger = slog.New(panickingHandler{}) },
			want:  `completed; "one rejected three"; 3 updates; denied; exit status 0`,
		},
		{
			name: "the writer for stderr panics", script: `on session/prompt; stderr "one\n"; text "one "; stderr "two\n"; text "two"`,
			given: func(s *scene) { s.opts.Stderr = writerFunc(func([]byte) (int, error) { panic("no") }) },
			want:  `completed; "one two"; 2 updates; exit status 0`,
			check: func(s *scene) { check.Equal(s, "stderr", s.result.StderrTail, "one\ntwo\n") },
		},
		{
			name: "the writer for stderr fails", script: `on session/prompt; stderr size=1MB; text "one"; stderr "\nend\n"`,
			given: func(s *scene) {
				s.opts.Stderr = writerFunc(func([]byte) (int, error) { return 0, errors.New("disk full") })
			},
			want:  `completed; "one"; 1 updates; exit status 0`,
			check: func(s *scene) { check.Equal(s, "stderr", strings.HasSuffix(s.result.StderrTail, "\nend\n"), true) },
		},
		{
			name: "Events has the agent killed", script: `on session/prompt; text "one "; wait forever`,
			do: func(s *scene) {
				var kill context.CancelFunc
				s.opts.Kill, kill = context.WithCancel(s.Context())
				s.listen(func(e subagent.Event) {
					if e.Type == subagent.EventUpdate {
						kill()
					}
				})
				s.delegate(s.Context())
			},
			check: func(s *scene) {
				check.Equal(s, "text", s.text(), "one ")
				check.Equal(s, "exit", s.result.Exit.String(), "signal SIGKILL")
			},
		},
	}}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

type panickingHandler struct{}

func (panickingHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panickingHandler) Handle(context.Context, slog.Record) error { panic("no") }
func (h panickingHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h panickingHandler) WithGroup(string) slog.Handler           { return h }
