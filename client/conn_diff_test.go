package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	gocmp "github.com/google/go-cmp/cmp"
)

// connection is what acp.ClientSideConnection and Conn have in common.
type connection interface {
	acp.Agent
	acp.AgentLoader
	UnstableDeleteSession(context.Context, acp.UnstableDeleteSessionRequest) (acp.UnstableDeleteSessionResponse, error)
	UnstableForkSession(context.Context, acp.UnstableForkSessionRequest) (acp.UnstableForkSessionResponse, error)
	CallExtension(ctx context.Context, method string, params any) (json.RawMessage, error)
	NotifyExtension(ctx context.Context, method string, params any) error
	Done() <-chan struct{}
}

var (
	_ connection = (*acp.ClientSideConnection)(nil)
	_ connection = (*Conn)(nil)
)

// exchange is one exchange, as a peer plays it.
type exchange struct {
	name string
	// on says what the peer writes when a frame with that method arrives; $ID is the
	// frame's id. "start" is written at once.
	on map[string]string
	// end closes the peer's output with the last of it, where nothing is to come.
	end bool
	// do is what the client does: by default a prompt, "hi" in session "s".
	do func(r *playing)
	// awaits is how many frames the peer waits for before the exchange is over.
	awaits int

	// why is why the two differ on purpose, empty where they agree. Then ours is in the
	// transcript of Conn only, and theirs in the other one only.
	why, ours, theirs string
	// sometimes is set where the SDK differs now and then only: ours is in the transcript
	// of Conn always, and the two agree where it is in the other one.
	sometimes bool
}

// playing is an exchange being played through one connection.
type playing struct {
	exchange
	t    *testing.T
	conn connection
	ctx  context.Context

	mu sync.Mutex // guards what is below
	// transcript is what the client sees, in order; answers what the peer gets, which is
	// in no order.
	transcript, answers []string
	got                 chan struct{} // one for each frame that the peer gets
}

func (r *playing) see(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.transcript = append(r.transcript, fmt.Sprintf(format, args...))
}

// result notes how a call ended.
func result[T any](r *playing) func(T, error) {
	return func(v T, err error) {
		if err != nil {
			r.failed(err)
			return
		}
		r.see("result %s", asJSON(r.t, v))
	}
}

func (r *playing) failed(err error) {
	var e *acp.RequestError
	switch {
	case err == nil:
		r.see("sent")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		r.see("context error")
	case errors.As(err, &e):
		r.see("error %s", e.Error())
	default:
		r.see("failed")
	}
}

func (r *playing) prompt(session string) {
	result[acp.PromptResponse](r)(r.conn.Prompt(r.ctx, promptText(session, "hi")))
}

// diffClient notes what the agent asks and tells.
type diffClient struct{ r *playing }

func note[P, R any](c diffClient, p P, result R, err error) (R, error) {
	c.r.see("asked %T %s", p, asJSON(c.r.t, p))
	return result, err
}

func (c diffClient) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.r.see("update %s", asJSON(c.r.t, n))
	return nil
}

func (c diffClient) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	if p.ToolCall.Title != nil && *p.ToolCall.Title == "cancel" {
		return note(c, p, cancelledOutcome, nil)
	}
	return note(c, p, acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(p.Options[len(p.Options)-1].OptionId)}, nil)
}

func (c diffClient) ReadTextFile(_ context.Context, p acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	switch p.Path {
	case "/missing":
		return note(c, p, acp.ReadTextFileResponse{}, error(acp.NewInvalidParams(map[string]any{"path": p.Path})))
	case "/secret":
		return note(c, p, acp.ReadTextFileResponse{}, errors.New("the password is hunter2"))
	}
	return note(c, p, acp.ReadTextFileResponse{Content: "text <&> ä"}, nil)
}

func (c diffClient) WriteTextFile(_ context.Context, p acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return note(c, p, acp.WriteTextFileResponse{}, nil)
}

func (c diffClient) CreateTerminal(_ context.Context, p acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return note(c, p, acp.CreateTerminalResponse{TerminalId: "t"}, nil)
}

func (c diffClient) KillTerminal(_ context.Context, p acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return note(c, p, acp.KillTerminalResponse{}, nil)
}

func (c diffClient) TerminalOutput(_ context.Context, p acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return note(c, p, acp.TerminalOutputResponse{Output: "o", ExitStatus: &acp.TerminalExitStatus{ExitCode: acp.Ptr(1)}}, nil)
}

func (c diffClient) ReleaseTerminal(_ context.Context, p acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return note(c, p, acp.ReleaseTerminalResponse{}, error(acp.NewMethodNotFound("terminal/release")))
}

func (c diffClient) WaitForTerminalExit(_ context.Context, p acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return note(c, p, acp.WaitForTerminalExitResponse{Signal: acp.Ptr("KILL")}, nil)
}

func (c diffClient) HandleExtensionMethod(_ context.Context, method string, params json.RawMessage) (any, error) {
	c.r.see("extension %s %s", method, params)
	if method == "_unknown" {
		return nil, acp.NewMethodNotFound(method)
	}
	return map[string]any{"echo": params}, nil
}

// play plays a script through a connection and returns both sides' transcript.
func (s exchange) play(t *testing.T, patience time.Duration, dial func(acp.Client, io.Writer, io.Reader) connection) string {
	fromPeer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, toPeer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := &playing{exchange: s, t: t, ctx: ctx, got: make(chan struct{}, 10000)}
	if r.do == nil {
		r.do = func(r *playing) { r.prompt("s") }
	}
	r.conn = dial(diffClient{r}, toPeer, fromPeer)
	var wg sync.WaitGroup
	wg.Go(func() { r.playPeer(in, out) })
	r.do(r)
	for range s.awaits {
		select {
		case <-r.got:
		case <-ctx.Done():
		}
	}
	out.Close()
	awaitClosed(t, r.conn.Done(), "end of the connection")
	toPeer.Close()
	wg.Wait()
	in.Close()
	fromPeer.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.answers)
	return strings.Join(append(append(r.transcript, ""), r.answers...), "\n")
}

func (r *playing) playPeer(in io.Reader, out io.WriteCloser) {
	// What it writes must not wait for what it reads.
	lines := make(chan string, 10000)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(lines)
	wg.Go(func() {
		for l := range lines {
			io.WriteString(out, l)
			if r.end {
				out.Close()
			}
		}
	})
	if start := r.on["start"]; start != "" {
		lines <- start + "\n"
	}
	for in := bufio.NewReader(in); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var f peerFrame
		if err := json.Unmarshal(line, &f); err != nil {
			r.see("the peer cannot read %s", line)
			continue
		}
		text := fmt.Sprintf("peer: %s %s %s%s", f.Method, f.Params, f.Result, f.Error)
		if f.Method == "" || r.on[f.Method] == "" && f.ID == nil {
			text = fmt.Sprintf("peer: id %s %s %s %s%s", f.ID, f.Method, f.Params, f.Result, f.Error)
		}
		if answer := r.on[f.Method]; answer != "" && f.Method != "" {
			if !r.end {
				answer += "\n"
			}
			lines <- strings.ReplaceAll(answer, "$ID", string(f.ID))
		}
		r.mu.Lock()
		r.answers = append(r.answers, text)
		r.mu.Unlock()
		r.got <- struct{}{}
	}
}

// Both connections show the same where the SDK's loses nothing.
func TestDifferential(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler)) // where the SDK logs lines whole
	agree := 0
	all := scripts()
	for _, s := range all {
		if s.why == "" {
			agree++
		}
		t.Run(s.name, func(t *testing.T) {
			patience := connPatience
			if s.why != "" && s.theirs == "" {
				patience = 300 * time.Millisecond // for what never comes
			}
			sdk := s.play(t, patience, func(c acp.Client, w io.Writer, r io.Reader) connection {
				return acp.NewClientSideConnection(c, w, r)
			})
			ours := s.play(t, connPatience, func(c acp.Client, w io.Writer, r io.Reader) connection {
				return NewConn(c, w, r, nil)
			})
			if s.sometimes {
				if !strings.Contains(ours, s.ours) || sdk != ours && strings.Contains(sdk, s.ours) {
					t.Errorf("(-SDK +ours)\n%s", gocmp.Diff(strings.Split(sdk, "\n"), strings.Split(ours, "\n")))
				}
				return
			}
			switch {
			case s.why == "" && sdk != ours:
				t.Errorf("(-SDK +ours)\n%s", gocmp.Diff(strings.Split(sdk, "\n"), strings.Split(ours, "\n")))
			case s.why == "" && len(strings.TrimSpace(ours)) == 0:
				t.Error("the script shows nothing")
			case s.why == "":
			case s.ours == "" && s.theirs == "",
				s.ours != "" && (strings.Contains(sdk, s.ours) || !strings.Contains(ours, s.ours)),
				s.theirs != "" && (!strings.Contains(sdk, s.theirs) || strings.Contains(ours, s.theirs)):
				t.Errorf("they should differ (%s) in %q and %q\nSDK:\n%.2000s\nours:\n%.2000s", s.why, s.theirs, s.ours, sdk, ours)
			}
		})
	}
	if agree < 40 {
		t.Errorf("only %d scripts agree", agree)
	}
	if names := slices.CompactFunc(slices.SortedFunc(slices.Values(all), func(a, b exchange) int { return cmp.Compare(a.name, b.name) }), func(a, b exchange) bool { return a.name == b.name }); len(names) != len(all) {
		t.Errorf("%d of %d scripts have names of their own", len(names), len(all))
	}
}
