package client

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/envscrub"
	"github.com/errand-acp/errand/internal/proc"
)

// CommandRecord is a command that an agent ran in one of our terminals, or wanted to. Its
// JSON is part of the result's contract.
type CommandRecord struct {
	// SessionID is the session that the agent named, one of ours.
	SessionID string `json:"sessionId"`
	// ToolCallID is our name for it in the question to the policy, as in its record; null
	// where the policy was not asked.
	ToolCallID *string `json:"toolCallId"`
	// TerminalID is our name for the terminal; null where none was made.
	TerminalID *string `json:"terminalId"`
	// Command is the program and its arguments, with secrets replaced. Where the agent
	// sent a shell line it is what runs that. It is as the agent sent it where it was
	// refused before that was looked at.
	Command []string `json:"command"`
	// Dir is the directory it ran in, or was to run in.
	Dir string `json:"dir"`
	// Exit is how it ended; null while it runs and where it was not started. Its rung is
	// null or what we did to end it.
	Exit *CommandExit `json:"exit"`
	// OutputBytes is how much it wrote, Truncated that not all of it was kept.
	OutputBytes int  `json:"outputBytes"`
	Truncated   bool `json:"truncated"`
	// Error is why it was not started; null where it was.
	Error *string `json:"error"`
	// Ms is the time it took, in milliseconds, with the decision on it.
	Ms float64 `json:"ms"`
}

// CommandExit is how a command ended: one of the two is null.
type CommandExit struct {
	Code   *int    `json:"code"`
	Signal *string `json:"signal"`
}

// Bounds of what terminals cost.
const (
	// DefaultMaxTerminalBytes is Options.MaxTerminalBytes where it is 0.
	DefaultMaxTerminalBytes = 1 << 20
	// maxTerminals is how many an agent can have at once, ended ones among them.
	maxTerminals = 32
)

// terminal is a command that an agent runs through us. It is made by createTerminal and
// is over when it has been released or the agent has ended.
type terminal struct {
	id      string
	session acp.SessionId
	proc    *proc.Process
	output  screen
	over    bool          // released; guarded by Agent.mu
	done    chan struct{} // closed by watch: proc has exited and its output is read
	since   time.Time
	record  CommandRecord // as it was at the start
}

// createTerminal serves terminal/create. The policy decides before anything starts.
// See https://agentclientprotocol.com/protocol/terminals#executing-commands.
func (a *Agent) createTerminal(ctx context.Context, r acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	var res acp.CreateTerminalResponse
	done, err := a.beginAct()
	if err != nil {
		return res, err
	}
	defer done()
	s, err := a.session(r.SessionId)
	if err != nil {
		return res, err
	}
	t := &terminal{session: r.SessionId, done: make(chan struct{}), since: time.Now()}
	t.record = CommandRecord{SessionID: string(r.SessionId)}
	dir := s.dir
	if r.Cwd != nil && *r.Cwd != "" {
		dir = *r.Cwd
	}
	a.recordCommand(t, dir, r.Command, r.Args)
	ctx, end := s.inTurn(ctx)
	defer end()
	if err := a.startTerminal(ctx, s, t, r); err != nil {
		text := a.redact.String(reason(err))
		t.record.Error, t.record.Ms = &text, milliseconds(time.Since(t.since))
		a.tellCommand(t.record)
		return res, a.hostError(err)
	}
	res.TerminalId = t.id
	return res, nil
}

func (a *Agent) startTerminal(ctx context.Context, s *Session, t *terminal, r acp.CreateTerminalRequest) error {
	spec, err := a.terminalSpec(s, r)
	if err != nil {
		return err
	}
	a.recordCommand(t, spec.Dir, spec.Path, spec.Args)
	if t.id, err = a.reserveTerminal(); err != nil {
		return err
	}
	started := false
	defer func() {
		if !started {
			a.dropTerminal(t.id)
		}
	}()
	t.record.ToolCallID = &t.id
	if err := a.decideCommand(ctx, s, t.id, commandAct(r, spec)); err != nil {
		return err
	}
	if t.proc, err = proc.Start(ctx, spec); err != nil {
		if why := over(ctx, s); why != "" {
			return &errDenied{why}
		}
		return &acp.RequestError{Code: codeParams, Message: a.redact.String(err.Error())}
	}
	t.proc.Stdin().Close()
	t.record.TerminalID = &t.id
	a.tellCommand(t.record) // before it can have ended
	t.output.limit = a.opts.MaxTerminalBytes
	if r.OutputByteLimit != nil {
		t.output.limit = max(0, min(t.output.limit, *r.OutputByteLimit))
	}
	go a.watchTerminal(t)
	if started = a.keepTerminal(t); !started {
		a.keepLeftover(t.proc.Kill(a.opts.Graces.Kill))
		<-t.done
	}
	return nil
}

// recordCommand says in the terminal's record what is to run.
func (a *Agent) recordCommand(t *terminal, dir, path string, args []string) {
	t.record.Dir, t.record.Command = a.redact.String(dir), []string{}
	for _, word := range append([]string{path}, args...) {
		t.record.Command = append(t.record.Command, a.redact.String(word))
	}
}

// decideCommand is decide for a command. What it is, its program and its directory are
// the same afterwards, or there is an error: a question can be open for minutes.
func (a *Agent) decideCommand(ctx context.Context, s *Session, id string, act act) error {
	changed := &acp.RequestError{Code: codeParams, Message: errChanged.Error()}
	before, err := os.Stat(act.path)
	if err != nil {
		return changed
	}
	facts, err := a.decide(ctx, s, id, act)
	if err != nil {
		return err
	}
	if after, err := os.Stat(act.path); err != nil || !os.SameFile(before, after) {
		return changed
	}
	if !reflect.DeepEqual(facts.Commands, a.hostRequest(s, id, act).Facts().Commands) {
		return changed
	}
	return nil
}

// commandAct is what the policy is asked.
func commandAct(r acp.CreateTerminalRequest, spec proc.Spec) act {
	input := map[string]any{"command": r.Command, "cwd": spec.Dir}
	if r.Args != nil {
		args := make([]any, len(r.Args))
		for i, arg := range r.Args {
			args[i] = arg
		}
		input["args"] = args
	}
	if len(r.Env) > 0 {
		env := map[string]any{}
		for _, v := range r.Env {
			env[v.Name] = v.Value
		}
		input["env"] = env
	}
	return act{
		method: acp.ClientMethodTerminalCreate, kind: acp.ToolKindExecute,
		title: "Run " + strings.Join(append([]string{r.Command}, r.Args...), " "), path: spec.Dir, input: input,
		env: spec.Env,
	}
}

// terminalSpec is the process that a request asks for.
func (a *Agent) terminalSpec(s *Session, r acp.CreateTerminalRequest) (proc.Spec, error) {
	bad := func(format string, args ...any) (proc.Spec, error) {
		return proc.Spec{}, &acp.RequestError{Code: codeParams, Message: fmt.Sprintf(format, args...)}
	}
	spec := proc.Spec{Path: r.Command, Args: r.Args, Dir: s.dir, MergeStderr: true}
	if r.Command == "" {
		return bad("the command is empty")
	}
	if r.Cwd != nil && *r.Cwd != "" {
		cwd, ok := a.paths.ours(*r.Cwd)
		if !ok {
			return bad("cwd: it does not exist on this side")
		}
		dir, err := proc.CheckDir(cwd)
		if err != nil {
			return bad("cwd: %v", err)
		}
		spec.Dir = dir
	}
	// Not what the agent was given on purpose: its own keys are no business of a command.
	spec.Env, _ = envscrub.Scrub(a.spec.Env, envscrub.Policy{})
	for _, v := range r.Env {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.ContainsRune(v.Value, 0) {
			return bad("env: %q is no variable", v.Name)
		}
		spec.Env = append(spec.Env, v.Name+"="+v.Value)
	}
	if len(r.Args) == 0 {
		// Some agents send a whole line as the command. What it is taken for is what the
		// policy decides on: a shell reads it exactly if that was told of one.
		if c := a.hostRequest(s, "", commandAct(r, spec)).Facts().Commands; len(c) == 1 && !c[0].Shell {
			beside := map[string]bool{} // what is set twice is told once
			for _, v := range r.Env {
				beside[v.Name] = true
			}
			spec.Path, spec.Args, spec.Env = c[0].Argv[0], c[0].Argv[1:], append(spec.Env, c[0].Env[len(beside):]...)
		} else {
			spec.Path, spec.Args = shell(r.Command)
		}
	}
	// What the agent says of how deep it is does not count.
	for _, entry := range a.spec.Env {
		if strings.HasPrefix(entry, ourVariables) {
			spec.Env = append(spec.Env, entry)
		}
	}
	// A run within the agent's: the end of either ends the command, and the command's end
	// nothing of the agent. Nor does what it says of this.
	spec.Env = append(spec.Env, proc.InRun(a.spec.Env, a.spec.RunID)[len(a.spec.Env):]...)
	spec.Path = programIn(spec.Dir, spec.Path)
	return spec, nil
}

// ourVariables is how the names of the variables begin by which a run tells those below it
// where they stand.
const ourVariables = "ERRAND_"

// programIn returns the program that a path means in a directory.
func programIn(dir, path string) string {
	if filepath.IsAbs(path) || !strings.ContainsRune(filepath.ToSlash(path), '/') {
		return path
	}
	return filepath.Join(dir, path)
}

// reserveTerminal makes room for a terminal and names it.
func (a *Agent) reserveTerminal() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.terminals) >= maxTerminals {
		return "", &acp.RequestError{Code: codeRequest, Message: fmt.Sprintf("there are %d terminals already: release some", maxTerminals)}
	}
	id := fmt.Sprintf("errand-terminal-%d", a.acts.Add(1))
	if a.terminals == nil {
		a.terminals = make(map[string]*terminal)
	}
	a.terminals[id] = nil
	return id, nil
}

// keepTerminal puts t where it can be found, unless the agent is being closed.
func (a *Agent) keepTerminal(t *terminal) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.terminalsOver {
		return false
	}
	a.terminals[t.id] = t
	return true
}

func (a *Agent) dropTerminal(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.terminals, id)
}

// terminal finds one by the name that the agent has from us, in its own session.
func (a *Agent) terminal(session acp.SessionId, id string) (*terminal, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.terminals[id]; t != nil && t.session == session && !t.over {
		return t, nil
	}
	return nil, &acp.RequestError{Code: codeNotFound, Message: "no such terminal"}
}

// watchTerminal reads what the command writes. Its goroutine belongs to the terminal and
// ends when the command has exited and its output is read.
func (a *Agent) watchTerminal(t *terminal) {
	defer close(t.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := t.proc.Stdout().Read(buf)
		t.output.write(buf[:n])
		if err != nil {
			break
		}
	}
	<-t.proc.Exited()
	rec := t.record
	exit := t.exit()
	rec.Exit = &CommandExit{Code: exit.ExitCode, Signal: exit.Signal}
	rec.OutputBytes, rec.Truncated = t.output.count()
	rec.Ms = milliseconds(time.Since(t.since))
	a.tellCommand(rec)
}

// exit is how the command ended; nil while it runs.
func (t *terminal) exit() *acp.TerminalExitStatus {
	select {
	case <-t.proc.Exited():
	default:
		return nil
	}
	exit := t.proc.Exit()
	if exit.Signal != "" {
		return &acp.TerminalExitStatus{Signal: &exit.Signal}
	}
	return &acp.TerminalExitStatus{ExitCode: &exit.Code}
}

func (a *Agent) tellCommand(rec CommandRecord) {
	rec.Command = slices.Clone(rec.Command)
	if f := a.opts.ObserveCommand; f != nil {
		a.tell(func() { f(rec) })
	}
}

// terminalOutput serves terminal/output.
// See https://agentclientprotocol.com/protocol/terminals#getting-output.
func (a *Agent) terminalOutput(_ context.Context, r acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	t, err := a.terminal(r.SessionId, r.TerminalId)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	var res acp.TerminalOutputResponse
	select {
	case <-t.done: // before the output is looked at: with the status it is whole
		res.ExitStatus = t.exit()
	default:
	}
	res.Output, res.Truncated = t.output.text()
	return res, nil
}

// waitForTerminalExit serves terminal/wait_for_exit.
func (a *Agent) waitForTerminalExit(ctx context.Context, r acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	t, err := a.terminal(r.SessionId, r.TerminalId)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	select {
	case <-t.done:
		exit := t.exit()
		return acp.WaitForTerminalExitResponse{ExitCode: exit.ExitCode, Signal: exit.Signal}, nil
	case <-ctx.Done():
		return acp.WaitForTerminalExitResponse{}, ctx.Err()
	}
}

// killTerminal serves terminal/kill: the command and what it started end, the terminal
// stays.
func (a *Agent) killTerminal(_ context.Context, r acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	t, err := a.terminal(r.SessionId, r.TerminalId)
	if err == nil {
		a.endTerminal(t)
	}
	return acp.KillTerminalResponse{}, err
}

// releaseTerminal serves terminal/release.
func (a *Agent) releaseTerminal(_ context.Context, r acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	t, err := a.terminal(r.SessionId, r.TerminalId)
	if err == nil {
		a.mu.Lock()
		t.over = true
		a.mu.Unlock()
		a.endTerminal(t)
		a.dropTerminal(t.id) // not before: a close of the agent waits for it
	}
	return acp.ReleaseTerminalResponse{}, err
}

// endTerminal ends the command, with SIGTERM first, and what it started; it returns when
// that is done. Of a command that has exited it ends what is left behind.
func (a *Agent) endTerminal(t *terminal) {
	a.keepLeftover(t.proc.Shutdown(proc.Graces{Term: a.opts.Graces.Term, Kill: a.opts.Graces.Kill}))
	<-t.done
}

// closeTerminals ends all terminals for good, at once.
func (a *Agent) closeTerminals() {
	a.mu.Lock()
	a.terminalsOver = true
	open := slices.DeleteFunc(slices.Collect(maps.Values(a.terminals)), func(t *terminal) bool { return t == nil })
	a.mu.Unlock()
	var ending sync.WaitGroup
	for _, t := range open {
		ending.Go(func() { // ends with its terminal
			a.keepLeftover(t.proc.Kill(a.opts.Graces.Kill))
			<-t.done
		})
	}
	ending.Wait()
}

// keepLeftover keeps what could not be ended for the agent's report.
func (a *Agent) keepLeftover(report proc.Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range report.Leftover {
		if !slices.Contains(a.leftover, l) {
			a.leftover = append(a.leftover, l)
		}
	}
}
