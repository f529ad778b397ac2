package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/errand-acp/errand/internal/conform"
	"github.com/errand-acp/errand/internal/visible"
)

func newCheck(con *console) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:                   "check [flags] [-- COMMAND [ARG...]]",
		DisableFlagsInUseLine: true,
		Short:                 "Try an agent against the protocol, and say which rules it breaks",
		Long: `Check starts an agent several times, holds conversations with it that a well-made agent
answers in one way only, and says for each rule of the protocol whether the agent keeps
it, with the rule's own words and the frames that show it:

  pass  it was tried, and kept
  FAIL  a MUST of the specification was broken
  warn  a SHOULD was broken, or something that clients rely on though no text demands it
  n/a   it could not be tried, and why: an agent that does nothing passes nothing

The agent is --agent, or the COMMAND after "--", or $ERRAND_AGENT. It runs in --dir with
your environment without what looks like a credential; its sessions are in directories
of their own, which are removed. Permissions are given, denied and withheld there, and what
it asks to have run or written is refused or kept in such a directory. Nothing of it is
alive afterwards.

An agent with a model behind it is asked a dozen short questions. What makes it call a
tool, or speak for a while, is a matter of the agent: --prompt says it in other words, of
the kinds ` + promptKinds() + `.
An agent that wants a login first has to be logged in, or given its key (--env); --auth
METHOD has authenticate called, which may open a browser.

docs/conformance.md lists the rules, by the ids of --only and --skip.

What was not tried has not been passed: where no rule could be tried, or an agent that does
not answer, or gives no session, left some untried, the check is incomplete. It says so in
its last line, and fails.

Exit status: 0 no rule of the level --fail-on, or of a more binding one, was broken, 1 one
was, or the check is incomplete (with --fail-on never neither counts), or there is no
scratch directory to be had, 2 a mistake in usage, or a program that cannot be started, 130 interrupted by Ctrl-C,
143 by SIGTERM, 129 by SIGHUP, 131 by SIGQUIT, 141 nobody reads stdout any more. What an agent
that starts does wrong, and be it that it dies at once, is a finding and no status 2.`,
		Example: `  errand check -- ./my-agent --acp
  errand check --agent opencode --env OPENROUTER_API_KEY --timeout 3m
  errand check --fail-on should --junit check.xml -- node agent.js
  errand check --only 'initialize-*' --json -- ./my-agent | jq .findings
  errand check --prompt tool='Edit main.go: add a comment' -- ./my-agent`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 && len(args) > 0 || dash > 0 {
				return fmt.Errorf("the agent's command stands after --: errand check -- %s", visible.Line(strings.Join(args, " ")))
			}
			f.command = dash == 0
			f.agentSet = cmd.Flags().Changed("agent")
			if status := f.check(args, con); status != statusOK {
				return exitError(status)
			}
			return nil
		},
	}
	f.register(cmd.Flags())
	cmd.SetFlagErrorFunc(explainFlag)
	return cmd
}

func promptKinds() string {
	var kinds []string
	for _, k := range conform.PromptKinds() {
		kinds = append(kinds, string(k))
	}
	return strings.Join(kinds, ", ")
}

// checkFlags are the flags of `errand check` as they were given; of those of a run it has
// what says which agent is meant.
type checkFlags struct {
	runFlags
	failOn, junit, auth, exitTimeout string
	only, skip, replacing            []string
	parallel                         int
	freshHome                        bool
}

func (f *checkFlags) register(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVar(&f.agent, "agent", "", "the `NAME` of a preset (see 'errand agents'), or demo, the built-in agent")
	set.StringVar(&f.dir, "dir", ".", "the `DIR` that the agent is started in; its sessions are elsewhere")
	set.StringArrayVar(&f.only, "only", nil, "try these rules only, an `ID` or a pattern such as 'cancel-*'; repeatable")
	set.StringArrayVar(&f.skip, "skip", nil, "leave these rules out, an `ID` or a pattern; repeatable")
	set.StringVar(&f.failOn, "fail-on", string(conform.Must), "exit with status 1 where a rule of this `LEVEL` or a more binding one was broken: must,\nshould, manners, or never, which is 0 for an incomplete check too")
	set.StringArrayVar(&f.replacing, "prompt", nil, "`KIND=TEXT`: what makes this agent do what the check needs; repeatable")
	set.StringVar(&f.auth, "auth", "", "have authenticate called with this `METHOD`, the id of one that the agent advertises")
	set.StringArrayVar(&f.env, "env", nil, "`KEY=VALUE` sets a variable for the agent, KEY alone lets one of yours through;\nrepeatable. Others can read a command line: let secrets through, do not write them out")
	set.StringArrayVar(&f.envFiles, "env-file", nil, "set the variables in a `FILE` of KEY=VALUE lines; repeatable")
	set.BoolVar(&f.freshHome, "fresh-home", false, "give the agent an empty home directory: no login, no settings")
	set.StringVar(&f.timeout, "timeout", "60s", "wait for an answer, a whole turn included, as long as this `DURATION`")
	set.StringVar(&f.exitTimeout, "exit-timeout", "10s", "give the agent this `DURATION` to exit, and to end a turn that was cancelled")
	set.IntVar(&f.parallel, "parallel", 2, "how many agents there may be at once, `N`; 1 for one that shares a port with itself")
	set.StringVar(&f.junit, "junit", "", "write the report to a `FILE` as JUnit XML, too")
	set.BoolVar(&f.json, "json", false, "print one JSON object, the report, on stdout and nothing else (see 'errand schema check')")
}

// check carries out the command and returns the exit status.
func (f *checkFlags) check(command []string, con *console) int {
	ctx, _, out := begin(con)
	report, err := f.try(ctx, command, con, out)
	switch stopped := stopStatus(ctx); {
	case stopped != 0:
		out.diag(fmt.Sprintf("errand: interrupted: %s\n", context.Cause(ctx)))
		return out.end(nil, stopped, stopped)
	case err != nil:
		out.diag(fmt.Sprintf("errand: %s\n%s", visible.Line(err.Error()), hint("errand check", err)))
		if _, scratch := errors.AsType[*conform.ScratchError](err); scratch {
			return out.end(nil, statusFailed, 0)
		}
		return out.end(nil, statusUsage, 0)
	}
	status := statusOK
	if report.Failed(conform.Level(f.failOn)) {
		status = statusFailed
	}
	if f.junit != "" {
		if err := f.writeJUnit(report, con.out); err != nil {
			out.diag(fmt.Sprintf("errand: %s\n", visible.Line(err.Error())))
			status = statusFailed
		}
	}
	text := report.Table()
	if f.json {
		text = encode(report)
	}
	err = out.deliver(text, func(string) string { return text })
	return out.end(err, status, stopStatus(ctx))
}

// try checks the flags and runs the suite.
func (f *checkFlags) try(ctx context.Context, command []string, con *console, out *output) (*conform.Report, error) {
	agent, err := f.chooseAgent(command, os.Getenv("ERRAND_AGENT"), false)
	if err != nil {
		return nil, err
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	dir, err := f.directory()
	if err != nil {
		return nil, err
	}
	env, err := explicitEnv(ctx, f.envFiles, f.env, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for _, note := range agent.notes {
		out.diag(fmt.Sprintf("errand: %s\n", visible.Line(note)))
	}
	if con.errTTY {
		o.Progress = func(scene string) { out.diag(fmt.Sprintf("errand: %s …\n", scene)) }
	}
	report, err := conform.Run(ctx, conform.Command{
		Path: agent.command.Path, Args: agent.command.Args, Dir: dir,
		Env: append(agent.command.Env, env...), Inherit: agent.command.Inherit,
	}, o)
	if err != nil && agent.install != "" {
		err = fmt.Errorf("%w; to install it: %s", err, agent.install)
	}
	return report, err
}

// options are what the flags say of how the agent is tried.
func (f *checkFlags) options() (*conform.Options, error) {
	o := &conform.Options{
		Only: f.only, Skip: f.skip, AuthMethod: f.auth, FreshHome: f.freshHome,
		Parallel: f.parallel, Prompts: map[conform.PromptKind]string{},
	}
	switch conform.Level(f.failOn) {
	case conform.Must, conform.Should, conform.Manners, conform.Never:
	default:
		return nil, fmt.Errorf("--fail-on %q: there is must, should, manners and never", f.failOn)
	}
	if f.parallel < 1 {
		return nil, fmt.Errorf("--parallel %d: must be at least 1", f.parallel)
	}
	var err error
	if o.Timeout, err = parseDuration("--timeout", f.timeout, false); err != nil {
		return nil, err
	}
	if o.ExitTimeout, err = parseDuration("--exit-timeout", f.exitTimeout, false); err != nil {
		return nil, err
	}
	for _, flag := range f.replacing {
		kind, text, ok := strings.Cut(flag, "=")
		if !ok {
			return nil, fmt.Errorf("--prompt %q: want KIND=TEXT, a KIND of %s", flag, promptKinds())
		}
		o.Prompts[conform.PromptKind(kind)] = text
	}
	if f.junit == "-" {
		return nil, errors.New("--junit -: JUnit XML is written to a file, beside the report on stdout; for a file of that name: ./-")
	}
	if f.junit != "" {
		if info, err := os.Stat(filepath.Dir(f.junit)); err != nil {
			return nil, fmt.Errorf("--junit: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("--junit: %s is no directory", filepath.Dir(f.junit))
		}
		if err := refuseRecord("--junit", f.junit); err != nil {
			return nil, err
		}
	}
	return o, o.Validate()
}

func (f *checkFlags) writeJUnit(report *conform.Report, stdout *os.File) (err error) {
	file, err := openRecord("--junit", "", f.junit, stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.empty(); err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	if err := report.WriteJUnit(file, conform.Level(f.failOn)); err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return nil
}
