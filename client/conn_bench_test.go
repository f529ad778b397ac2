package client

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"

	"github.com/coder/acp-go-sdk"
)

// counter is an acp.Client that counts updates.
type counter struct {
	*Handlers
	n    atomic.Int64
	want int64
	all  chan struct{}
}

func (c *counter) SessionUpdate(context.Context, acp.SessionNotification) error {
	if c.n.Add(1) == c.want {
		close(c.all)
	}
	return nil
}

// bare hides what Handlers has beside acp.Client.
type bare struct{ acp.Client }

func newCounter(want int) *counter {
	return &counter{Handlers: &Handlers{}, want: int64(want), all: make(chan struct{})}
}

// flood writes n updates as raw bytes, like an agent that streams as fast as it can.
func flood(w io.Writer, n int) error {
	line := []byte(chunkLine("0192f0c1-6b0e-7cc1-8f0a-6a3a2d6f8f11", "some words ") + "\n")
	block := bytes.Repeat(line, 256)
	for n > 0 {
		k := min(n, 256)
		if _, err := w.Write(block[:k*len(line)]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// paced floods the SDK, whose connection breaks when more than 1024 updates wait.
func paced(w io.Writer, n int, c *counter) error {
	line := []byte(chunkLine("0192f0c1-6b0e-7cc1-8f0a-6a3a2d6f8f11", "some words ") + "\n")
	block := bytes.Repeat(line, 256)
	for sent := 0; sent < n; {
		k := min(n-sent, 256)
		if _, err := w.Write(block[:k*len(line)]); err != nil {
			return err
		}
		sent += k
		for int64(sent)-c.n.Load() > 512 {
		}
	}
	return nil
}

func BenchmarkUpdates(b *testing.B) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	b.Run("sdk", func(b *testing.B) {
		r, w, _ := os.Pipe()
		defer r.Close()
		c := newCounter(b.N)
		conn := acp.NewClientSideConnection(bare{c}, io.Discard, r)
		b.ResetTimer()
		go paced(w, b.N, c)
		<-c.all
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
		w.Close()
		<-conn.Done()
	})
	b.Run("errand", func(b *testing.B) {
		b.ReportAllocs()
		r, w, _ := os.Pipe()
		defer r.Close()
		c := newCounter(b.N)
		conn := NewConn(bare{c}, io.Discard, r, nil)
		b.ResetTimer()
		go flood(w, b.N)
		<-c.all
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
		w.Close()
		<-conn.Done()
	})
}
