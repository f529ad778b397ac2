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

// patience bounds every wait of these tests: longer means a hang.
const patience = 10 * time.Second

// peer is an agent that a test plays by hand, over real pipes.
type peer struct {
	t   testing.TB
	out *os.File      // what it writes
	in  *bufio.Reader // what it reads
	raw *os.File      // in's file
	// The client's ends.
	fromPeer, toPeer *os.File
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	fromPeer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, toPeer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, out: out, in: bufio.NewReaderSize(in, 1<<20), raw: in, fromPeer: fromPeer, toPeer: toPeer}
	t.Cleanup(func() {
		for _, f := range []*os.File{out, in, toPeer, fromPeer} {
			f.Close()
		}
	})
	return p
}

// dial starts a connection to the peer that ends with the test.
func (p *peer) dial(c acp.Client, o *ConnOptions) *Conn {
	p.t.Helper()
	conn := NewConn(c, p.toPeer, p.fromPeer, o)
	p.t.Cleanup(func() {
		conn.Shut(io.ErrClosedPipe)
		p.out.Close()
		p.raw.Close()
		p.toPeer.Close()
		wait(p.t, conn.Done(), "the end of the connection")
	})
	return conn
}

// send writes lines, each with a newline.
func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

// frame is one frame as the peer reads it.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// read reads one frame.
func (p *peer) read() frame {
	p.t.Helper()
	p.raw.SetReadDeadline(time.Now().Add(patience))
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the peer reads: %v", err)
	}
	var f frame
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		p.t.Fatalf("the peer reads %q: %v", line, err)
	}
	return f
}

// expect reads one frame and fails unless it has that method.
func (p *peer) expect(method string) frame {
	p.t.Helper()
	f := p.read()
	if f.Method != method {
		p.t.Fatalf("the peer reads method %q (%s%s), want %q", f.Method, f.Result, f.Error, method)
	}
	return f
}

// silent fails if there is anything to read.
func (p *peer) silent(d time.Duration) {
	p.t.Helper()
	p.raw.SetReadDeadline(time.Now().Add(d))
	if line, err := p.in.ReadString('\n'); err == nil {
		p.t.Fatalf("the peer reads %q, want nothing", line)
	}
}

func (p *peer) reply(f frame, result string) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, f.ID, result)
}

// chunk writes a chunk of the agent's message.
func (p *peer) chunk(session, text string) {
	p.t.Helper()
	p.send("%s", chunkLine(session, text))
}

func chunkLine(session, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`, session, quoted)
}

func wait(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("no %s after %v", what, patience)
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

func get[T any](t testing.TB, c <-chan outcome[T]) (T, error) {
	t.Helper()
	select {
	case o := <-c:
		return o.v, o.err
	case <-time.After(patience):
		t.Fatalf("nothing after %v", patience)
		panic("unreachable")
	}
}

// text collects what agent_message_chunks say.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (x *text) add(_ context.Context, n acp.SessionNotification) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := n.Update.AgentMessageChunk; c != nil && c.Content.Text != nil {
		x.b.WriteString(c.Content.Text.Text)
	}
	return nil
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

func promptText(session, text string) acp.PromptRequest {
	return acp.PromptRequest{SessionId: acp.SessionId(session), Prompt: []acp.ContentBlock{acp.TextBlock(text)}}
}
