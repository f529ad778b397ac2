package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// runFlags are the flags of `errand run` as they were given. They are text as far as
// their check can wait: with --json every exit after the parsing of flags is to print
// a result, that for a bad duration too.
type runFlags struct {
	agent, dir, wrap, sweep            string
	permission, permissionCommand      string
	policy, fs, audit, transcript      string
	terminal, failOnDenied             bool
	auditContent                       bool
	env, envFiles, label, pathMap      []string
	timeout, startTimeout, idleTimeout string
	cancelGrace, eofGrace, termGrace   string
	maxDepth                           string
	json, events, quiet                bool
	// What was given at all: these flags, and a "--" with what follows.
	agentSet, permissionSet, policySet, commandSet bool
	wrapSet, auditSet, transcriptSet, command      bool
}

func (f *runFlags) register(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVar(&f.agent, "agent", "", "the `NAME` of a preset (see 'errand agents'), or demo, the built-in agent")
	f.registerRun(set)
	set.StringVar(&f.transcript, "transcript", "", "write the conversation with the agent to a `FILE` as it happens, a JSON object a line: every\nframe, prompts, answers and files too (see docs/transcripts.md). What is in it is replaced")
	set.BoolVar(&f.json, "json", false, "print one JSON object, the result, on stdout and nothing else")
	set.BoolVar(&f.events, "events", false, "print every event on stdout as it comes, a JSON object a line")
	set.BoolVar(&f.quiet, "quiet", false, "print the final answer only")
}

// registerRun registers what is the same for a run among others.
func (f *runFlags) registerRun(set *pflag.FlagSet) {
	set.StringVar(&f.dir, "dir", ".", "the `DIR` that the agent works in")
	set.StringVar(&f.permission, "permission", "reject", "how to answer permission requests, a `POLICY`: reject, allow, or ask,\non the terminal")
	set.StringVar(&f.policy, "policy", "", "answer them by the rules in a JSON `FILE` (see 'errand schema policy'); what the rules\nask is put to --permission ask or --permission-command, and rejected without them")
	set.StringVar(&f.permissionCommand, "permission-command", "", "let a program decide, a `CMD`: each request is its stdin, as JSON, and exit status 0\nwith an empty stdout allows it once (see 'errand schema permission'); with --policy both\nhave to allow")
	set.BoolVar(&f.failOnDenied, "fail-on-denied", false, "exit with status 1 where a permission was denied, though the run completed")
	set.StringVar(&f.fs, "fs", "none", "the files in DIR that the agent may reach through errand, an `ACCESS`: none, read or write,\nwhich is both. Each write is a permission request too, and each read for --policy and\n--permission-command; for others that of a sensitive file")
	set.BoolVar(&f.terminal, "terminal", false, "let the agent run commands through errand; each is a permission request too")
	set.StringVar(&f.wrap, "wrap", "", "a `CMD` to put in front of the agent's command, such as a container's;\n{dir} in it is the run's directory")
	set.StringArrayVar(&f.pathMap, "map", nil, "`OURS=THEIRS`: a directory here and what it is where the agent lives; repeatable")
	set.StringArrayVar(&f.label, "label", nil, "`KEY=VALUE` for the result, the events and the audit, such as a tenant or a trace; repeatable")
	set.StringVar(&f.audit, "audit", "", "append what is asked, answered and done to a `FILE` as it happens, a JSON object a line,\nwith titles, paths and whole command lines (see 'errand schema audit')")
	set.BoolVar(&f.auditContent, "audit-content", false, "put the input of tool calls and the text of diffs into the audit, too")
	set.StringArrayVar(&f.env, "env", nil, "`KEY=VALUE` sets a variable for the agent, KEY alone lets one of yours through;\nrepeatable. Others can read a command line: let secrets through, do not write them out")
	set.StringArrayVar(&f.envFiles, "env-file", nil, "set the variables in a `FILE` of KEY=VALUE lines; repeatable")
	set.StringVar(&f.timeout, "timeout", "0", "end the run after this `DURATION`, such as 90s or 10m; 0: never")
	set.StringVar(&f.startTimeout, "start-timeout", "60s", "give up when the agent is not ready after this `DURATION`; 0: never.\nThe time that it is then given to stop (--eof-grace, --term-grace) comes on top")
	set.StringVar(&f.idleTimeout, "idle-timeout", "0", "end the run when nothing came from the agent for this `DURATION`; 0: never")
	set.StringVar(&f.cancelGrace, "cancel-grace", "", "give a cancelled agent this `DURATION` to answer"+graceDefault(client.DefaultGraces.Cancel))
	set.StringVar(&f.eofGrace, "eof-grace", "", "give the agent this `DURATION` to exit once its stdin is closed"+graceDefault(client.DefaultGraces.EOF))
	set.StringVar(&f.termGrace, "term-grace", "", "give it this `DURATION` after SIGTERM, before SIGKILL"+graceDefault(client.DefaultGraces.Term))
	set.StringVar(&f.maxDepth, "max-depth", "", "how many levels of delegation the agent may start below itself, `N`; 0: none (default what is\nleft of $ERRAND_MAX_DEPTH, else of 8 in all)")
	set.StringVar(&f.sweep, "sweep", "", "what ends with the agent, a `MODE`: run, everything it started, or group, its process group\n(default what fits the agent, else run)")
}

// note takes down which of the flags were given at all.
func (f *runFlags) note(set *pflag.FlagSet) {
	for flag, given := range map[string]*bool{
		"agent": &f.agentSet, "permission": &f.permissionSet, "policy": &f.policySet,
		"permission-command": &f.commandSet, "wrap": &f.wrapSet, "audit": &f.auditSet, "transcript": &f.transcriptSet,
	} {
		*given = set.Changed(flag)
	}
}

func graceDefault(d time.Duration) string {
	return fmt.Sprintf("\n(default what fits the agent, else %v)", d)
}

// settings are what the flags say of every run, whichever its agent is.
type settings struct {
	opts subagent.ACPOptions // but for what is the agent's own
	// The clocks of the run and of its start; 0 = none.
	timeout, startTimeout time.Duration
	labels                map[string]string
	env                   []string    // for the agent
	maxDepth              *int        // nil: what is left of the limit
	audit                 *recordFile // nil without one
	doings                *doings     // nil where nobody is shown them
	authority
	notes []string // warnings that a result is to carry beside its own
}

// task is a run that is ready to start.
type task struct {
	*settings
	agent    choice
	provider subagent.Provider
	dir      string
	// transcript is the file that the run is recorded in, nil without one.
	transcript *recordFile
}

// configError is a mistake of the user's: the result's error of kind config.
func configError(err error) *subagent.Error {
	if e, ok := errors.AsType[*subagent.Error](err); ok {
		return e
	}
	return &subagent.Error{Kind: client.KindConfig, Step: client.StepConfig, Message: err.Error(), Err: err}
}

// prepare checks everything that can be checked before anything is started, but the
// prompt. command is what stands after "--"; the end of ctx ends a file that does not
// come, that of kill the agent.
func (f *runFlags) prepare(ctx, kill context.Context, command []string, con *console) (*task, error) {
	if f.json && f.events {
		return nil, errors.New("--json and --events exclude each other")
	}
	choice, err := f.chooseAgent(command, os.Getenv("ERRAND_AGENT"), con.outTTY)
	if err != nil {
		return nil, err
	}
	s, err := f.settings(ctx, kill, con)
	if err != nil {
		return nil, err
	}
	dir, err := f.directory()
	if err != nil {
		return nil, err
	}
	t, err := f.task(s, choice, dir)
	if err != nil {
		return nil, err
	}
	if s.command != nil {
		s.command.redacts(t.redactor())
	}
	if err := f.openAudit(s, con); err != nil {
		return nil, err
	}
	if t.transcript, err = f.openTranscript(t, con); err != nil {
		return nil, err
	}
	f.watch(s, dir)
	return t, t.provide(t.agent.name, sparing(s.policy(nil), f.policy, f.audit, f.transcript))
}

// settings checks what the flags say of every run.
func (f *runFlags) settings(ctx, kill context.Context, con *console) (s *settings, err error) {
	s = &settings{opts: subagent.ACPOptions{Kill: kill}}
	if s.timeout, err = f.durations(&s.opts); err != nil {
		return nil, err
	}
	s.startTimeout = max(0, s.opts.StartTimeout)
	if s.labels, err = f.labels(); err != nil {
		return nil, err
	}
	if s.maxDepth, err = f.depth(); err != nil {
		return nil, err
	}
	if err := f.permit(ctx, s, con); err != nil {
		return nil, err
	}
	s.env, err = explicitEnv(ctx, f.envFiles, f.env, os.LookupEnv)
	return s, err
}

// openAudit opens the file of --audit, when there is nothing else to be refused.
func (f *runFlags) openAudit(s *settings, con *console) (err error) {
	if !f.auditSet {
		if f.auditContent {
			return errors.New("--audit-content needs --audit")
		}
		return nil
	}
	if s.audit, err = openAudit(f.audit, con.out); err == nil {
		s.opts.Audit = &subagent.Audit{W: s.audit, Content: f.auditContent}
	}
	return err
}

// watch has what we do for an agent in dir shown, beside the audit.
func (f *runFlags) watch(s *settings, dir string) {
	if hosts := f.fs != "none" || f.terminal; !hosts || f.quiet || f.events {
		return
	}
	s.doings = &doings{dir: dir}
	if s.audit != nil {
		s.doings.to = s.audit
	}
	s.opts.Audit = &subagent.Audit{W: s.doings, Content: f.auditContent}
}

// task returns a task for an agent in a directory, which still has no provider.
func (f *runFlags) task(s *settings, c choice, dir string) (*task, error) {
	t := &task{settings: s, agent: c, dir: dir}
	t.agent.notes = slices.Concat(c.notes, s.notes)
	t.agent.command.Env = slices.Concat(c.command.Env, s.env)
	if err := f.place(t); err != nil {
		return nil, err
	}
	t.agent.name = t.redact()(t.agent.name) // the name of a command may hold a secret
	return t, nil
}

// provide makes the task's provider, with a policy for what it may do.
func (t *task) provide(name string, policy permission.Policy) (err error) {
	o := t.opts
	o.Hints, o.Permission = t.agent.hints, policy
	o.Sweep = cmp.Or(o.Sweep, t.agent.sweep)
	o.Graces = client.Graces{
		Cancel: cmp.Or(o.Graces.Cancel, t.agent.graces.Cancel),
		Close:  cmp.Or(o.Graces.Close, t.agent.graces.Close),
		EOF:    cmp.Or(o.Graces.EOF, t.agent.graces.EOF),
		Term:   cmp.Or(o.Graces.Term, t.agent.graces.Term),
		Kill:   cmp.Or(o.Graces.Kill, t.agent.graces.Kill),
	}
	t.provider, err = subagent.NewACP(name, t.agent.command, &o)
	return err
}

// place says where the agent's program lives: here, or behind a wrap and in a world of
// other paths.
func (f *runFlags) place(t *task) (err error) {
	c := &t.agent
	if c.command.Paths, err = f.paths(); err != nil {
		return err
	}
	if f.wrapSet {
		// What is known of the agent's installation is known of this side only.
		c.install, c.wrapped = "", true
		c.command, err = wrapped(f.wrap, t.dir, c.command)
		return err
	}
	if module := nodeModules[c.name]; c.install != "" && module != "" {
		_, err := findModule(module, t.dir, append(os.Environ(), c.command.Env...))
		c.absent = err != nil
	}
	return nil
}

// durations fills in the clocks and graces that were given and returns the timeout.
func (f *runFlags) durations(o *subagent.ACPOptions) (timeout time.Duration, err error) {
	for _, d := range []struct {
		flag, text string
		to         *time.Duration
		zero       bool // 0 is allowed and switches it off
	}{
		{"--timeout", f.timeout, &timeout, true},
		{"--start-timeout", f.startTimeout, &o.StartTimeout, true},
		{"--idle-timeout", f.idleTimeout, &o.IdleTimeout, true},
		{"--cancel-grace", f.cancelGrace, &o.Graces.Cancel, false},
		{"--eof-grace", f.eofGrace, &o.Graces.EOF, false},
		{"--term-grace", f.termGrace, &o.Graces.Term, false},
	} {
		if d.text == "" && !d.zero {
			continue // not given: the agent's own, or the default
		}
		if *d.to, err = parseDuration(d.flag, d.text, d.zero); err != nil {
			return 0, err
		}
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = client.NoTimeout
	}
	return timeout, nil
}

// parseDuration reads the value of a flag. client.CheckDuration has the bounds.
func parseDuration(flag, text string, zero bool) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q: want a duration with its unit, such as 500ms, 6s or 2m", flag, text)
	}
	if d == 0 && !zero {
		return 0, fmt.Errorf("%s %s: must be more than 0", flag, text)
	}
	if err := client.CheckDuration(flag, d); err != nil {
		if zero {
			return 0, fmt.Errorf("%s, or 0 for never", reason(err))
		}
		return 0, errors.New(reason(err))
	}
	return d, nil
}

// reason is what err says, without the step that it puts first.
func reason(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// depth reads --max-depth; nil where it was not given.
func (f *runFlags) depth() (*int, error) {
	if f.maxDepth == "" {
		return nil, nil
	}
	n, err := strconv.ParseUint(f.maxDepth, 10, 30)
	if err != nil {
		return nil, fmt.Errorf("--max-depth %q: want a whole number from 0 on", f.maxDepth)
	}
	levels := int(n)
	return &levels, nil
}

func (f *runFlags) directory() (string, error) {
	if f.dir == "" {
		return "", errors.New("--dir is empty")
	}
	dir, err := client.AbsDir(f.dir)
	if err != nil {
		return "", notUsage{fmt.Errorf("--dir: %s", reason(err))}
	}
	return dir, nil
}

// commandName is what a provider made of a bare command is called.
func commandName(path string) string {
	if name := filepath.Base(path); name != "." && name != string(filepath.Separator) {
		return name
	}
	return "agent"
}
