package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// connPatience bounds every wait of these tests: longer means a hang.
const connPatience = 60 * time.Second

// connPeer is an agent that a test plays by hand, over real pipes.
type connPeer struct {
	t   testing.TB
	out *os.File      // what it writes
	in  *bufio.Reader // what it reads
	raw *os.File      // in's file
	// The client's ends.
	fromPeer, toPeer *os.File
}

func newConnPeer(t testing.TB) *connPeer {
	t.Helper()
	fromPeer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, toPeer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &connPeer{t: t, out: out, in: bufio.NewReaderSize(in, 1<<20), raw: in, fromPeer: fromPeer, toPeer: toPeer}
	t.Cleanup(func() {
		for _, f := range []*os.File{out, in, toPeer, fromPeer} {
			f.Close()
		}
	})
	return p
}

// dial starts a connection to the peer that ends with the test.
func (p *connPeer) dial(c acp.Client, o *ConnOptions) *Conn {
	p.t.Helper()
	conn := NewConn(c, p.toPeer, p.fromPeer, o)
	p.t.Cleanup(func() {
		conn.Shut(io.ErrClosedPipe)
		p.out.Close()
		p.raw.Close()
		p.toPeer.Close()
		awaitClosed(p.t, conn.Done(), "the end of the connection")
	})
	return conn
}

// send writes lines, each with a newline.
func (p *connPeer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

// peerFrame is one frame as the peer reads it.
type peerFrame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// read reads one frame.
func (p *connPeer) read() peerFrame {
	p.t.Helper()
	p.raw.SetReadDeadline(time.Now().Add(connPatience))
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the peer reads: %v", err)
	}
	var f peerFrame
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		p.t.Fatalf("the peer reads %q: %v", line, err)
	}
	return f
}

// expect reads one frame and fails unless it has that method.
func (p *connPeer) expect(method string) peerFrame {
	p.t.Helper()
	f := p.read()
	if f.Method != method {
		p.t.Fatalf("the peer reads method %q (%s%s), want %q", f.Method, f.Result, f.Error, method)
	}
	return f
}

// silent fails if there is anything to read.
func (p *connPeer) silent(d time.Duration) {
	p.t.Helper()
	p.raw.SetReadDeadline(time.Now().Add(d))
	if line, err := p.in.ReadString('\n'); err == nil {
		p.t.Fatalf("the peer reads %q, want nothing", line)
	}
}

func (p *connPeer) reply(f peerFrame, result string) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, f.ID, result)
}

// chunk writes a chunk of the agent's message.
func (p *connPeer) chunk(session, text string) {
	p.t.Helper()
	p.send("%s", chunkLine(session, text))
}

func chunkLine(session, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`, session, quoted)
}

func awaitClosed(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(connPatience):
		t.Fatalf("no %s after %v", what, connPatience)
	}
}

// async runs f and returns a channel of its result.
func async[T any](f func() (T, error)) <-chan outcome[T] {
	c := make(chan outcome[T], 1)
	go func() {
		v, err := f()
		c <- outcome[T]{v, err}
	}()
	return c
}

type outcome[T any] struct {
	v   T
	err error
}

func await[T any](t testing.TB, c <-chan outcome[T]) (T, error) {
	t.Helper()
	select {
	case o := <-c:
		return o.v, o.err
	case <-time.After(connPatience):
		t.Fatalf("nothing after %v", connPatience)
		panic("unreachable")
	}
}

// connText collects what agent_message_chunks say.
type connText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (x *connText) add(_ context.Context, n acp.SessionNotification) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := n.Update.AgentMessageChunk; c != nil && c.Content.Text != nil {
		x.b.WriteString(c.Content.Text.Text)
	}
	return nil
}

func (x *connText) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

func promptText(session, text string) acp.PromptRequest {
	return acp.PromptRequest{SessionId: acp.SessionId(session), Prompt: []acp.ContentBlock{acp.TextBlock(text)}}
}
