package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
	"github.com/errand-acp/errand/subagent/subagenttest"
)

func fallback(t testing.TB, o *subagent.FallbackOptions, providers ...subagent.Provider) subagent.Provider {
	t.Helper()
	p, err := subagent.Fallback("any", o, providers...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// unsendable is an agent that makes a session, says something, and takes no prompt.
const unsendable = `
	on session/new
	  stdin close
	  reply {"sessionId": "s"}
	  text lost session=s
	  wait forever`

// unready is its provider, which does not wait for it to go.
func unready(t testing.TB) subagent.Provider {
	return renamed{scripted(t, unsendable, &subagent.ACPOptions{Graces: client.Graces{
		Cancel: hang, EOF: time.Millisecond, Term: hang, Kill: hang,
	}}), "unready"}
}

func missing(t testing.TB) subagent.Provider {
	return renamed{provider(t, client.Command{Path: "/does/not/exist"}, nil), "missing"}
}

// failing is a provider whose first starts fail with these errors.
type failing struct {
	subagent.Provider
	errors []subagent.Error
	starts int
}

func (p *failing) Start(ctx context.Context, req subagent.Request) (subagent.Run, error) {
	p.starts++
	if p.starts <= len(p.errors) {
		return nil, &p.errors[p.starts-1]
	}
	return p.Provider.Start(ctx, req)
}

// attempted is what was tried, in a few words.
func attempted(res *subagent.Result) string {
	var words []string
	for _, a := range res.Attempts {
		word := a.Provider
		if a.Error != nil {
			word += ":" + string(a.Error.Kind)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestFallbackContract(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(t *testing.T) []subagent.Provider{
		"the first": func(t *testing.T) []subagent.Provider {
			return []subagent.Provider{inProcess(t, "a"), inProcess(t, "b")}
		},
		"after one that is not there": func(t *testing.T) []subagent.Provider {
			return []subagent.Provider{missing(t), inProcess(t, "b")}
		},
		"after one that takes no prompt": func(t *testing.T) []subagent.Provider {
			return []subagent.Provider{unready(t), scripted(t, contractScript, &subagent.ACPOptions{Graces: shortGraces})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subagenttest.Run(t, func(t *testing.T) subagent.Provider { return fallback(t, nil, make(t)...) })
		})
	}
}

func TestFallbackRefuses(t *testing.T) {
	p := inProcess(t, "p")
	for name, make := range map[string]func() (subagent.Provider, error){
		"no name":   func() (subagent.Provider, error) { return subagent.Fallback("", nil, p) },
		"none":      func() (subagent.Provider, error) { return subagent.Fallback("any", nil) },
		"a nil one": func() (subagent.Provider, error) { return subagent.Fallback("any", nil, p, nil) },
		"Retries": func() (subagent.Provider, error) {
			return subagent.Fallback("any", &subagent.FallbackOptions{Retries: -1}, p)
		},
		"Backoff": func() (subagent.Provider, error) {
			return subagent.Fallback("any", &subagent.FallbackOptions{Backoff: -1}, p)
		},
	} {
		p, err := make()
		if p != nil {
			t.Errorf("%s: made", name)
		}
		asError(t, err, client.KindConfig)
	}
}

// What goes on to the next provider is said by the kind of the error alone.
func TestFallbackByKind(t *testing.T) {
	for kind, want := range map[client.ErrorKind]bool{
		client.KindSpawn: true, client.KindStartupTimeout: true, client.KindExit: true, client.KindTransport: true, client.KindProtocol: true,
		client.KindVersion: true, client.KindAuthRequired: true, client.KindAgent: true, client.KindCapability: true, client.KindTooLarge: true,
		client.KindConfig: false, client.KindLimit: false, client.KindCancelled: false, client.KindTimeout: false,
	} {
		t.Run(string(kind), func(t *testing.T) {
			first := &failing{Provider: inProcess(t, "first"), errors: []subagent.Error{{
				Kind: kind, Step: client.StepInitialize, Message: "please retry with another provider",
			}}}
			run, err := fallback(t, &subagent.FallbackOptions{Retries: 3}, first, inProcess(t, "second")).Start(t.Context(), request(t))
			check.Equal(t, "starts of the first", first.starts, 1)
			if err != nil {
				e := asError(t, err, kind)
				check.Equal(t, "went on", false, want)
				check.Has(t, e.Error(), "any: ", "please retry")
				return
			}
			check.Equal(t, "went on", true, want)
			check.Equal(t, "attempts", attempted(run.Close()), "first:"+string(kind)+" second")
		})
	}
}

// A provider is tried again as often as it may be, with growing waits, and only where its
// error is Retryable.
func TestFallbackRetries(t *testing.T) {
	again, never := subagent.Error{Kind: client.KindExit, Retryable: true}, subagent.Error{Kind: client.KindExit}
	for name, tt := range map[string]struct {
		errors  []subagent.Error
		options subagent.FallbackOptions
		starts  int
		waited  time.Duration
		want    string
	}{
		"not at all":          {[]subagent.Error{again}, subagent.FallbackOptions{}, 1, 0, "first:exit second"},
		"until it works":      {[]subagent.Error{again, again}, subagent.FallbackOptions{Retries: 5, Backoff: time.Second}, 3, 3 * time.Second, "first:exit first:exit first"},
		"as often as may be":  {[]subagent.Error{again, again, again, again}, subagent.FallbackOptions{Retries: 2}, 3, 1500 * time.Millisecond, "first:exit first:exit first:exit second"},
		"while it is of use":  {[]subagent.Error{again, never, again}, subagent.FallbackOptions{Retries: 5, Backoff: time.Second}, 2, time.Second, "first:exit first:exit second"},
		"no longer than that": {slices.Repeat([]subagent.Error{again}, 4), subagent.FallbackOptions{Retries: 4, Backoff: 25 * time.Second}, 5, (25 + 50 + 60 + 60) * time.Second, "first:exit first:exit first:exit first:exit first"},
		"or as was asked for": {slices.Repeat([]subagent.Error{again}, 2), subagent.FallbackOptions{Retries: 2, Backoff: time.Hour}, 3, 2 * time.Hour, "first:exit first:exit first"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := &failing{Provider: inProcess(t, "first"), errors: tt.errors}
				p := fallback(t, &tt.options, first, inProcess(t, "second"))
				began := time.Now()
				res := delegated(t, p)
				check.Equal(t, "waited", time.Since(began), tt.waited)
				check.Equal(t, "starts", first.starts, tt.starts)
				check.Equal(t, "attempts", attempted(res), tt.want)
			})
		})
	}
}

// The result says what was tried, and when.
func TestFallbackAttempts(t *testing.T) {
	t.Parallel()
	began := time.Now()
	failed := renamed{scripted(t, "stderr why; exit 1", nil), "exits"}
	good := renamed{scripted(t, "on session/prompt; text fine", nil), "good"}
	res := delegated(t, fallback(t, nil, missing(t), failed, unready(t), good, inProcess(t, "never")))
	ended(t, res, stopreason.Completed, "")
	check.Equal(t, "output", res.Output, "fine")
	check.Equal(t, "provider", res.Provider, "any")
	check.Equal(t, "attempts", attempted(res), "missing:spawn exits:exit unready:transport good")
	ids := map[string]bool{}
	last := began
	for _, a := range res.Attempts {
		if a.RunID == nil || ids[*a.RunID] {
			t.Errorf("attempt of %s: run id %v", a.Provider, a.RunID)
			continue
		}
		ids[*a.RunID] = true
		if a.StartedAt.Before(last) || a.Ms <= 0 {
			t.Errorf("attempt of %s: started at %v, took %v ms", a.Provider, a.StartedAt, a.Ms)
		}
		last = a.StartedAt.Add(time.Duration(a.Ms * float64(time.Millisecond)))
	}
	check.Equal(t, "the last one is the run", ids[res.RunID], true)
	check.Equal(t, "nothing was written, and it says so", res.Attempts[2].Error.Retryable, true)
	check.Has(t, res.Attempts[1].Error.Message, "why")

	// Also where the first is taken.
	check.Equal(t, "attempts", attempted(delegated(t, fallback(t, nil, inProcess(t, "a"), inProcess(t, "b")))), "a")
	// A fallback within one is not of interest to the reader.
	inner := fallback(t, nil, missing(t), inProcess(t, "b"))
	check.Equal(t, "attempts", attempted(delegated(t, fallback(t, nil, fallback(t, nil, missing(t)), inner))), "missing:spawn missing:spawn b")
}

// Once something of a prompt was written nobody else is asked, whatever becomes of it.
func TestFallbackOnlyBeforeThePrompt(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]subagent.Provider{
		"fail":          scripted(t, `on session/prompt; fail -32603 "busy, retry later"`, nil),
		"crash":         scripted(t, `on session/prompt; raise KILL`, nil),
		"refusal":       scripted(t, `on session/prompt; stop refusal`, nil),
		"cut short":     scripted(t, `on session/prompt; stop max_tokens`, nil),
		"a function":    inProcess(t, "function"),
		"stops reading": scripted(t, `on session/new; stdin stop; reply {"sessionId": "s"}; wait forever`, &subagent.ACPOptions{Graces: shortGraces}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counted := &failing{Provider: p}
			req := request(t)
			req.Prompt = subagent.Text("fail " + strings.Repeat("x", 200<<10)) // more than a pipe takes
			ctx, cancel := context.WithCancel(bounded(t))
			defer cancel()
			req.Events = func(e subagent.Event) {
				if e.Type == subagent.EventStart && name == "stops reading" {
					cancel() // it would go on for ever
				}
			}
			res, err := subagent.Delegate(ctx, fallback(t, &subagent.FallbackOptions{Retries: 3}, counted, inProcess(t, "never")), req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Stop.Success() {
				t.Errorf("stop %q", res.Stop)
			}
			check.Equal(t, "starts", counted.starts, 1)
			check.Equal(t, "attempts", len(res.Attempts), 1)
			if res.Attempts[0].Error != nil {
				t.Errorf("the run is an attempt that has failed: %v", res.Attempts[0].Error)
			}
		})
	}
}

// Where nothing works the error says of everything why.
func TestFallbackFails(t *testing.T) {
	t.Parallel()
	exits := renamed{scripted(t, "exit 1", nil), "exits"}
	p := fallback(t, &subagent.FallbackOptions{Retries: 1, Backoff: time.Millisecond}, exits, missing(t))
	req := request(t)
	req.Labels = map[string]string{"a": "b"}
	req.Events = func(e subagent.Event) { t.Errorf("a %s event", e.Type) }
	_, err := p.Start(t.Context(), req)
	e := asError(t, err, client.KindSpawn)
	check.Equal(t, "step", e.Step, client.StepSpawn)
	check.Has(t, e.Error(), "any: ", "missing: ", "/does/not/exist", "before that exits: ")
	check.Equal(t, "retryable, as one of them is", e.Retryable, true)
	if inner, ok := errors.AsType[*client.Error](err); !ok || inner.Kind != client.KindSpawn {
		t.Errorf("%v does not wrap the last error", err)
	}
	check.Equal(t, "attempts", attempted(e.Partial), "exits:exit exits:exit missing:spawn")
	check.Equal(t, "provider of the result", e.Partial.Provider, "any")
	check.Equal(t, "its error", e.Partial.Error.Message, e.Message)
	check.Equal(t, "its labels", e.Partial.Labels["a"], "b")

	// A fan-out has it in the result.
	res := subagent.Gather(t.Context(), []subagent.Task{{Provider: p, Request: request(t)}}, nil)[0]
	check.Equal(t, "attempts in a fan-out", attempted(res), "exits:exit exits:exit missing:spawn")
	check.Equal(t, "result", summary(res), "error spawn")
	if _, err := json.Marshal(res); err != nil {
		t.Error(err)
	}

	// One that has started is closed when its prompt could not be sent.
	_, err = fallback(t, nil, unready(t)).Start(t.Context(), request(t))
	e = asError(t, err, client.KindTransport)
	if e.Partial.Exit == nil || e.Partial.Output != "" && e.Partial.Output != "lost" {
		t.Errorf("exit %v, output %q", e.Partial.Exit, e.Partial.Output)
	}
}

// The end of the context ends all of it.
func TestFallbackCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &failing{Provider: inProcess(t, "first"), errors: []subagent.Error{{Kind: client.KindExit, Retryable: true, Message: "m"}}}
		p := fallback(t, &subagent.FallbackOptions{Retries: 1, Backoff: time.Hour}, first)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := p.Start(ctx, request(t))
		e := asError(t, err, client.KindTimeout)
		check.Equal(t, "waited", time.Since(began), time.Minute)
		check.Equal(t, "attempts", attempted(e.Partial), "first:exit")
		check.Equal(t, "stop", e.Partial.Stop, stopreason.Aborted)
		check.Equal(t, "is the deadline's", errors.Is(err, context.DeadlineExceeded), true)
	})
	ctx, cancel := context.WithCancel(t.Context())
	open, err := subagent.NewProvider("open", func(ctx context.Context, _ subagent.Request) (*subagent.Session, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	second := &failing{Provider: inProcess(t, "second")}
	_, err = fallback(t, nil, open, second).Start(ctx, request(t))
	e := asError(t, err, client.KindCancelled)
	check.Equal(t, "starts of the second", second.starts, 0)
	check.Equal(t, "attempts", attempted(e.Partial), "open")
	if e.Partial.Error != nil {
		t.Errorf("a cancel is an error in the result: %v", e.Partial.Error)
	}
}

// Events are those of the run that came of it, in order and of its name.
func TestFallbackEvents(t *testing.T) {
	t.Parallel()
	good := scripted(t, "on session/prompt; text a; text b", nil)
	var mu sync.Mutex // guards got
	var got []subagent.Event
	req := request(t)
	req.Events = func(e subagent.Event) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, e)
	}
	res, err := subagent.Delegate(bounded(t), fallback(t, nil, unready(t), good), req)
	if err != nil {
		t.Fatal(err)
	}
	types := ""
	for i, e := range got {
		types += string(e.Type) + " "
		check.Equal(t, "run", e.RunID, res.RunID)
		if i > 0 && e.Time.Before(got[i-1].Time) {
			t.Errorf("event %d is from before the last", i)
		}
	}
	check.Equal(t, "events", types, "start update update end ")
	check.Equal(t, "provider of the start", got[0].Start.Provider, "any")
	end := got[len(got)-1].Result
	check.Equal(t, "provider of the end", end.Provider, "any")
	check.Equal(t, "attempts of the end", attempted(end), attempted(res))
}

// What a listener does to itself is its own affair, also where it is told late.
func TestFallbackListener(t *testing.T) {
	req := request(t)
	n := 0
	req.Events = func(e subagent.Event) {
		if n++; n == 1 {
			panic("at the start")
		}
	}
	res, err := subagent.Delegate(bounded(t), fallback(t, nil, inProcess(t, "p")), req)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "stop", res.Stop, stopreason.Completed)
	check.Equal(t, "warnings", strings.Join(res.Warnings, "|"), "Request.Events panicked at a start event")
	check.Equal(t, "events", n, 3)

	m := newMeter(t, "m")
	req = tasks(t, m, "hang")[0].Request
	req.Events = func(subagent.Event) { runtime.Goexit() }
	var group sync.WaitGroup
	group.Go(func() { fallback(t, nil, m).Start(t.Context(), req) })
	group.Wait()
	check.Equal(t, "running when its start was ended", m.running.Load(), 0)
}

func TestFallbackOffers(t *testing.T) {
	caps := func(name string, capabilities ...subagent.Capability) subagent.Provider {
		return inProcess(t, name, capabilities...)
	}
	p := fallback(t, nil,
		caps("a", subagent.CapabilityModel, subagent.CapabilityMode, subagent.CapabilityToolFilter),
		caps("b", subagent.CapabilityToolFilter, subagent.CapabilityModel))
	want := []subagent.Capability{subagent.CapabilityModel, subagent.CapabilityToolFilter}
	if diff := cmp.Diff(want, p.Capabilities()); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
	req := request(t)
	req.Mode = "plan"
	_, err := p.Start(t.Context(), req)
	check.Equal(t, "capability", asError(t, err, client.KindCapability).Capability, subagent.CapabilityMode)
}

// A provider of another package that says it has tried nothing is itself what was tried.
func TestFallbackForeignAttempts(t *testing.T) {
	for name, attempts := range map[string][]subagent.Attempt{"none": nil, "an empty list": {}} {
		t.Run(name, func(t *testing.T) {
			foreign := &failing{Provider: inProcess(t, "foreign"), errors: []subagent.Error{{
				Kind: client.KindSpawn, Step: client.StepSpawn, Message: "no", Partial: &subagent.Result{RunID: "r", Attempts: attempts},
			}}}
			_, err := fallback(t, nil, foreign).Start(t.Context(), request(t))
			partial := asError(t, err, client.KindSpawn).Partial
			check.Equal(t, "attempts", attempted(partial), "foreign:spawn")
			check.Equal(t, "run", *partial.Attempts[0].RunID, "r")
		})
	}
}

// A slot that a failed try has had is there for the next, within and without.
func TestFallbackUnderLimits(t *testing.T) {
	t.Parallel()
	l := newLimits(t, subagent.LimitOptions{Runs: 1, PerProvider: 1})
	within := fallback(t, nil, l.Provider(unready(t)), l.Provider(missing(t)), l.Provider(inProcess(t, "b")))
	without := l.Provider(fallback(t, nil, unready(t), missing(t), inProcess(t, "b")))
	var list []subagent.Task
	for range 2 {
		list = append(list, tasks(t, within, "hang", "answer 1")...)
		list = append(list, tasks(t, without, "answer 2")...)
	}
	list[0].Request.Prompt, list[3].Request.Prompt = subagent.Text("answer 0"), subagent.Text("answer 3")
	for i, res := range subagent.Gather(bounded(t), list, &subagent.FanOutOptions{Limits: l}) {
		check.Equal(t, fmt.Sprint("stop of ", i), res.Stop, stopreason.Completed)
		check.Equal(t, fmt.Sprint("attempts of ", i), attempted(res), "unready:transport missing:spawn b")
	}
}

// Its updates are those of the run that came of it.
func TestFallbackUpdates(t *testing.T) {
	p := fallback(t, nil, missing(t), function(t, func(_ context.Context, _ subagent.Request, update func(acp.SessionUpdate)) (acp.StopReason, error) {
		update(acp.UpdateAgentMessageText("hi"))
		return acp.StopReasonEndTurn, nil
	}))
	run, err := p.Start(t.Context(), request(t))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range run.Updates() {
		n++
	}
	check.Equal(t, "updates", n, 1)
	out, err := run.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	final := run.Close()
	check.Equal(t, "attempts", attempted(out)+"|"+attempted(final), "missing:spawn function|missing:spawn function")
	again, _ := run.Wait(t.Context())
	check.Equal(t, "the outcome is one", again, out)
}
