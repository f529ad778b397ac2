package acptest

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// DefaultTimeout is Options.Timeout where it is 0.
const DefaultTimeout = 30 * time.Second

// Options are what Start may be told beside the command. The zero value, or nil, is the
// default.
type Options struct {
	// Timeout bounds each wait for the agent; 0 means DefaultTimeout. So does the
	// deadline of the test (go test -timeout). The start has Client.StartTimeout.
	Timeout time.Duration

	// Client is what the agent is given and how it is ended: its files, terminals,
	// graces, and so on. What it has to observe the agent with is called as well, and a
	// Transcript is written to as well: one that cannot be written to its end fails the test,
	// when that ends.
	//
	// Without a Permission the test answers each permission request itself, with
	// [Turn.Permission]; with one, that does. Files and commands that the agent wants
	// of us (Files, Terminals) are then put to it too; without one they are allowed.
	Client client.Options
}

// Agent is an agent under test. Its methods, like those of the sessions and turns that
// come from it, fail the test where the agent does otherwise than they expect. They are
// for the test's own goroutine, as t.FailNow is.
type Agent struct {
	*core
	t testing.TB
	// shared is set where another test has started it, and will end it.
	shared bool
	// turns are those that began through this Agent; used by the test's goroutine.
	turns []*Turn
}

// core is an agent with all that tests share of it.
type core struct {
	*journal
	agent   *client.Agent
	talk    *recording
	timeout time.Duration
	last    time.Time      // when the test must have its failure; zero for never
	ruled   bool           // there is a policy that answers
	offers  client.Options // as the test gave them
	closing chan struct{}
	once    sync.Once // guards the close of closing
	// seen is set when a test has looked at how the agent ended.
	seen atomic.Bool
	// running are the goroutines that prompt, and the one that waits for the end of the
	// connection. They end with the agent.
	running sync.WaitGroup
}

// Start starts an agent and initializes the connection to it. What cannot be started
// fails the test. The agent is ended with the test (t.Cleanup), like [Agent.Close] does
// it, and everything that it started with it; a process of it that cannot be ended
// fails the test.
//
// An agent that says more than is kept of a conversation, 50,000 lines or 64 MiB with its
// stderr, fails the test.
//
// A Dir that is empty becomes a directory of the test's own (t.TempDir). A nil o means
// the defaults.
//
// See https://agentclientprotocol.com/protocol/initialization.
func Start(t testing.TB, cmd client.Command, o *Options) *Agent {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	if err := client.CheckDuration("Options.Timeout", o.Timeout); err != nil {
		t.Fatalf("acptest: Start: %v", err)
	}
	// Called whether it is needed or not: what is removed at the end of the test is
	// removed after our Cleanup then, when no agent writes into it any more.
	temp := t.TempDir()
	cmd.Dir = cmp.Or(cmd.Dir, temp)
	c := &core{
		journal: newJournal(), timeout: cmp.Or(o.Timeout, DefaultTimeout), last: lastMoment(t),
		ruled: o.Client.Permission != nil, offers: o.Client, closing: make(chan struct{}),
	}
	a := &Agent{core: c, t: t}
	opts := c.options(o.Client)
	ctx, cancel := c.startContext()
	defer cancel()
	var err error
	if c.agent, err = client.Start(ctx, cmd, &opts); err != nil {
		a.fatal("Start", "the agent did not start: "+a.text(err))
	}
	c.change(func() { c.heard++ })
	c.running.Go(func() {
		<-c.agent.Conn().Done()
		c.change(func() { c.gone = true })
	})
	t.Cleanup(func() {
		t.Helper()
		a.end()
	})
	return a
}

// options returns the client's options with our own observers among them.
func (c *core) options(o client.Options) client.Options {
	if o.Permission == nil {
		o.Permission = permission.PolicyFunc(c.decide)
	}
	o.Observe = both(c.update, o.Observe)
	o.ObserveAsk = both(c.asked, o.ObserveAsk)
	o.ObservePermission = both(c.settled, o.ObservePermission)
	o.ObserveFile = both(func(r client.FileRecord) {
		c.add(&event{session: acp.SessionId(r.SessionID), file: &r})
	}, o.ObserveFile)
	o.ObserveCommand = both(func(r client.CommandRecord) {
		if r.Exit != nil || r.Error != nil { // else it has only begun
			c.add(&event{session: acp.SessionId(r.SessionID), command: &r})
		}
	}, o.ObserveCommand)
	c.talk = newRecording(o.Transcript, c.overflow)
	o.Transcript = c.talk.writer
	return o
}

func both[T any](ours, theirs func(T)) func(T) {
	if theirs == nil {
		return ours
	}
	return func(v T) {
		ours(v)
		theirs(v)
	}
}

// decide answers what the agent asks with what the test says.
func (c *core) decide(ctx context.Context, req permission.Request) permission.Decision {
	const rule = "the test"
	if req.Method != "" && req.Method != acp.ClientMethodSessionRequestPermission {
		if c.cancelled(req.SessionID) {
			return permission.Reject().Decide(ctx, req)
		}
		return permission.Allow().Decide(ctx, req) // the test gives files and terminals to be used
	}
	k := c.take(req)
	if k == nil {
		return permission.Decision{Rule: rule} // it was too large to be seen, or there is no room for it
	}
	select {
	case d := <-k.answer:
		d.Rule = rule
		return d
	case <-ctx.Done():
	case <-c.closing:
		// The end of the agent cancels the turns that are open, and that answers: the agent
		// is to hear of the cancel first.
		for _, turn := range c.turnsOf(req.SessionID) {
			select {
			case <-turn.done:
			case <-ctx.Done():
			}
		}
	}
	return permission.Decision{Rule: "the test has not answered"}
}

// With returns the agent for another test, such as a subtest: what goes wrong through
// it fails that one, and turns that began through it and are open are cancelled when
// that ends. The agent goes on until the test that started it has ended.
func (a *Agent) With(t testing.TB) *Agent {
	sub := &Agent{core: a.core, t: t, shared: true}
	t.TempDir() // as in Start
	t.Cleanup(func() {
		t.Helper()
		sub.checkAsks()
		sub.abandon(slices.Values(sub.turns))
		for _, turn := range sub.turns {
			turn.stop(nil)
			<-turn.done
		}
		if sub.ended() {
			sub.checkDeath(sub.shut())
		}
	})
	return sub
}

// Client returns the agent as package client has it: what it said of itself
// ([client.Agent.Info]), its process, and the connection, for any request by name.
func (a *Agent) Client() *client.Agent { return a.agent }

// end ends the agent with the test.
func (a *Agent) end() {
	a.t.Helper()
	a.checkAsks()
	a.abandon(maps.Values(a.open))
	report := a.shut()
	a.running.Wait()
	a.checkAsks() // what it asked until then, not for the end of its turn
	a.checkDeath(report)
	if len(report.Leftover) > 0 {
		a.error("the end of the test", "the agent left behind what could not be ended: "+list(report.Leftover))
	}
	if a.full != "" && !a.t.Failed() { // nobody changes it any more
		a.error("the end of the test", a.full)
	}
	if err := a.talk.lost(); err != nil {
		a.t.Errorf("acptest: Options.Client.Transcript is not whole: %s", a.line(err.Error()))
	}
}

// shut ends the agent. The test answers nothing any more.
func (a *Agent) shut() *client.Report {
	a.once.Do(func() { close(a.closing) })
	return a.agent.Close()
}

// abandon takes the turns that are open for cancelled by the test, whose end that is.
func (a *Agent) abandon(turns iter.Seq[*Turn]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for turn := range turns {
		turn.cancelled = turn.cancelled || !turn.ended
	}
}

// checkAsks fails the test if the agent asked what nobody expected, in a turn of which the
// test did not await the end, or when none was open.
func (a *Agent) checkAsks() {
	a.t.Helper()
	if a.t.Failed() || a.ruled {
		return
	}
	a.mu.Lock()
	found := a.missed()
	for _, i := range a.asks {
		k := a.events[i].ask
		mine := !a.shared || slices.Contains(a.turns, k.turn)
		if found == nil && mine && !k.claimed && !a.excused(k) {
			found = k
		}
	}
	a.mu.Unlock()
	if found != nil {
		a.error("the end of the test", a.surprise(found))
	}
}

// checkDeath fails the test if the agent, which has ended, did so by itself while a turn
// was open, and no test has looked at that.
func (a *Agent) checkDeath(report *client.Report) {
	a.t.Helper()
	if a.t.Failed() || a.seen.Load() || !died(report) {
		return
	}
	a.mu.Lock()
	open := slices.ContainsFunc(a.turns, func(turn *Turn) bool { return turn.answer.Sent && !turn.answered })
	a.mu.Unlock()
	if open {
		a.error("the end of the test", "the agent has ended by itself while a turn was open, with "+report.Exit.String()+
			"\nExpect it with turn.Error(client.KindExit) or agent.Wait(), or the end of the turn with turn.Stop(\"end_turn\")")
	}
}

// died reports whether an agent ended by itself: before anything was done, or otherwise than
// it should when no more was done than to cancel its turn.
func died(report *client.Report) bool {
	switch report.Exit.Rung {
	case client.RungExit:
		return true
	case client.RungCancel:
		return report.Exit.Code == nil || *report.Exit.Code != 0
	}
	return false
}

// lastMoment is when a test must have failed for the agent to be ended and the failure
// told before go test's own -timeout ends everything: zero for no limit.
func lastMoment(t testing.TB) time.Time {
	d, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return time.Time{}
	}
	deadline, ok := d.Deadline()
	if !ok {
		return time.Time{}
	}
	const most = 15 * time.Second // what an agent that heeds nothing takes to be ended
	return deadline.Add(-min(most, time.Until(deadline)/10))
}

// startContext bounds the start, which has a timeout of its own.
func (c *core) startContext() (context.Context, context.CancelFunc) {
	if c.last.IsZero() {
		return context.WithCancel(context.Background())
	}
	return context.WithDeadline(context.Background(), c.last)
}

// patience is how long may be waited now, and why no longer.
func (c *core) patience() (time.Duration, string) {
	if left := time.Until(c.last); !c.last.IsZero() && left < c.timeout {
		return max(left, 0), "before the deadline of the test (go test -timeout)"
	}
	return c.timeout, "within " + c.timeout.String()
}
