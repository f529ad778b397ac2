package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/errand-acp/errand/subagent"
)

func newFan(con *console) *cobra.Command {
	var f fanFlags
	cmd := &cobra.Command{
		Use:                   "fan [flags] [PROMPT|-] [-- COMMAND [ARG...]]",
		DisableFlagsInUseLine: true,
		Short:                 "Give one task to several agents, or several tasks to one",
		Long: `Fan gives the PROMPT to several agents at once, each --agent and the COMMAND after
"--", or with --prompts several prompts to one agent, and prints all their answers. Each
run is one as 'errand run' makes it, with an agent of its own, and the flags that fan
shares with run mean the same for each of them: --timeout bounds each run, not all, from
when it may start. What is asked by --permission ask is asked one after the other.

Of --prompts each line is a prompt, and one that begins with a brace is a JSON object:
  {"prompt": TEXT or a list of ACP content blocks, "dir", "agent", "labels": {},
   "name", "timeout"}
All but the prompt may be left out. A dir is relative to where you are; agent is the name
of a preset, or of one that was given; labels come on top of --label. Whatever is wrong
with a line is said before anything is started.

On a terminal there is a table with a line per run: its agent or name, its state, what it
is doing, for how long, and the tokens used. Otherwise there is a line per event on
stderr. The answers follow on stdout, a heading before each; an agent can write what looks
like one, so read --json or --events where it counts. There index counts from 0, and a
line of --events is one of 'errand run --events' with the run's index and name; the last
one has the totals (see 'errand schema fan-event').

Exit status: 0 if what was asked for was reached, which is that all runs completed, or
one (--first), or N (--quorum N); else 1, whatever was the reason; 2 a mistake in usage or
configuration, and nothing was started; 130 cancelled by Ctrl-C, 143 by SIGTERM, 129 by
SIGHUP, 131 killed by SIGQUIT, 141 cancelled because nobody reads stdout any more. Ctrl-C
cancels all runs and prints what there is; a second one kills.

--journal makes a directory with a file for each run, in which the lines of --events are
as they come, so that after the end of errand itself, by kill -9 too, what had finished is
there. The same command with --resume then runs only what had not completed: what failed
is run again, and the results of the others are taken from the journal. The tasks have to
be the same: agents, prompts, directories, names, and what the agents may do.`,
		Example: `  errand fan --agent demo --agent demo "Hello"         # the built-in agent, twice
  errand fan --agent claude --agent gemini --agent codex "Is main.go safe for concurrent use?"
  errand fan --first --agent claude --agent gemini "Explain this error: …"
  errand fan --agent opencode --prompts tasks.jsonl --jobs 4 --json > results.json
  errand fan --worktree --permission allow --agent codex --agent claude --json "Fix the test" |
    jq -r '.results[0].patch' | git -C "$(git rev-parse --show-toplevel)" apply
  errand fan --agent codex --prompts tasks.jsonl --journal ./journal
  errand fan --agent codex --prompts tasks.jsonl --journal ./journal --resume`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompts, command := args, []string(nil)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				prompts, command = args[:dash], args[dash:]
				f.command = true
			}
			f.note(cmd.Flags())
			if status := f.run(prompts, command, con); status != statusOK {
				return exitError(status)
			}
			return nil
		},
	}
	f.register(cmd.Flags())
	cmd.SetFlagErrorFunc(explainFlag)
	return cmd
}

// fanFlags are the flags of `errand fan` as they were given.
type fanFlags struct {
	runFlags
	agents                        []string
	prompts, journal              string
	jobs, quorum, retries, starts int
	first, worktree, uncommitted  bool
	resume                        bool
	// What was given at all.
	promptsSet, quorumSet, journalSet bool
}

func (f *fanFlags) register(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringArrayVar(&f.agents, "agent", nil, "the `NAME` of a preset (see 'errand agents'), or demo, the built-in agent; repeatable")
	set.StringVar(&f.prompts, "prompts", "", "read the prompts from a `FILE`, or stdin (-), a line each or a JSON object a line")
	set.IntVar(&f.jobs, "jobs", subagent.DefaultFanOutLimit, "how many runs there may be at once, `N`")
	set.IntVar(&f.starts, "starts", 0, "how many agents of one command may be starting at once, `N` (default no limit).\nTwo starts of npx race each other's cache")
	set.BoolVar(&f.first, "first", false, "one run that completes is enough: cancel the others then")
	set.IntVar(&f.quorum, "quorum", 0, "`N` runs that complete are enough: cancel the others then")
	set.IntVar(&f.retries, "retries", 0, "try again up to `N` times where a run has failed before anything of its prompt was sent")
	set.BoolVar(&f.worktree, "worktree", false, "give each run a git work tree of its own, of the repository that DIR is in, at HEAD;\nwhat it changed is in its result, as a patch and a list of files")
	set.BoolVar(&f.uncommitted, "uncommitted", false, "have the --worktree begin with what is not committed, too; the patch is relative to that")
	set.StringVar(&f.journal, "journal", "", "keep what happens in a `DIR` as it happens; it is made, and must not have another use")
	set.BoolVar(&f.resume, "resume", false, "go on with what is in the --journal: run only what has not completed")
	f.registerRun(set)
	set.StringVar(&f.transcript, "transcript", "", "write the conversation of each run to a file in a `DIR` as it happens, 0000-AGENT.ndjson and so\non, as 'errand run --transcript' does; it is made if need be")
	set.BoolVar(&f.json, "json", false, "print one JSON object, all results, on stdout and nothing else (see 'errand schema fan')")
	set.BoolVar(&f.events, "events", false, "print every event on stdout as it comes, a JSON object a line")
	set.BoolVar(&f.quiet, "quiet", false, "print the answers only")
}

// note takes down which of the flags were given at all.
func (f *fanFlags) note(set *pflag.FlagSet) {
	f.runFlags.note(set)
	f.promptsSet, f.quorumSet, f.journalSet = set.Changed("prompts"), set.Changed("quorum"), set.Changed("journal")
}

// check refuses flags that do not go together, or say nothing that can be.
func (f *fanFlags) check() error {
	switch {
	case f.json && f.events:
		return errors.New("--json and --events exclude each other")
	case f.first && f.quorumSet:
		return errors.New("--first and --quorum exclude each other")
	case f.quorumSet && f.quorum < 1:
		return fmt.Errorf("--quorum %d: must be at least 1", f.quorum)
	case f.jobs < 1:
		return fmt.Errorf("--jobs %d: must be at least 1", f.jobs)
	case f.starts < 0:
		return fmt.Errorf("--starts %d: must be at least 1, or 0 for no limit", f.starts)
	case f.retries < 0:
		return fmt.Errorf("--retries %d: must not be negative", f.retries)
	case f.uncommitted && !f.worktree:
		return errors.New("--uncommitted needs --worktree")
	case f.worktree && strings.Contains(f.wrap, "{dir}"):
		return errors.New("--worktree and a --wrap with {dir} exclude each other: where a run's work tree is, is not known before")
	case f.journalSet && f.journal == "":
		return errors.New("--journal is empty")
	case f.resume && !f.journalSet:
		return errors.New("--resume needs the --journal that it is to go on with")
	case f.promptsSet && f.prompts == "":
		return errors.New("--prompts is empty")
	}
	return nil
}

// wanted is how many of so many runs have to complete.
func (f *fanFlags) wanted(tasks int) (int, error) {
	switch {
	case f.first:
		return 1, nil
	case f.quorumSet && f.quorum > tasks:
		return 0, fmt.Errorf("--quorum %d: there are only %d runs", f.quorum, tasks)
	case f.quorumSet:
		return f.quorum, nil
	}
	return tasks, nil
}

// run carries out the command and returns the exit status.
func (f *fanFlags) run(prompts, command []string, con *console) int {
	ctx, signals, out := begin(con)
	x, err := f.prepare(ctx, signals.killed, prompts, command, con)
	x.out, x.con = out, con
	if err != nil {
		return x.refused(ctx, err)
	}
	return x.run(ctx, signals)
}
