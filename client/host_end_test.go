//go:build unix

package client_test

import (
	"context"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/traces"
	"github.com/errand-acp/errand/permission"
)

// What waits for its turn when the agent is closed is not begun any more.
func TestNothingIsBegunAfterTheEnd(t *testing.T) {
	const atOnce = 64 // requests that are served
	asked := make(chan struct{}, 2*atOnce)
	over := make(chan struct{})
	h := host(t, client.Options{Files: client.FilesRead, Permission: asking(permission.PolicyFunc(func(context.Context, permission.Request) permission.Decision {
		asked <- struct{}{}
		<-over
		return permission.Decision{}
	}))}, `on session/prompt
  repeat 100
    background
      request fs/read_text_file {"sessionId":"$session","path":"$cwd/file"}
    end
  end
  wait forever`)
	turn := h.ask(t.Context(), h.session(), "go")
	for range atOnce {
		receive(t, asked)
	}
	traces.Until(t, "all have been sent", func() bool { return h.agent.Conn().Stats().OpenRequests == 100 })
	ended := make(chan struct{})
	go func() { // ends with Kill
		defer close(ended)
		h.agent.Kill()
	}()
	traces.Until(t, "the end has begun", func() bool {
		acts, _ := h.agent.Over()
		return acts
	})
	close(over)
	receive(t, ended)
	h.await(turn)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.files) != atOnce || len(asked) != 0 {
		t.Errorf("%d files are told, and %d questions were asked at the end", len(h.files), len(asked))
	}
}

// A command that starts while the agent is ended, which the sweep does not find, ends too.
func TestTerminalAtTheEnd(t *testing.T) {
	var h *hosted
	killed := make(chan struct{})
	h = host(t, client.Options{Terminals: true, Permission: permission.Allow(), Sweep: client.SweepGroup}, "on session/prompt"+sh("echo $$ > new; mv new pid; exec sleep 1000"))
	first := true
	h.opts.ObserveCommand = func(client.CommandRecord) {
		if !first {
			return
		}
		first = false
		h.Await("pid")
		go func() { // ends with Kill
			defer close(killed)
			h.agent.Kill()
		}()
		traces.Until(h.TB, "no terminals are kept", func() bool {
			_, terminals := h.agent.Over()
			return terminals
		})
	}
	turn := h.ask(t.Context(), h.session(), "go")
	receive(t, killed)
	h.await(turn)
	h.Reaped("pid")
}
