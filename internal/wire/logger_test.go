package wire

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Neither panics nor what is logged of frames shows what is in them.
func TestLogger(t *testing.T) {
	var out lockedBuffer
	p := dial(t, &hooks{
		run:   func(context.Context, string, string) { panic("secret in a panic") },
		serve: func(r *Request) (any, error) { return "secret result", nil },
	}, &Options{
		Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") },
	})
	call := make(chan result, 1)
	go func() {
		raw, err := p.conn.Call(t.Context(), "peer/call", "secret params", nil)
		call <- result{string(raw), err}
	}()
	p.read()
	p.send(`{"jsonrpc":"2.0","method":"notify/a","params":"secret note"}`)
	p.send(`{"jsonrpc":"2.0","id":"x","method":"ask/a","params":"secret request"}`)
	p.send(`secret noise`)
	p.read()
	p.send(`{"jsonrpc":"2.0","id":1,"result":"secret reply"}`)
	p.result(call)
	eventually(t, "all is logged", func() bool { return strings.Count(out.String(), "\n") >= 7 })
	text := out.String()
	if strings.Contains(text, "secret") {
		t.Errorf("the log shows contents:\n%s", text)
	}
	for _, want := range []string{"sent", "received", "answered", "noise", "panic", "method=peer/call", "id=1", "bytes="} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %q:\n%s", want, text)
		}
	}
	if diff := cmp.Diff([]string{"*** noise"}, p.conn.Stats().Noise); diff != "" {
		t.Errorf("noise (-want +got)\n%s", diff)
	}
}

// badLog is a slog.Handler that panics.
type badLog struct{ slog.Handler }

func (badLog) Enabled(context.Context, slog.Level) bool  { return true }
func (badLog) Handle(context.Context, slog.Record) error { panic("in the log") }

// A Logger and a Redact that panic cost what they were to tell.
func TestLoggerPanics(t *testing.T) {
	p := dial(t, &hooks{
		run:   func(context.Context, string, string) { panic("in a callback") },
		serve: func(*Request) (any, error) { return "served", nil },
	}, &Options{
		Logger: slog.New(badLog{}),
		Redact: func(string) string { panic("in Redact") },
	})
	call := p.call(t.Context(), "peer/call")
	p.read()
	p.send(`noise`)
	p.send(`{"method":"notify/a"}`)
	p.send(`{"id":"a","method":"ask/a"}`)
	if m := p.read(); string(m.Result) != `"served"` {
		t.Errorf("answer %+v", m)
	}
	p.send(`{"id":1,"result":"r"}`)
	if got, err := p.result(call); got != `"r"` || err != nil {
		t.Errorf("reply %s, %v", got, err)
	}
	if s := p.conn.Stats(); s.NoiseLines != 1 || strings.Join(s.Noise, "") != "" || s.Panics == 0 {
		t.Errorf("%+v", s)
	}
}

// What of a frame the peer chose is redacted and cut before it is logged.
func TestLoggerRedacts(t *testing.T) {
	var out lockedBuffer
	p := dial(t, &hooks{}, &Options{
		Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "***") },
	})
	long := strings.Repeat("x", maxNoiseLine-3)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"secret","method":"a/secret"}`,
		`{"jsonrpc":"2.0","id":"%ssecret","method":"%ssecret"}`,
		`{"jsonrpc":"2.0","id":"secret","method":"notify/secret"}`,
	} {
		p.send("%s", strings.ReplaceAll(line, "%s", long))
		p.read()
	}
	p.send(`{"jsonrpc":"2.0","id":"secret","result":1}`)
	p.send(`{"jsonrpc":"2.0","method":"%ssecret"}`, long)
	eventually(t, "all is logged", func() bool { return strings.Count(out.String(), "\n") >= 7 })
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "sec") || len(line) > 3*maxNoiseLine {
			t.Errorf("logged: %s", line)
		}
	}
}

type lockedBuffer struct {
	log
	b bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
