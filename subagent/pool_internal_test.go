package subagent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 0, 1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 3: time.Second, 8: 32 * time.Second, 9: time.Minute, 10: time.Minute, 1000: time.Minute,
	} {
		check.Equal(t, "after failures", backoff(failures), want)
	}
}

// A pool whose agents are killed does not try to make any more.
func TestPoolKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kill, now := context.WithCancel(t.Context())
		p, err := NewPool("p", client.Command{Path: "/does/not/exist"}, &ACPOptions{Kill: kill}, &PoolOptions{Dirs: []string{t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		now()
		over := make(chan struct{})
		go func() { // ends with the keepers
			p.keepers.Wait()
			close(over)
		}()
		select {
		case <-over:
		case <-time.After(time.Hour):
			t.Error("it still tries, an hour later")
		}
	})
}
