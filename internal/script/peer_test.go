package script

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hang is how long anything may take before a test calls it a hang.
const hang = 60 * time.Second

// peer is the other end of an agent: a client as bare as can be.
type peer struct {
	t      *testing.T
	dir    string   // the session's directory
	stdin  *os.File // to the agent
	stdout *os.File // from it
	lines  *bufio.Reader
	stderr string // the file that it goes to
	wait   func() int
	cmd    *exec.Cmd // nil for an agent in this process
}

// inProcess runs the script's agent in this process, over real pipes.
func inProcess(t *testing.T, src string) *peer {
	t.Helper()
	s, err := Parse("script", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	p := newPeer(t)
	agentIn, agentOut := p.pipes()
	stderr := p.create()
	status := make(chan int, 1)
	go func() { // ends with the agent, which the cleanup ends
		status <- s.Run(t.Context(), agentIn, agentOut, stderr)
		agentIn.Close()
		agentOut.Close()
		stderr.Close()
	}()
	p.wait = func() int { return <-status }
	return p
}

// ownProcess runs it as a process, by this binary.
func ownProcess(t *testing.T, src string, env ...string) *peer {
	t.Helper()
	p := newPeer(t)
	path, args := Command(t, src)
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir = p.dir
	p.cmd.Env = append(os.Environ(), env...)
	agentIn, agentOut := p.pipes()
	stderr := p.create()
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = agentIn, agentOut, stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	agentIn.Close()
	agentOut.Close()
	stderr.Close()
	status := make(chan int, 1)
	go func() { // ends with the process, which the cleanup ends
		_ = p.cmd.Wait()
		status <- p.cmd.ProcessState.ExitCode()
	}()
	ended := false
	p.wait = func() int { ended = true; return <-status }
	t.Cleanup(func() {
		if !ended {
			_ = p.cmd.Process.Kill()
			p.wait()
		}
	})
	return p
}

func newPeer(t *testing.T) *peer {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &peer{t: t, dir: dir}
}

// pipes returns the agent's ends.
func (p *peer) pipes() (agentIn, agentOut *os.File) {
	var err error
	if agentIn, p.stdin, err = os.Pipe(); err != nil {
		p.t.Fatal(err)
	}
	if p.stdout, agentOut, err = os.Pipe(); err != nil {
		p.t.Fatal(err)
	}
	p.lines = bufio.NewReader(p.stdout)
	p.t.Cleanup(func() {
		p.stdin.Close()
		p.stdout.Close()
	})
	return agentIn, agentOut
}

func (p *peer) create() *os.File {
	f, err := os.CreateTemp(p.t.TempDir(), "stderr")
	if err != nil {
		p.t.Fatal(err)
	}
	p.stderr = f.Name()
	return f
}

func (p *peer) send(line string) {
	p.t.Helper()
	p.stdin.SetWriteDeadline(time.Now().Add(hang))
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Fatalf("writing %.80s: %v", line, err)
	}
}

// line returns the next line of the agent, without its end; "" and io.EOF at the end.
func (p *peer) line() (string, error) {
	p.stdout.SetReadDeadline(time.Now().Add(hang))
	line, err := p.lines.ReadString('\n')
	if line != "" {
		err = nil
	}
	return strings.TrimSuffix(line, "\n"), err
}

// frame returns the next line as JSON.
func (p *peer) frame() map[string]any {
	p.t.Helper()
	line, err := p.line()
	if err != nil {
		p.t.Fatalf("reading: %v", err)
	}
	var frame map[string]any
	if err := json.Unmarshal([]byte(line), &frame); err != nil {
		p.t.Fatalf("%v: %.200s", err, line)
	}
	return frame
}

// hello starts a session, session-1 in p.dir, and expects the honest answers.
func (p *peer) hello() {
	p.t.Helper()
	p.converse(`
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		< *
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"DIR","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"session-1"}}
	`)
}

// converse plays a dialogue, one line each:
//
//	> LINE           send this
//	> prompt ID TEXT a prompt to session-1
//	> cancel         its cancellation
//	< LINE           the next line is this; JSON is compared as JSON
//	< text TEXT      a chunk of the agent's message
//	< stop ID REASON the answer to a prompt
//	< *              the next line, whatever it is
//	<< TEXT          the next line contains this
//	hello            initialize and session/new
//	eof              close the agent's stdin
//	read-again       make that file in the session's directory
//	ended N          the output ends, and the exit status is this
//
// DIR stands for the session's directory, escapes in TEXT are Go's.
func (p *peer) converse(dialogue string) {
	p.t.Helper()
	for _, line := range strings.Split(dialogue, "\n") {
		line = strings.ReplaceAll(strings.TrimLeft(line, " \t"), "DIR", p.dir)
		verb, rest, _ := strings.Cut(line, " ")
		word, text, _ := strings.Cut(rest, " ")
		switch {
		case line == "":
		case line == "hello":
			p.hello()
		case line == "eof":
			p.stdin.Close()
		case line == "read-again":
			if err := os.WriteFile(filepath.Join(p.dir, line), nil, 0o600); err != nil {
				p.t.Fatal(err)
			}
		case verb == "ended":
			p.ended(rest)
		case verb == ">" && word == "prompt":
			id, text, _ := strings.Cut(text, " ")
			p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"session/prompt","params":{"sessionId":"session-1","prompt":[{"type":"text","text":` + string(quote(text)) + `}]}}`)
		case verb == ">" && rest == "cancel":
			p.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"session-1"}}`)
		case verb == ">":
			p.send(rest)
		case rest == "*":
			p.frame()
		case verb == "<<":
			if got, err := p.line(); err != nil || !strings.Contains(got, rest) {
				p.t.Fatalf("got %.300q, %v; want a line with %q", got, err, rest)
			}
		case word == "text":
			p.want(updateFrame("session-1", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`+string(quote(text))+`}}`))
		case word == "stop":
			id, reason, _ := strings.Cut(text, " ")
			p.want(`{"jsonrpc":"2.0","id":` + id + `,"result":{"stopReason":"` + reason + `"}}`)
		case verb == "<":
			p.want(rest)
		default:
			p.t.Fatalf("no such line of a dialogue: %q", line)
		}
	}
}

func updateFrame(session, update string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":` + update + `}}`
}

func (p *peer) want(want string) {
	p.t.Helper()
	got, err := p.line()
	if err != nil {
		p.t.Fatalf("reading: %v; want %.300s", err, want)
	}
	if diff := cmp.Diff(comparable(want), comparable(got)); diff != "" {
		p.t.Fatalf("(-want +got):\n%s", diff)
	}
}

// comparable is a line as JSON if it is that.
func comparable(line string) any {
	var v any
	if json.Unmarshal([]byte(line), &v) != nil {
		return line
	}
	return v
}

func (p *peer) ended(status string) {
	p.t.Helper()
	if line, err := p.line(); err != io.EOF {
		p.t.Fatalf("got %.300q, %v; want the end of output", line, err)
	}
	if got := p.wait(); string(marshal(got)) != status {
		stderr, _ := os.ReadFile(p.stderr)
		p.t.Fatalf("exit status %d, want %s; stderr: %.500s", got, status, stderr)
	}
}

// file returns the content of a file in the session's directory, once it is there.
func (p *peer) file(name string) string {
	p.t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(2 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(p.dir, name))
		if err == nil && len(b) > 0 {
			return string(b)
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s does not come: %v", name, err)
		}
	}
}
