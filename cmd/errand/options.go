package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	agent, dir, permission, sweep      string
	env, envFiles                      []string
	timeout, startTimeout, idleTimeout string
	cancelGrace, eofGrace, termGrace   string
	json, events, quiet                bool
	// What was given at all: --agent, --permission, and a "--" with what follows.
	agentSet, permissionSet, command bool
}

func (f *runFlags) register(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVar(&f.agent, "agent", "", "the `NAME` of a preset (see 'errand agents'), or demo, the built-in agent")
	set.StringVar(&f.dir, "dir", ".", "the `DIR` that the agent works in")
	set.StringVar(&f.permission, "permission", "reject", "how to answer permission requests, a `POLICY`: reject or allow;\nask, on the terminal, is not available yet")
	set.StringArrayVar(&f.env, "env", nil, "`KEY=VALUE` sets a variable for the agent, KEY alone lets one of yours through;\nrepeatable. Others can read a command line: let secrets through, do not write them out")
	set.StringArrayVar(&f.envFiles, "env-file", nil, "set the variables in a `FILE` of KEY=VALUE lines; repeatable")
	set.StringVar(&f.timeout, "timeout", "0", "end the run after this `DURATION`, such as 90s or 10m; 0: never")
	set.StringVar(&f.startTimeout, "start-timeout", "60s", "give up when the agent is not ready after this `DURATION`; 0: never.\nThe time that it is then given to stop (--eof-grace, --term-grace) comes on top")
	set.StringVar(&f.idleTimeout, "idle-timeout", "0", "end the run when nothing came from the agent for this `DURATION`; 0: never")
	set.StringVar(&f.cancelGrace, "cancel-grace", "", "give a cancelled agent this `DURATION` to answer"+graceDefault(client.DefaultGraces.Cancel))
	set.StringVar(&f.eofGrace, "eof-grace", "", "give the agent this `DURATION` to exit once its stdin is closed"+graceDefault(client.DefaultGraces.EOF))
	set.StringVar(&f.termGrace, "term-grace", "", "give it this `DURATION` after SIGTERM, before SIGKILL"+graceDefault(client.DefaultGraces.Term))
	set.StringVar(&f.sweep, "sweep", "", "what ends with the agent, a `MODE`: run, everything it started, or group, its process group\n(default what fits the agent, else run)")
	set.BoolVar(&f.json, "json", false, "print one JSON object, the result, on stdout and nothing else")
	set.BoolVar(&f.events, "events", false, "print every event on stdout as it comes, a JSON object a line")
	set.BoolVar(&f.quiet, "quiet", false, "print the final answer only")
}

func graceDefault(d time.Duration) string {
	return fmt.Sprintf("\n(default what fits the agent, else %v)", d)
}

// task is a run that is ready to start.
type task struct {
	agent    choice
	provider subagent.Provider
	dir      string
	// The clocks of the run and of its start; 0 = none.
	timeout, startTimeout time.Duration
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
	o := &subagent.ACPOptions{Graces: choice.graces, Sweep: choice.sweep, Hints: choice.hints, Kill: kill}
	t := &task{}
	if t.timeout, err = f.durations(o); err != nil {
		return nil, err
	}
	t.startTimeout = max(0, o.StartTimeout)
	if err := f.policies(o); err != nil {
		return nil, err
	}
	if t.dir, err = f.directory(); err != nil {
		return nil, err
	}
	env, err := explicitEnv(ctx, f.envFiles, f.env, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	choice.command.Env = append(choice.command.Env, env...)
	if module := nodeModules[choice.name]; choice.install != "" && module != "" {
		_, err := findModule(module, t.dir, append(os.Environ(), choice.command.Env...))
		choice.absent = err != nil
	}
	t.agent = choice
	t.agent.name = t.redact()(choice.name) // the name of a command may hold a secret
	t.provider, err = subagent.NewACP(t.agent.name, choice.command, o)
	return t, err
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

// policies fills in what the agent may do and what goes with it.
func (f *runFlags) policies(o *subagent.ACPOptions) error {
	switch f.permission {
	case "reject":
		o.Permission = permission.Reject()
	case "allow":
		o.Permission = permission.Allow()
	case "ask":
		return errors.New("--permission ask is not available yet; there is reject and allow")
	default:
		return fmt.Errorf("--permission %q: there is reject and allow", f.permission)
	}
	switch m := client.SweepMode(f.sweep); m {
	case "":
	case client.SweepRun, client.SweepGroup:
		o.Sweep = m
	default:
		return fmt.Errorf("--sweep %q: there is %s and %s", f.sweep, client.SweepRun, client.SweepGroup)
	}
	return nil
}

func (f *runFlags) directory() (string, error) {
	if f.dir == "" {
		return "", errors.New("--dir is empty")
	}
	dir, err := client.AbsDir(f.dir)
	if err != nil {
		return "", fmt.Errorf("--dir: %s", reason(err))
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
