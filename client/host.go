package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/proc"
	"github.com/errand-acp/errand/internal/wire"
	"github.com/errand-acp/errand/permission"
)

// handlers are what the agent can ask of us: exactly what Options grant.
func (a *Agent) handlers() *Handlers {
	h := &Handlers{OnUpdate: a.opts.Update}
	if a.opts.Files != FilesNone {
		h.OnReadTextFile = a.readTextFile
	}
	if a.opts.Files == FilesWrite {
		h.OnWriteTextFile = a.writeTextFile
	}
	if a.opts.Terminals {
		h.OnCreateTerminal = a.createTerminal
		h.OnKillTerminal = a.killTerminal
		h.OnTerminalOutput = a.terminalOutput
		h.OnReleaseTerminal = a.releaseTerminal
		h.OnWaitForTerminalExit = a.waitForTerminalExit
	}
	return h
}

// capabilities are what the agent is told of them.
// See https://agentclientprotocol.com/protocol/initialization#client-capabilities.
func (a *Agent) capabilities() acp.ClientCapabilities {
	return acp.ClientCapabilities{
		Fs: acp.FileSystemCapabilities{
			ReadTextFile:  a.opts.Files != FilesNone,
			WriteTextFile: a.opts.Files == FilesWrite,
		},
		Terminal: a.opts.Terminals,
	}
}

// session returns one of ours, for a request that names it.
func (a *Agent) session(id acp.SessionId) (*Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, &acp.RequestError{Code: codeParams, Message: "no session of this connection has that id"}
}

// The options of a question that we put in the agent's place.
const (
	hostAllow  = "allow"
	hostReject = "reject"
)

// act is something that an agent wants us to do, as a policy is asked about it.
type act struct {
	method string
	kind   acp.ToolKind
	title  string
	path   string // announced; empty for none
	diff   *acp.ToolCallContentDiff
	input  map[string]any
	env    []string // of a command: what its program is looked up in
}

// errDenied is the answer to an act that the policy did not allow.
type errDenied struct{ rule string }

func (e *errDenied) Error() string { return "not permitted (" + e.rule + ")" }

// decide asks the policy about an act in a session. It is told and recorded like a
// question of the agent's own, and like that one it comes to nothing once the turn has
// been cancelled. ctx is inTurn's. It returns what the act was taken for; the error is an
// errDenied.
func (a *Agent) decide(ctx context.Context, s *Session, id string, act act) (permission.Facts, error) {
	since := time.Now()
	req := a.hostRequest(s, id, act)
	var rec permission.Record
	if over(ctx, s) == "" {
		_, rec = permission.Decide(ctx, a.opts.Permission, req)
	}
	if why := over(ctx, s); why != "" {
		rec = permission.Withdrawn(req, why, since)
	}
	if rec.Facts == nil {
		// Whatever the policy went by: what we do is told with what it was.
		facts := req.Facts()
		rec.Facts = &facts
	}
	a.tellPermission(rec, req)
	if rec.Decision != permission.Allowed {
		return *rec.Facts, &errDenied{rec.Rule}
	}
	if why := over(ctx, s); why != "" {
		return *rec.Facts, &errDenied{why} // it is not done yet
	}
	return *rec.Facts, nil
}

// inTurn returns a context for what is done for the agent, which ends with ctx and with
// the turn that is open, and what is to be called when it is done.
func (s *Session) inTurn(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() bool { return true }
	if turn := s.turnContext(); turn != nil {
		stop = context.AfterFunc(turn, func() { cancel(errTurnOver) })
	}
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// over says why what is done for the agent, with a context of inTurn's, is not wanted any
// more; empty while it is.
func over(ctx context.Context, s *Session) string {
	switch {
	case s.refuses():
		return whyCancelled // also where ctx has not heard of it yet
	case errors.Is(context.Cause(ctx), errTurnOver):
		return errTurnOver.Error()
	case isGone(ctx):
		return whyGone
	case ctx.Err() != nil:
		return whyWithdrawn
	}
	return ""
}

// beginAct says that something is being done for the agent, until done is called.
func (a *Agent) beginAct() (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.actsOver {
		return nil, errShutdown
	}
	a.hosting.Add(1)
	return a.hosting.Done, nil
}

// actPatience bounds the wait for what we do for an agent that has gone. Its context has
// ended: all that can hold it up is a file system that does not answer, or a policy.
const actPatience = 5 * time.Second

// awaitActs waits until what is under way has come to an end and was told.
func (a *Agent) awaitActs() {
	a.mu.Lock()
	a.actsOver = true
	a.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the last act
		a.hosting.Wait()
		close(done)
	}()
	timer := time.NewTimer(actPatience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// isGone reports whether a request's context has ended with the connection.
func isGone(ctx context.Context) bool {
	_, gone := errors.AsType[*wire.ClosedError](context.Cause(ctx))
	return gone
}

var errTurnOver = errors.New("the turn is over")

func (a *Agent) hostRequest(s *Session, id string, act act) permission.Request {
	call := acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(id), Kind: &act.kind, Title: &act.title, RawInput: act.input}
	if act.path != "" {
		call.Locations = []acp.ToolCallLocation{{Path: act.path}}
	}
	if act.diff != nil {
		call.Content = []acp.ToolCallContent{{Diff: act.diff}}
	}
	req := permission.Request{
		SessionID: string(s.id), Method: act.method, Dir: s.dir, ToolCall: call,
		Options: []acp.PermissionOption{
			{OptionId: hostAllow, Kind: acp.PermissionOptionKindAllowOnce, Name: "Allow"},
			{OptionId: hostReject, Kind: acp.PermissionOptionKindRejectOnce, Name: "Reject"},
		},
	}
	a.surroundings(&req)
	if act.env != nil {
		req.LookPath = lookIn(s.dir, act.env)
	}
	return req
}

// surroundings fills in what a policy needs to know of the machine.
func (a *Agent) surroundings(req *permission.Request) {
	around := PolicyRequest(req.Dir, a.spec.Env)
	req.RunID = a.opts.RunID
	req.RealDir, req.Home, req.UserHome, req.Resolve, req.LookPath = around.RealDir, around.Home, around.UserHome, around.Resolve, around.LookPath
}

// PolicyRequest returns a request with what policies need to know of the machine, as those
// of a session have it in that directory, absolute and without links (see AbsDir), of an agent
// with that environment: for those who try a policy before there is an agent. It may be called
// by anybody at any time.
// https://agentclientprotocol.com/protocol/tool-calls#requesting-permission
func PolicyRequest(dir string, env []string) permission.Request {
	req := permission.Request{Dir: dir, RealDir: dir, Resolve: resolve, LookPath: lookIn(dir, env)}
	req.Home, req.UserHome = homes(env)
	return req
}

// lookIn finds programs as they are found in a directory with that environment.
func lookIn(dir string, env []string) func(name string) (string, error) {
	return func(name string) (string, error) { return proc.LookPath(programIn(dir, name), env) }
}

// homes returns the home of an agent with that environment and, where that is another one,
// the user's. An agent that
// was given none finds that of the user.
func homes(env []string) (agents, users string) {
	users, _ = os.UserHomeDir()
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	switch agents = proc.Getenv(env, name); {
	case agents == "" || agents == users:
		return users, ""
	case !filepath.IsAbs(agents):
		return "", users // it depends on where the agent is at the moment
	}
	return agents, users
}

// resolve returns path with its symbolic links resolved as far as it exists. What is
// behind ".." is what the system finds there, not what the text says.
func resolve(path string) (string, error) {
	missing := ""
	for {
		at, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(at, missing), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		// A link that leads nowhere is not missing: what is made through it comes to be
		// where it leads.
		if target, err := os.Readlink(path); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Dir(path) + string(filepath.Separator) + target
			}
			if len(target) > 4096 {
				return "", fmt.Errorf("too many symbolic links")
			}
			path = target
			continue
		}
		parent, name := filepath.Split(trimSeparators(path))
		if name == ".." {
			return "", err // of what is not there
		}
		if parent == "" || parent == path {
			return "", err
		}
		path, missing = parent, filepath.Join(name, missing)
	}
}

func trimSeparators(path string) string {
	for len(path) > 1 && os.IsPathSeparator(path[len(path)-1]) {
		path = path[:len(path)-1]
	}
	return path
}

// tellPermission tells the caller of a decision that no answer on the wire shows.
func (a *Agent) tellPermission(rec permission.Record, req permission.Request) {
	told := a.redactRecord(rec, req)
	if f := a.opts.ObservePermission; f != nil {
		a.tell(func() { f(told) })
	}
	if f := a.opts.OnPermission; f != nil {
		a.conn.wire.Defer(func() { f(told) })
	}
}

// tell calls one of the caller's functions as the connection does it: one at a time.
func (a *Agent) tell(f func()) {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	defer a.conn.wire.Contain()
	f()
}

// hostError is what the agent gets to know of an error of ours: what it can go by.
func (a *Agent) hostError(err error) error {
	answer := func(code int, text string) error {
		return &acp.RequestError{Code: code, Message: a.redact.String(text)}
	}
	if file, ok := errors.AsType[*FileError](err); ok {
		switch file.Reason {
		case FileMissing:
			return answer(codeNotFound, "no such file")
		case FileFailed:
			return answer(codeInternal, file.Err.Error())
		}
		return answer(codeParams, file.Err.Error())
	}
	if denied, ok := errors.AsType[*errDenied](err); ok {
		return answer(codeRequest, denied.Error())
	}
	return err
}

// The codes of errors that ACP has from JSON-RPC, and its own for what is not there.
// See https://agentclientprotocol.com/protocol/error.
const (
	codeRequest  = -32600
	codeParams   = -32602
	codeInternal = -32603
	codeNotFound = -32002
)
