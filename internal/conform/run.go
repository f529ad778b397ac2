package conform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/proc"
	"github.com/errand-acp/errand/internal/redact"
)

// Run tries the agent and reports what came of each rule. An error means that it could
// not be tried at all: a mistake in cmd or o, or a program that cannot be started (a
// *UsageError), no scratch directory (a *ScratchError), ctx done before anything was tried;
// or, beside a report, that ctx was done before all was: the report has what was tried by
// then. Whatever an agent does once it has been started is in the report. Everything that
// was started is gone when Run returns, and every scratch directory is removed.
func Run(ctx context.Context, cmd Command, o *Options) (*Report, error) {
	opts, err := o.complete()
	if err != nil {
		return nil, err
	}
	if err := (envscrub.Policy{Set: cmd.Env}).Validate(); err != nil {
		return nil, usage("the environment: %w", err)
	}
	if err := cmd.Inherit.Validate(); err != nil {
		return nil, usage("what is inherited: %w", err)
	}
	scratch, err := os.MkdirTemp("", "errand-check-")
	if err != nil {
		return nil, &ScratchError{err}
	}
	defer os.RemoveAll(scratch)
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return nil, &ScratchError{err}
	}
	t := newTrial(ctx, cmd, opts, scratch)
	if err := t.check(); err != nil {
		return nil, &UsageError{err}
	}
	return t.run()
}

// trial is one run of the suite.
type trial struct {
	ctx      context.Context
	cmd      Command
	opts     *Options
	rules    []Rule
	scratch  string
	environ  []string
	withheld []string
	redactor *redact.Redactor
	// noSession says why no scene will have a session; set after the first one.
	noSession string

	progress sync.Mutex // held while Options.Progress is called
}

func newTrial(ctx context.Context, cmd Command, opts *Options, scratch string) *trial {
	policy := cmd.Inherit
	policy.Set = slices.Concat(policy.Set, cmd.Env)
	environ, report := envscrub.Scrub(os.Environ(), policy)
	return &trial{
		ctx: ctx, cmd: cmd, opts: opts, rules: opts.rules(), scratch: scratch,
		environ: environ, withheld: report.Withheld(), redactor: redact.New(envscrub.Secrets(os.Environ(), policy)),
	}
}

// check finds out whether the program is there, before any scene is played.
func (t *trial) check() error {
	if t.cmd.Path == "" {
		return errors.New("there is no command")
	}
	if t.cmd.Dir != "" {
		if _, err := proc.CheckDir(t.cmd.Dir); err != nil {
			return err
		}
	}
	_, err := proc.LookPath(t.cmd.Path, t.environ)
	return err
}

// run plays the scenes that the rules need, and judges.
func (t *trial) run() (*Report, error) {
	begun := time.Now()
	var wanted []scene
	for _, s := range scenes {
		if slices.ContainsFunc(t.rules, func(r Rule) bool { return r.in(s.name) }) {
			wanted = append(wanted, s)
		}
	}
	all := make([]*played, len(wanted))
	first := t.play(wanted[0]) // each rule has a scene, and there is a rule
	all[0] = t.judged(first)
	if first.mute() {
		for i, s := range wanted[1:] {
			all[i+1] = t.judged(&recording{scene: s.name, barred: true, stopped: orText(first.stopped, "the agent answered nothing")})
		}
	} else {
		t.noSession = first.noSession()
		var playing sync.WaitGroup
		free := make(chan struct{}, t.opts.Parallel)
		for i, s := range wanted[1:] {
			free <- struct{}{}
			playing.Go(func() {
				all[i+1] = t.judged(t.play(s))
				<-free
			})
		}
		playing.Wait()
	}
	if first.stopped == interrupted {
		return nil, context.Cause(t.ctx)
	}
	return t.report(begun, all), context.Cause(t.ctx)
}

// mute reports whether the agent has answered nothing at all: there is no point in asking
// it again.
func (r *recording) mute() bool {
	for _, m := range r.agent() {
		if m.isResponse() {
			return false
		}
	}
	return true
}

// noSession says why there is no session to be had from the agent; empty where there is, or
// where that was not tried.
func (r *recording) noSession() string {
	if c := r.call("new"); c != nil && !(c.answered && c.answer.Error == nil) {
		return r.stopped
	}
	return ""
}

// interrupted is why a scene that was not played to its end is stopped. Nothing of it counts:
// what the agent has not done it might have done yet.
const interrupted = "it was interrupted"

// play plays a scene with actors of its own and returns what happened.
func (t *trial) play(s scene) *recording {
	if t.ctx.Err() != nil {
		return &recording{scene: s.name, barred: true, stopped: interrupted}
	}
	if t.opts.Progress != nil {
		t.progress.Lock()
		t.opts.Progress(s.name)
		t.progress.Unlock()
	}
	ctx, over := context.WithCancel(t.ctx)
	defer over()
	a := &actor{
		ctx: ctx, run: t.ctx, over: over, opts: t.opts, noSession: t.noSession, dir: filepath.Join(t.scratch, s.name, "dir"),
		changed: make(chan struct{}), r: recording{scene: s.name, withheld: t.withheld},
		answers: map[string]answerer{"session/request_permission": refusePermission},
		cmd: launch{
			spec:   proc.Spec{Path: t.cmd.Path, Args: t.cmd.Args, Dir: t.cmd.Dir, Env: t.environ, Filter: t.redactor.Writer},
			redact: t.redactor.Bytes,
		},
	}
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		a.bar("the scratch directory: %v", err)
		return &a.r
	}
	if t.opts.FreshHome {
		home := filepath.Join(t.scratch, s.name, "home")
		if err := os.MkdirAll(home, 0o700); err != nil {
			a.bar("the scratch directory: %v", err)
			return &a.r
		}
		a.cmd.spec.Env = slices.Concat(t.environ, []string{"HOME=" + home, "USERPROFILE=" + home,
			"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"),
			"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "XDG_STATE_HOME=" + filepath.Join(home, ".local", "state")})
	}
	bound := sceneBound * (t.opts.Timeout + t.opts.ExitTimeout)
	cut := make(chan struct{})
	timer := time.AfterFunc(bound, func() {
		defer close(cut)
		a.lock(func() { a.cutLocked(fmt.Sprintf("the scene was not over within %v", bound)) })
	})
	s.play(a)
	if !timer.Stop() {
		<-cut // it may have begun, and writes to the recording
	}
	a.end()
	if t.ctx.Err() != nil {
		return &recording{scene: s.name, barred: true, stopped: interrupted}
	}
	if a.r.overAt > 0 {
		a.r.stopped += ": " + a.r.gone(a.r.overAt)
	}
	return &a.r
}

// sceneBound is how many waits a scene may take in all. None has that many that are long,
// but an agent can make more of each. A variable for tests.
var sceneBound time.Duration = 6

// played is what is kept of a scene; of the recording, which may be large, nothing is.
type played struct {
	report SceneReport
	shut   string // see recording.shut
	// endedAfter is what was the end of an agent that ended by itself.
	endedAfter string
	// findings are what it shows of each rule of the trial; nil: the rule is not for it.
	findings []*Finding
	agent    Report // what learn has learnt
}

// judged judges a recording.
func (t *trial) judged(r *recording) *played {
	p := &played{shut: r.shut(), report: SceneReport{
		Name: r.scene, Ms: r.length().Milliseconds(), Stopped: r.stopped, Entries: append([]transcript.Entry{}, r.lastTail()...),
	}}
	l, died := r.death()
	if p.report.died = died; died && l.last >= 0 {
		p.endedAfter = named(r.message(l.last))
	}
	p.agent.learn(r)
	for _, rule := range t.rules {
		var f *Finding
		if rule.in(r.scene) {
			f = judge(rule, r)
		}
		p.findings = append(p.findings, f)
	}
	return p
}

// tellOnce leaves it to the other rules to tell of an agent's end by itself, where one does,
// also if that was in another scene.
func tellOnce(rules []Rule, all []*played) {
	at := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == exitUnasked })
	if at < 0 {
		return
	}
	tells := map[string]string{} // the rules, by what they show to have been the end of it
	for _, p := range all {
		for _, f := range p.findings {
			if f != nil && f.broken() {
				for _, line := range f.ends {
					tells[line] = f.Rule.ID
				}
			}
		}
	}
	for _, p := range all {
		if f := p.findings[at]; f.broken() && tells[p.endedAfter] != "" {
			f.Verdict, f.Why, f.weight = NotApplicable, "it did not, of which "+tells[p.endedAfter]+" tells", elsewhere
		}
	}
}

// report puts together what the scenes have shown.
func (t *trial) report(begun time.Time, all []*played) *Report {
	report := &Report{
		SchemaVersion: 1, StartedAt: begun, Command: t.command(), WithheldEnv: append([]string{}, t.withheld...),
		Findings: []Finding{}, Scenes: []SceneReport{},
	}
	tellOnce(t.rules, all)
	for _, p := range all {
		report.Scenes = append(report.Scenes, p.report)
		if report.ProtocolVersion == nil && report.Agent == nil {
			report.ProtocolVersion, report.Agent, report.Capabilities = p.agent.ProtocolVersion, p.agent.Agent, p.agent.Capabilities
		}
	}
	for i, rule := range t.rules {
		f := &Finding{Rule: rule, Verdict: NotApplicable, Why: "no scene for it was played", Entries: []transcript.Entry{}, weight: -1}
		for _, p := range all { // the worst counts, and of equals the first
			if one := p.findings[i]; one != nil && one.weight > f.weight {
				f = one
			}
		}
		report.Findings = append(report.Findings, *f)
	}
	for _, f := range report.Findings {
		report.Counts.add(f.Verdict)
	}
	report.Tried = len(report.Findings) - report.Counts.NotApplicable
	report.Incomplete = incomplete(report, all)
	report.Ms = time.Since(begun).Milliseconds()
	return report
}

// command is what was started, without secrets.
func (t *trial) command() []string {
	list := []string{t.redactor.String(t.cmd.Path)}
	for _, arg := range t.cmd.Args {
		list = append(list, t.redactor.String(arg))
	}
	return list
}

func (r *recording) length() time.Duration {
	if len(r.entries) == 0 {
		return 0
	}
	return r.entries[len(r.entries)-1].At
}

// judge lets a rule judge a recording that it is for.
func judge(rule Rule, r *recording) *Finding {
	r.missed = false
	o := rule.judge(r)
	if o.verdict == Fail && r.missed {
		o = untried(r.stopped)
	}
	f := &Finding{Rule: rule, Verdict: o.verdict, Why: o.why, Scene: r.scene, Entries: shown(o.entries), weight: o.weight()}
	if l, died := r.death(); died && o.verdict != Pass {
		f.ends = r.ends(l, o.entries)
		f.Entries = append(slices.DeleteFunc(f.Entries, r.isEnd(l)), r.tail(l)...) // mostly that is the reason
	}
	if f.Verdict == Fail && rule.Level != Must {
		f.Verdict = Warn
	}
	return f
}
