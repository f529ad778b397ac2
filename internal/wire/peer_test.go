package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait: longer means a hang.
const patience = 10 * time.Second

// hooks is a Handler made of functions; each may be nil.
type hooks struct {
	// notified is called on the reader.
	notified func(method string, params []byte)
	run      func(ctx context.Context, method, params string)
	receive  func(r *Request)
	serve    func(r *Request) (any, error)
}

// called is what hooks defers.
type called struct{ method, params string }

func (h *hooks) Classify(method string) Class {
	switch {
	case strings.HasPrefix(method, "peer/"):
		return ClassPeer
	case strings.HasPrefix(method, "notify/"):
		return ClassNotification
	case strings.HasPrefix(method, "ask/"):
		return ClassRequest
	}
	return ClassUnknown
}

func (h *hooks) Parse(string, *Scan) any { return nil }

func (h *hooks) Notification(method string, params []byte, _ any) any {
	if h.notified != nil {
		h.notified(method, params)
	}
	if h.run == nil {
		return nil
	}
	return called{method, string(params)}
}

func (h *hooks) Run(ctx context.Context, v any) { h.run(ctx, v.(called).method, v.(called).params) }

func (h *hooks) Receive(r *Request) {
	if h.receive != nil {
		h.receive(r)
	}
}

func (h *hooks) Serve(r *Request) (any, error) {
	if h.serve == nil {
		return nil, &Error{Code: -32601, Message: "Method not found"}
	}
	return h.serve(r)
}

// peer is the other side, played by the test.
type peer struct {
	t    testing.TB
	out  io.WriteCloser
	in   io.ReadCloser
	got  *bufio.Reader
	conn *Conn
}

// dial connects a Conn to a peer through pipes that hold nothing. Both end with the
// test.
func dial(t testing.TB, h Handler, o *Options) *peer {
	fromPeer, out := io.Pipe()
	in, toPeer := io.Pipe()
	p := &peer{t: t, out: out, in: in, got: bufio.NewReader(in)}
	p.conn = New(fromPeer, toPeer, h, o)
	p.conn.Listen()
	t.Cleanup(func() {
		p.conn.Shut(io.ErrClosedPipe)
		in.Close()
		out.Close()
		p.wait(p.conn.Done(), "end of the connection")
	})
	return p
}

// send writes one line.
func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

type msg struct {
	ID                    json.RawMessage
	Method                string
	Params, Result, Error json.RawMessage
}

// read reads one frame.
func (p *peer) read() msg {
	p.t.Helper()
	var m msg
	done := make(chan error, 1)
	go func() {
		line, err := p.got.ReadString('\n')
		if err == nil {
			err = json.Unmarshal([]byte(line), &m)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			p.t.Fatalf("the peer reads: %v", err)
		}
	case <-time.After(patience):
		p.t.Fatal("the peer has nothing to read")
	}
	return m
}

func (p *peer) wait(c <-chan struct{}, what string) {
	p.t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		p.t.Fatalf("no %s after %v", what, patience)
	}
}

// eventually polls until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// result is how a call ended.
type result struct {
	text string
	err  error
}

// call begins a call.
func (p *peer) call(ctx context.Context, method string) <-chan result {
	c := make(chan result, 1)
	go func() {
		raw, err := p.conn.Call(ctx, method, nil, nil)
		c <- result{string(raw), err}
	}()
	return c
}

func (p *peer) result(c <-chan result) (string, error) {
	p.t.Helper()
	select {
	case r := <-c:
		return r.text, r.err
	case <-time.After(patience):
		p.t.Fatalf("the call has not ended after %v", patience)
		panic("unreachable")
	}
}

// log collects what happened, in order.
type log struct {
	mu   sync.Mutex
	list []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, fmt.Sprintf(format, args...))
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}
