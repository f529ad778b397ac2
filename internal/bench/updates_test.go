package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
)

const (
	// sdkBurst is how many updates of one prompt acp.ClientSideConnection survives: it
	// closes the connection when 1,024 are waiting.
	sdkBurst = 1000
	// burst is the size of the one that nothing of may be lost.
	burst = 1_000_000
	// slowUpdates is how many a slow consumer gets, about 35 MB of them.
	slowUpdates = 250_000
)

// BenchmarkUpdates is how many text updates a second get from a process that writes
// raw bytes to a handler's SessionUpdate, by client.Conn and by the SDK's connection.
// It is done in prompts of as many updates as the latter survives.
func BenchmarkUpdates(b *testing.B) {
	seen := 0
	handler := checkOrder(b, &seen)
	errand, sdk := connect(b, errandConn, handler), connect(b, sdkConn, handler)
	var ofErrand, ofSDK time.Duration
	prompts := 0
	for b.Loop() {
		// By turns, so that whatever else the machine does meets both.
		ofErrand += timed(func() { flooded(b, errand, &seen, sdkBurst) })
		ofSDK += timed(func() { flooded(b, sdk, &seen, sdkBurst) })
		prompts++
	}
	perSecond := func(d time.Duration) float64 { return float64(prompts*sdkBurst) / d.Seconds() }
	b.ReportMetric(perSecond(ofErrand), "errand-updates/s")
	b.ReportMetric(perSecond(ofSDK), "sdk-updates/s")
	b.ReportMetric(perSecond(ofErrand)/perSecond(ofSDK), "ratio")
}

// BenchmarkBurst is one prompt with a million updates.
func BenchmarkBurst(b *testing.B) {
	seen := 0
	conn := connect(b, errandConn, checkOrder(b, &seen))
	var took time.Duration
	for b.Loop() {
		took += timed(func() { flooded(b, conn, &seen, burst) })
	}
	b.ReportMetric(float64(b.N)*burst/took.Seconds(), "updates/s")
	b.ReportMetric(0, "lost") // flooded fails on the first that is
}

// BenchmarkSlowConsumer is what the heap grows by while a handler takes its time and
// the agent has all of its updates ready.
func BenchmarkSlowConsumer(b *testing.B) {
	seen := 0
	check := checkOrder(b, &seen)
	var peak atomic.Uint64
	conn := connect(b, errandConn, &client.Handlers{
		OnSessionUpdate: func(ctx context.Context, n acp.SessionNotification) error {
			if seen%(slowUpdates/50) == 0 {
				time.Sleep(20 * time.Millisecond) // the agent fills whatever there is to fill
				peak.Store(max(peak.Load(), heap()))
			}
			return check.SessionUpdate(ctx, n)
		},
	})
	for b.Loop() {
		before := heap()
		peak.Store(before)
		flooded(b, conn, &seen, slowUpdates)
		b.ReportMetric(float64(peak.Load()-before)/(1<<20), "peak-MiB")
		b.ReportMetric(float64(slowUpdates*len(updateLine(0)))/(1<<20), "sent-MiB")
	}
}

// heap is what lives on the heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// checkOrder is a handler that counts updates in seen and fails on one that is not
// the next.
func checkOrder(b *testing.B, seen *int) *client.Handlers {
	texts := make([]string, blockLines)
	for i := range texts {
		texts[i] = updateText(i)
	}
	return &client.Handlers{
		OnSessionUpdate: func(_ context.Context, n acp.SessionNotification) error {
			if chunk := n.Update.AgentMessageChunk; chunk == nil || chunk.Content.Text == nil || chunk.Content.Text.Text != texts[*seen%blockLines] {
				b.Errorf("update %d is %+v", *seen, n.Update)
			}
			*seen++
			return nil
		},
	}
}

// flooded prompts for n updates and checks that all of them came.
func flooded(b *testing.B, conn acp.Agent, seen *int, n int) {
	*seen = 0
	resp, err := conn.Prompt(b.Context(), acp.PromptRequest{
		SessionId: session, Prompt: []acp.ContentBlock{acp.TextBlock(strconv.Itoa(n))},
	})
	if err != nil || resp.StopReason != acp.StopReasonEndTurn || *seen != n {
		b.Fatalf("%d of %d updates, stop reason %q, %v", *seen, n, resp.StopReason, err)
	}
}

func errandConn(c acp.Client, in io.Writer, out io.Reader) acp.Agent {
	return client.NewConn(c, in, out, nil)
}

func sdkConn(c acp.Client, in io.Writer, out io.Reader) acp.Agent {
	conn := acp.NewClientSideConnection(c, in, out)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	return conn
}

// connect starts the flooding agent, connects to it by newConn, and ends it with the
// benchmark.
func connect(b *testing.B, newConn func(acp.Client, io.Writer, io.Reader) acp.Agent, handler acp.Client) acp.Agent {
	command := rawCommand("flood", b.TempDir())
	cmd := exec.Command(command.Path, command.Args...)
	cmd.Dir = command.Dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	conn := newConn(handler, stdin, stdout)
	if _, err := conn.Initialize(b.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber}); err != nil {
		b.Fatal(err)
	}
	resp, err := conn.NewSession(b.Context(), acp.NewSessionRequest{Cwd: command.Dir, McpServers: []acp.McpServer{}})
	if err != nil || resp.SessionId != session {
		b.Fatal(fmt.Errorf("session %q: %w", resp.SessionId, err))
	}
	return conn
}
