package acptest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/conform"
	"github.com/errand-acp/errand/internal/visible"
)

// ConformanceOptions are what [Conformance] may be told. The zero value, or nil, is the
// default.
type ConformanceOptions struct {
	// Timeout is how long an answer is waited for, a whole turn included; 0 means 60 s.
	Timeout time.Duration
	// ExitTimeout is how long the agent may take to exit when it should, and to end a turn
	// that was cancelled; 0 means 10 s.
	ExitTimeout time.Duration
	// Parallel is how many agents run at the same time at the most; 0 means 2. An agent
	// that shares a port or a file with itself takes 1.
	Parallel int
	// Only and Skip choose rules by their ids, or by patterns of ids such as "cancel-*".
	// Without Only all are tried. docs/conformance.md lists them.
	Only, Skip []string
	// Prompts say in the agent's own words what makes it do what a rule needs, by kind; see
	// docs/conformance.md. A kind that is missing has a text that suits agents with a model.
	Prompts map[string]string
	// AuthMethod is the id of a method that the agent advertises, with which authenticate is
	// called. Without it that is not called: it may open a browser.
	AuthMethod string
	// FreshHome gives each agent an empty home directory: no login, no settings.
	FreshHome bool
	// WarningsFail makes a broken SHOULD, and broken good manners, errors; else they are
	// logged.
	WarningsFail bool
	// Known are the rules that the agent is known to break, by id, and for what reason that
	// is accepted. They must still be broken, so that it is noticed when one is not any
	// more; one that cannot be tried is skipped.
	Known map[string]string
}

// Conformance tries an agent against the protocol, as `errand check` does: a subtest for
// each rule, named by its id. A broken MUST is an error that shows the rule's own words, with
// their place in the specification, and the frames that break it. What could not be tried is
// skipped, and says why. Where no rule could be tried, or some could not because the agent
// does not answer, or gives no session, the test itself fails: what was not tried has not
// been passed. So it does at its deadline (go test -timeout, 10 minutes unless that says
// otherwise), with what was tried by then: an agent with a slow model takes -timeout 1h.
//
//	func TestProtocol(t *testing.T) {
//		acptest.Conformance(t, client.Command{Path: "./my-agent"}, &acptest.ConformanceOptions{
//			Known: map[string]string{"cwd-relative": "issue 12"},
//		})
//	}
//
// The agent is started several times, in cmd.Dir or in a scratch directory; its sessions are
// in scratch directories, which are removed. Nothing of it is alive afterwards. cmd.Paths is
// not supported.
//
// See https://agentclientprotocol.com/protocol/overview.
func Conformance(t *testing.T, cmd client.Command, o *ConformanceOptions) {
	t.Helper()
	if o == nil {
		o = &ConformanceOptions{}
	}
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, deadline.Add(-reserve(time.Until(deadline))), errDeadline)
		defer cancel()
	}
	o.conform(ctx, t, cmd)
}

// conform tries an agent until ctx ends, and tells what came of it.
func (o *ConformanceOptions) conform(ctx context.Context, t *testing.T, cmd client.Command) {
	t.Helper()
	report, err := o.try(ctx, cmd)
	if report == nil {
		t.Fatalf("acptest: Conformance: %v", err)
	}
	if err != nil {
		t.Errorf("acptest: Conformance: not all was tried: %v", err)
	}
	if text := incomplete(report); text != "" {
		t.Errorf("acptest: Conformance: %s", text)
	}
	for _, f := range report.Findings {
		t.Run(f.Rule.ID, func(t *testing.T) {
			t.Helper()
			switch told, text := o.tell(f); told {
			case toldError:
				t.Error(text)
			case toldLog:
				t.Log(text)
			case toldSkip:
				t.Skip(text)
			}
		})
	}
}

var errDeadline = errors.New("the test's deadline would have passed; give it more time: go test -timeout 1h")

// reserve is what is kept of the time that is left, to end everything.
func reserve(left time.Duration) time.Duration { return min(10*time.Second, left/10) }

// try checks o and runs the suite.
func (o *ConformanceOptions) try(ctx context.Context, cmd client.Command) (*conform.Report, error) {
	if len(cmd.Paths) > 0 {
		return nil, errors.New("Command.Paths is not supported")
	}
	for id := range o.Known {
		if !slices.ContainsFunc(conform.Rules(), func(r conform.Rule) bool { return r.ID == id }) {
			return nil, fmt.Errorf("there is no rule %q, which is in Known", id)
		}
	}
	opts := &conform.Options{
		Timeout: o.Timeout, ExitTimeout: o.ExitTimeout, Parallel: o.Parallel, Only: o.Only, Skip: o.Skip,
		Prompts: map[conform.PromptKind]string{}, AuthMethod: o.AuthMethod, FreshHome: o.FreshHome,
	}
	for kind, text := range o.Prompts {
		opts.Prompts[conform.PromptKind(kind)] = text
	}
	return conform.Run(ctx, conform.Command{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env, Inherit: cmd.Inherit}, opts)
}

// incomplete says why a report says too little to be a success, with the end of an agent
// that was not there for more: its stderr, and its exit. Empty: it says enough.
func incomplete(r *conform.Report) string {
	if r.Incomplete == "" {
		return ""
	}
	text := visible.Line(r.Incomplete)
	if names := strings.Join(r.WithheldEnv, ", "); !strings.Contains(text, names) {
		text += "\nkept from its environment (see Command.Env): " + visible.Line(names)
	}
	for _, s := range r.Scenes {
		if end := (conform.Finding{Entries: s.Entries}).Conversation(); s.Stopped != "" && end != "" {
			text += "\nits stderr and its end, in the scene " + s.Name + ":\n" + end
			break
		}
	}
	return strings.TrimRight(text, "\n")
}

// told is how a test tells a finding.
type told int

const (
	toldNothing told = iota
	toldLog
	toldSkip
	toldError
)

// tell says how a finding is told, and with which text.
func (o *ConformanceOptions) tell(f conform.Finding) (told, string) {
	reason, known := o.Known[f.Rule.ID]
	broken := f.Verdict == conform.Fail || f.Verdict == conform.Warn
	switch {
	case f.Verdict == conform.NotApplicable:
		return toldSkip, strings.Replace(f.Text(), "n/a "+f.Rule.ID+":", "not applicable:", 1)
	case broken && known:
		return toldSkip, fmt.Sprintf("a known fault (%s):\n%s", reason, f.Text())
	case broken && (o.WarningsFail || f.Verdict == conform.Fail):
		return toldError, f.Text()
	case broken:
		return toldLog, f.Text()
	case known:
		text := fmt.Sprintf("%s is kept, and Known says that it is not (%s): take it out there\n%s", f.Rule.ID, reason, f.Conversation())
		return toldError, strings.TrimRight(text, "\n")
	}
	return toldNothing, ""
}
