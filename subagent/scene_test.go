package subagent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// hang bounds whatever is waited for; reaching it means that it will not come.
const hang = 60 * time.Second

// shortGraces are for agents that do not go by themselves. Those that do are given
// hang: it costs them nothing, and a slow machine does not matter.
var shortGraces = client.Graces{
	Cancel: 500 * time.Millisecond, EOF: time.Second, Term: time.Second, Kill: 2 * time.Second,
}

// raceEnv keeps a program built with the race detector, which this test binary is,
// from sleeping for a second when it exits.
var raceEnv = []string{"GORACE=atexit_sleep_ms=0"}

// scripted returns a provider of an agent that follows the script, with these
// variables set for it.
func scripted(t testing.TB, src string, o *subagent.ACPOptions, env ...string) subagent.Provider {
	t.Helper()
	return provider(t, command(t, src, env...), o)
}

// command is that of an agent that follows the script.
func command(t testing.TB, src string, env ...string) client.Command {
	t.Helper()
	path, args := script.Command(t, src)
	return client.Command{Path: path, Args: args, Env: append(env, raceEnv...)}
}

// provider returns that of a command. Without graces, it has time for all.
func provider(t testing.TB, cmd client.Command, o *subagent.ACPOptions) subagent.Provider {
	t.Helper()
	var opts subagent.ACPOptions
	if o != nil {
		opts = *o
	}
	if opts.Graces == (client.Graces{}) {
		opts.Graces = client.Graces{Cancel: hang, Close: hang, EOF: hang, Term: hang, Kill: hang}
	}
	p, err := subagent.NewACP("scripted", cmd, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scene is a provider of a scripted agent, and what that leaves behind.
type scene struct {
	*traces.Traces
	provider subagent.Provider
}

// play makes a scene of an agent that follows the script.
func play(t testing.TB, src string, o *subagent.ACPOptions, env ...string) *scene {
	t.Helper()
	s := &scene{Traces: traces.New(t)}
	s.provider = scripted(t, s.Recording(src), o, env...)
	return s
}

func canonical(t testing.TB, dir string) string {
	t.Helper()
	return traces.Canonical(t, dir)
}

func (s *scene) request(text string) subagent.Request {
	return subagent.Request{Dir: s.Dir, Prompt: subagent.Text(text)}
}

// run carries out one task from start to close.
func (s *scene) run(text string) *subagent.Result { return s.do(s.request(text)) }

func (s *scene) do(req subagent.Request) *subagent.Result {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), hang)
	defer cancel()
	res, err := subagent.Delegate(ctx, s.provider, req)
	if err != nil {
		s.Fatalf("it did not start: %v", err)
	}
	return res
}

// start begins a run that is closed with the test.
func (s *scene) start(ctx context.Context) subagent.Run {
	s.Helper()
	run, err := s.provider.Start(ctx, s.request("go"))
	if err != nil {
		s.Fatalf("it did not start: %v", err)
	}
	s.Cleanup(func() { run.Close() })
	return run
}

// refused checks that a start fails, in time, with an error of that kind.
func (s *scene) refused(ctx context.Context, req subagent.Request, kind client.ErrorKind) *subagent.Error {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, hang)
	defer cancel()
	run, err := s.provider.Start(ctx, req)
	if err == nil {
		run.Close()
		s.Fatalf("it was started, want an error of kind %q", kind)
	}
	return asError(s, err, kind)
}

func asError(t testing.TB, err error, kind client.ErrorKind) *subagent.Error {
	t.Helper()
	e, ok := errors.AsType[*subagent.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("error %#v, want a *subagent.Error of kind %q", err, kind)
	}
	return e
}

// outcome waits for the run's outcome.
func outcome(t testing.TB, run subagent.Run) *subagent.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	res, err := run.Wait(ctx)
	if err != nil {
		t.Fatalf("there is no outcome: %v", err)
	}
	return res
}

// closed closes the run and checks that this does not hang.
func closed(t testing.TB, run subagent.Run) *subagent.Result {
	t.Helper()
	final := make(chan *subagent.Result, 1)
	go func() { final <- run.Close() }() // ends with Close
	select {
	case res := <-final:
		return res
	case <-time.After(hang):
		t.Fatal("Close hangs")
		return nil
	}
}

// ended checks how a run ended.
func ended(t testing.TB, res *subagent.Result, stop stopreason.Outcome, kind client.ErrorKind) {
	t.Helper()
	var got client.ErrorKind
	if res.Error != nil {
		got = res.Error.Kind
	}
	if res.Stop != stop || got != kind {
		t.Fatalf("stop %q, error %+v; want %q and an error of kind %q; stderr: %s", res.Stop, res.Error, stop, kind, res.StderrTail)
	}
}

// frame is a line that the agent read.
type frame = traces.Frame

// methods are those of the requests and notifications that the agent has read.
func (s *scene) methods() string {
	s.Helper()
	var methods []string
	for _, f := range s.Frames() {
		if f.Method != "" {
			methods = append(methods, f.Method)
		}
	}
	return strings.Join(methods, " ")
}

// answers are the results and errors that the agent was sent.
func (s *scene) answers() []string {
	s.Helper()
	var answers []string
	for _, f := range s.Frames() {
		if f.Method == "" {
			answers = append(answers, string(f.Result)+string(f.Error))
		}
	}
	return answers
}
