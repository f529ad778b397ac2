package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// peer is a client that speaks to a parent line by line, as no client library would.
type peer struct {
	*tree
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	lines *bufio.Reader
	seen  []message // that receive has passed over
}

// message is one that the parent has sent.
type message struct {
	ID     *int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// speakTo starts a parent and initializes it.
func (w *tree) speakTo(parent []string) *peer {
	w.Helper()
	p := &peer{tree: w, cmd: exec.Command(parent[0], parent[1:]...)}
	p.cmd.Env, p.cmd.Dir = w.env(), w.dir
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		w.Fatal(err)
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		w.Fatal(err)
	}
	p.cmd.Stderr = &strings.Builder{}
	p.lines = bufio.NewReader(p.out)
	if err := p.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { // where the test has given up
		p.in.Close()
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	p.call(1000, "initialize", map[string]any{"protocolVersion": 1})
	return p
}

func (p *peer) send(m map[string]any) {
	p.Helper()
	m["jsonrpc"] = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		p.Fatal(err)
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		p.Fatal(err)
	}
}

// call makes a request and returns the answer.
func (p *peer) call(id int, method string, params any) message {
	p.Helper()
	p.send(map[string]any{"id": id, "method": method, "params": params})
	return p.answer(id)
}

// answer is that to a request.
func (p *peer) answer(id int) message {
	p.Helper()
	return p.receive(func(m message) bool { return m.Method == "" && m.ID != nil && *m.ID == id })
}

// receive returns the next message of a kind.
func (p *peer) receive(wanted func(message) bool) message {
	p.Helper()
	if i := slices.IndexFunc(p.seen, wanted); i >= 0 {
		m := p.seen[i]
		p.seen = slices.Delete(p.seen, i, i+1)
		return m
	}
	defer time.AfterFunc(hang, func() { p.cmd.Process.Kill() }).Stop()
	for {
		line, err := p.lines.ReadBytes('\n')
		if err != nil {
			p.Fatalf("%v; stderr: %s", err, p.cmd.Stderr)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			p.Fatalf("%v: %s", err, line)
		}
		if wanted(m) {
			return m
		}
		p.seen = append(p.seen, m)
	}
}

// newSession returns the id of a session in that directory.
func (p *peer) newSession(dir string) string {
	p.Helper()
	m := p.call(1001, "session/new", map[string]any{"cwd": dir, "mcpServers": []any{}})
	var r struct{ SessionID string }
	if err := json.Unmarshal(m.Result, &r); err != nil || r.SessionID == "" {
		p.Fatalf("session/new: %v %s %v", err, m.Result, m.Error)
	}
	return r.SessionID
}

// prompt begins a turn.
func (p *peer) prompt(id int, session, text string) {
	p.Helper()
	p.send(map[string]any{"id": id, "method": "session/prompt", "params": map[string]any{
		"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}},
	}})
}

// stopped returns the stop reason of a turn, once it has ended.
func (p *peer) stopped(id int) string {
	p.Helper()
	m := p.answer(id)
	var r struct{ StopReason string }
	if err := json.Unmarshal(m.Result, &r); err != nil {
		p.Fatalf("%v; error %v", err, m.Error)
	}
	return r.StopReason
}

// drain reads whatever comes from now on.
func (p *peer) drain() { go io.Copy(io.Discard, p.lines) } // ends with the parent

// ended checks that the parent ends by itself, and nothing of it is left.
func (p *peer) ended() {
	p.Helper()
	hung := time.AfterFunc(hang, func() { p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	if !hung.Stop() {
		p.Fatalf("the parent does not end; stderr: %s", p.cmd.Stderr)
	}
	if err != nil {
		p.Errorf("the parent: %v; stderr: %s", err, p.cmd.Stderr)
	}
	for pid, command := range p.alive() { // at once: it has waited for them
		p.Errorf("alive when the parent had ended: %d %s", pid, command)
	}
}
