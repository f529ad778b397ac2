package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/redact"
	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

func newRun(con *console) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:                   "run [flags] [PROMPT|-] [-- COMMAND [ARG...]]",
		DisableFlagsInUseLine: true,
		Short:                 "Give one task to one fresh agent",
		Long: `Run starts an agent, gives it the PROMPT, and prints its answer. Without a PROMPT,
or with "-", the prompt is read from stdin; so is one that begins with a dash. The
agent is --agent, or the COMMAND after "--", or $ERRAND_AGENT (a preset, or the path of
a program). A COMMAND with a slash is relative to where you are; the agent, which reads
its arguments, is in --dir.

On a terminal the answer is streamed as it comes, with tool calls and permission
decisions beside it; otherwise it is printed as plain text at the end. Progress goes to
stderr, with --json too; --quiet stops it, and with --events it is in the events. The
end event has the final result, and stands alone where the run did not start.

Text has control, escape, bidirectional and invisible characters written out (\u{1b}),
into a pipe too, and \n for line ends; the strings of --json and --events have it as it
came.

The agent gets your environment without what looks like a credential. Let through
what it needs by name (--env GEMINI_API_KEY). Ctrl-C cancels the run and waits for the
agent to come to an end; a second one kills it.

Its permission requests are denied unless --permission, --policy or --permission-command
says otherwise. One of them decides, and two go together: a policy's questions are put
to --permission ask, or a policy and a program both have to allow. The program of
--permission-command reads the request as a JSON object from stdin (id, expires,
request, facts, standing). Exit status 0 with an empty stdout allows it once, any other
denies it; or stdout is one object, {"decision": "allow|reject|cancel"} or {"optionId":
"..."}, with a "reason" and, as "questionId", the request's id if it likes. Any other
text, what is late (60 s) and what is killed denies. It runs where you are, with your
environment without credentials. 'errand schema permission' has both objects.

A CMD is split at blanks, with quotes around what has blanks in it; no shell reads it,
unless it is one: sh -c '...'. The agent's command follows that of --wrap, which looks it
up where it lives. The agent is denied what touches the files of --audit, --transcript and --policy
through errand, and those of --permission-command. A run whose --audit could not be written, or is not the file any more
at its end, has failed.

Exit status: 0 completed, 1 failed (an agent that is not installed, or that ended its
turn as cancelled unasked, too), 2 a mistake in usage or configuration, 3 the agent
refused, 4 the model's token limit was reached, 124 a timeout, that of the start or of
an idle agent too, 130 cancelled by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP, 131 killed by
SIGQUIT (Ctrl-\), 141 cancelled because nobody reads stdout any more (one that was closed
from the start, >&-, counts as /dev/null).`,
		Example: `  errand run --agent demo "Hello"
  errand run --agent gemini --env GEMINI_API_KEY --dir ../project "Explain main.go"
  git diff | errand run --agent claude --env-file ~/.keys --json - | jq -r .output
  errand run --permission allow "Add a test" -- ./my-agent --acp
  errand run --agent opencode --policy policy.json --permission ask "Fix the tests"
  errand run --agent codex --permission-command ./decide.py --audit runs.jsonl "Fix it"
  errand run --agent opencode --transcript talk.ndjson "What is this?"
  errand run --wrap 'bwrap --ro-bind / / --bind {dir} {dir} --dev /dev' "Try it" -- ./my-agent`,
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

// explainFlag adds to the error of an unknown flag what it most likely was meant to be.
func explainFlag(_ *cobra.Command, err error) error {
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool" {
		return fmt.Errorf("--%s=%s: there is true and false", invalid.GetFlag().Name, invalid.GetValue())
	}
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "int" {
		return fmt.Errorf("--%s %q: want a whole number", invalid.GetFlag().Name, invalid.GetValue())
	}
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		return fmt.Errorf("%w; the agent's own flags stand after --, and a PROMPT that begins with a dash is piped in", err)
	}
	return err
}

// killWait is how long a killed run may take to be over. After it the program exits
// all the same, and what is left of the agent's group dies with it.
const killWait = 10 * time.Second

const (
	// stalled is how long nothing must have been read before the end of the program
	// gives up on its reader, if the run was cancelled; after a second signal it is how
	// long that may take at all.
	stalled = 2 * time.Second
	// outOfReach is the same for a run that --timeout has ended, where nobody may be
	// waiting for the program.
	outOfReach = 30 * time.Second
)

// begin readies the program for agents: the context that it returns ends when it is told
// to end, or nobody reads what it prints.
func begin(con *console) (context.Context, *interrupt, *output) {
	// The environment has what the agent is not to see; it could read it here. Where
	// this cannot be, nothing else can be done about it.
	_ = client.Undumpable()

	ctx, signals := watchSignals(context.Background())
	unread := &stopped{what: "nobody reads stdout", status: statusSIGPIPE}
	out := newOutput(patient(con.out), patient(con.err), sameFile(con.out, con.err), func(err error) {
		if isClosedPipe(err) {
			signals.cancel(unread)
		}
	})
	switch {
	case !con.outTTY:
		watchClosed(con.out, func() { signals.cancel(unread) })
	case !signal.Ignored(syscall.SIGHUP):
		// The signal comes only to the sessions that the terminal controls.
		watchClosed(con.out, func() { signals.cancel(&stopped{what: syscall.SIGHUP.String(), status: statusSIGHUP}) })
	}
	context.AfterFunc(ctx, func() { out.hurry(stalled) })
	out.killed = signals.killed
	return ctx, signals, out
}

// run carries out the command and returns the exit status.
func (f *runFlags) run(prompts, command []string, con *console) int {
	ctx, signals, out := begin(con)
	show := &display{format: f.format(con), out: out}
	var res *subagent.Result
	var t *task
	var prompt string
	err := onePrompt(prompts, f.command || f.agentSet)
	if err == nil {
		t, err = f.prepare(ctx, signals.killed, command, con)
	}
	if err == nil {
		prompt, err = readPrompt(ctx, prompts, con)
	}
	if err != nil {
		res = f.refused(err, t, command)
		show.screen = newScreen(out, con, res.Provider, false, true, nil)
	} else {
		show.agent = t.agent
		live := show.format == liveFormat
		show.screen = newScreen(out, con, t.provider.Name(), live, f.quiet || f.events, t.redact())
		for _, note := range t.agent.notes {
			show.screen.note(note)
		}
		context.AfterFunc(ctx, func() { show.screen.cancelling(killsAtOnce(ctx)) })
		runCtx, cancel := ctx, context.CancelFunc(func() {})
		if t.timeout > 0 {
			runCtx, cancel = context.WithTimeout(ctx, t.timeout)
		}
		stop := context.AfterFunc(runCtx, func() {
			out.hurry(outOfReach)
			show.screen.overdue(false)
		})
		if t.startTimeout > 0 {
			time.AfterFunc(t.startTimeout, func() { show.screen.overdue(true) })
		}
		if t.asker != nil {
			t.asker.on(show.screen)
		}
		if t.command != nil && !f.quiet {
			t.command.tell = show.screen.aside
		}
		if t.doings != nil {
			t.doings.tell = show.screen.aside
		}
		if t.reasons != nil && !f.quiet && !f.events {
			t.reasons.tell = func(text string) { show.screen.aside(clip(visible.Line(t.redact()(text)), 400)) }
		}
		res, show.at = t.run(runCtx, signals, prompt, show.event)
		if t.command != nil {
			t.command.close()
		}
		if t.audit == nil {
			res.Warnings = slices.DeleteFunc(res.Warnings, func(w string) bool { return strings.HasPrefix(w, auditIncomplete) })
		} else {
			if lost := t.audit.end(); lost != "" {
				res.Warnings = append(res.Warnings, lost)
			}
		}
		if t.transcript != nil {
			if lost := t.transcript.end(); lost != "" {
				res.Warnings = append(res.Warnings, lost)
			}
		}
		stop() // the run's clock says nothing of who reads its result
		cancel()
		t.nameTimeout(res)
	}
	res.Warnings = append(append([]string{}, show.agent.notes...), res.Warnings...)
	faults := f.faults(res)
	for _, text := range faults {
		if !slices.Contains(res.Warnings, text) {
			res.Warnings = append(res.Warnings, text)
		}
		show.screen.fault(text)
	}
	status := show.end(res, ctx, !f.quiet && !f.permissionSet && !f.commandSet)
	if status == statusOK && len(faults) > 0 {
		return statusFailed
	}
	return status
}

// refused is the result of a run that was not tried. t is nil where it did not come to
// that; then what is known is what was given.
func (f *runFlags) refused(err error, t *task, command []string) *subagent.Result {
	e := configError(err)
	if _, ok := errors.AsType[*stopped](err); ok {
		e = &subagent.Error{Kind: client.KindCancelled, Err: err}
	}
	if t != nil && t.provider != nil {
		return t.failed(e)
	}
	name := f.agent
	if len(command) > 0 {
		name = commandName(command[0])
	}
	given := &task{settings: &settings{}}
	given.dir, _ = f.directory()
	given.labels, _ = f.labels()
	if c, err := f.chooseAgent(command, os.Getenv("ERRAND_AGENT"), false); err == nil && len(f.envFiles) == 0 { // which may have secrets that are in the command too
		given.agent = c
		given.agent.command.Env = append(given.agent.command.Env, f.env...)
	}
	res := failedResult(e, name, given.dir)
	res.Labels, res.Agent.Command = given.labels, given.words()
	return res
}

// failed is the result of a task that did not start.
func (t *task) failed(err error) *subagent.Result {
	res := failedResult(err, t.provider.Name(), t.dir)
	res.Labels = t.labels
	if len(res.Agent.Command) == 0 {
		res.Agent.Command = t.words()
	}
	return res
}

// words are the agent's program and its arguments, as a result has them.
func (t *task) words() []string {
	words := []string{}
	if t.agent.command.Path != "" {
		redact := t.redact()
		for _, word := range append([]string{t.agent.command.Path}, t.agent.command.Args...) {
			words = append(words, redact(word))
		}
	}
	return words
}

// run starts the agent, waits for the end of its turn and closes it. Where the start was
// cancelled it returns at which step that was.
func (t *task) run(ctx context.Context, signals *interrupt, prompt string, event func(subagent.Event)) (*subagent.Result, client.Step) {
	type ended struct {
		res *subagent.Result
		at  client.Step
	}
	over := make(chan ended, 1)
	// Ends with the run; where a killed run does not end, with the program.
	go func() {
		run, err := t.provider.Start(ctx, subagent.Request{Prompt: subagent.Text(prompt), Dir: t.dir, Labels: t.labels, MaxDepth: t.maxDepth, Events: event, Transcript: t.transcript.writer()})
		if err != nil {
			end := ended{res: t.failed(err)}
			if e, ok := errors.AsType[*subagent.Error](err); ok && e.Kind == client.KindCancelled {
				end.at = e.Step
			}
			over <- end
			return
		}
		<-run.Done()
		over <- ended{res: run.Close()}
	}()
	select {
	case end := <-over:
		return end.res, end.at
	case <-signals.killed.Done():
	}
	select {
	case end := <-over:
		return end.res, end.at
	case <-time.After(killWait):
		res := t.failed(&subagent.Error{Kind: client.KindCancelled})
		res.Warnings = append(res.Warnings, "killed; what came of the run is not known")
		return res, ""
	}
}

// nameTimeout says --timeout where the library says that its caller had a deadline.
func (t *task) nameTimeout(res *subagent.Result) {
	if res.Error == nil || res.Error.Kind != client.KindTimeout {
		return
	}
	e := *res.Error
	e.Message = strings.ReplaceAll(e.Message, "the caller's deadline", fmt.Sprintf("the --timeout of %v", t.timeout))
	res.Error = &e
}

// redact returns a function that replaces the secrets of the agent's environment.
func (t *task) redact() func(string) string { return t.redactor().String }

func (t *task) redactor() *redact.Redactor {
	policy := t.agent.command.Inherit
	policy.Set = append(policy.Set, t.agent.command.Env...)
	return redact.New(envscrub.Secrets(os.Environ(), policy))
}

// failedResult is the result of a run that did not start.
func failedResult(err error, provider, dir string) *subagent.Result {
	e, ok := errors.AsType[*subagent.Error](err)
	if !ok {
		e = &subagent.Error{Kind: client.KindTransport, Step: client.StepSpawn, Message: err.Error(), Err: err}
	}
	res := e.Partial
	if res == nil {
		res = &subagent.Result{
			SchemaVersion: subagent.SchemaVersion, Provider: provider, Dir: dir, StartedAt: time.Now(),
			Labels: map[string]string{}, Client: client.Self(),
			Agent:    subagent.Agent{Command: []string{}},
			Messages: []subagent.Message{}, Empty: true,
			ToolCalls: []subagent.ToolCall{}, Permissions: []permission.Record{},
			Noise: subagent.Noise{First: []string{}}, WithheldEnv: []string{}, Warnings: []string{},
		}
	}
	res.Stop, res.Error = stopreason.Error, e
	switch e.Kind {
	case client.KindCancelled: // which is no error in a result
		res.Stop, res.Error = stopreason.Aborted, nil
	case client.KindTimeout:
		res.Stop = stopreason.Aborted
	}
	return res
}
