package client

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// counter is an acp.Client, and nothing else, that counts updates.
type counter struct {
	acp.Client
	n    atomic.Int64
	want int64
	all  chan struct{} // closed when they are there
}

func newCounter(want int) *counter {
	return &counter{Client: &Handlers{}, want: int64(want), all: make(chan struct{})}
}

func (c *counter) SessionUpdate(context.Context, acp.SessionNotification) error {
	if c.n.Add(1) == c.want {
		close(c.all)
	}
	return nil
}

// flood writes n small updates as raw bytes, as fast as it can.
func flood(w io.Writer, n int) {
	line := []byte(chunkLine("0192f0c1-6b0e-7cc1-8f0a-6a3a2d6f8f11", "some words ") + "\n")
	const block = 256
	lines := bytes.Repeat(line, block)
	for sent := 0; sent < n; sent += block {
		if _, err := w.Write(lines[:min(n-sent, block)*len(line)]); err != nil {
			return
		}
	}
}

// receive has n updates flood a connection and returns how long it took.
func receive(b *testing.B, n int, dial func(acp.Client, io.Writer, io.Reader) connection) time.Duration {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	c := newCounter(n)
	conn := dial(c, io.Discard, r)
	begin := time.Now()
	go func() {
		flood(w, n)
		w.Close()
	}()
	<-c.all
	took := time.Since(begin)
	<-conn.Done()
	if got := c.n.Load(); got != int64(n) {
		b.Fatalf("%d of %d updates", got, n)
	}
	return took
}

func dialSDK(c acp.Client, w io.Writer, r io.Reader) connection {
	return acp.NewClientSideConnection(c, w, r)
}

func dialConn(c acp.Client, w io.Writer, r io.Reader) connection { return NewConn(c, w, r, nil) }

// BenchmarkUpdates compares how fast both connections deliver small updates of text to
// SessionUpdate. The SDK's breaks when 1024 wait, so it gets a thousand at a time, each
// on a connection of its own.
func BenchmarkUpdates(b *testing.B) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	var sdk, ours time.Duration
	var n, m int
	for b.Loop() {
		for range 20 {
			sdk += receive(b, 1000, dialSDK)
			n += 1000
		}
		ours += receive(b, 300_000, dialConn)
		m += 300_000
	}
	perSDK, perOurs := sdk.Seconds()/float64(n), ours.Seconds()/float64(m)
	b.ReportMetric(1/perSDK, "sdk/s")
	b.ReportMetric(1/perOurs, "errand/s")
	b.ReportMetric(perSDK/perOurs, "x")
}

// BenchmarkBurst delivers a million updates without a pause, and loses none.
func BenchmarkBurst(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		took := receive(b, 1_000_000, dialConn)
		b.ReportMetric(1e6/took.Seconds(), "updates/s")
	}
}

// BenchmarkSlowConsumer reports how much is held while the client takes nothing and the
// agent writes as much as it can.
func BenchmarkSlowConsumer(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(heldBySlowConsumer(b, 200_000))/(1<<20), "MiB")
	}
}

// heldBySlowConsumer returns by how many bytes the heap grows while the first callback
// blocks and an agent wants to write n updates.
func heldBySlowConsumer(t testing.TB, n int) int64 {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	release := make(chan struct{})
	var got atomic.Int64
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	conn := NewConn(&Handlers{OnSessionUpdate: func(context.Context, acp.SessionNotification) error {
		<-release
		got.Add(1)
		return nil
	}}, io.Discard, r, nil)
	go func() {
		flood(w, n)
		w.Close()
	}()
	// The agent is held back when no more frames are read.
	for last := int64(-1); conn.Stats().Received != last || last == 0; time.Sleep(20 * time.Millisecond) {
		last = conn.Stats().Received
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if read := conn.Stats().Received; read == int64(n) {
		t.Errorf("all %d were read", n)
	}
	close(release)
	awaitClosed(t, conn.Done(), "end of the connection")
	for deadline := time.Now().Add(connPatience); got.Load() != int64(n); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d updates", got.Load(), n)
		}
	}
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// A slow client costs what the queue's bound says, about, and loses nothing.
func TestConnSlowConsumer(t *testing.T) {
	if held := heldBySlowConsumer(t, 100_000); held > 4*8<<20 {
		t.Errorf("%d bytes are held for a queue of 8 MiB", held)
	}
}
