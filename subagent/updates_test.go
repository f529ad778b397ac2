package subagent

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
)

// numbered returns an update that says its number and is counted with that many bytes.
func numbered(n, size int) client.Update {
	u := client.Update{Kind: fmt.Sprint(n)}
	u.Raw = make(json.RawMessage, size-updateSize(&u))
	return u
}

// pushing pushes n updates of a size on a goroutine that ends when all are in. It
// returns how many have gone in so far.
func pushing(q *updateQueue, n, size int) (in *int) {
	in = new(int)
	go func() {
		for i := range n {
			q.push(numbered(i, size))
			*in = i + 1
		}
	}()
	return in
}

func count(from, to int) []string {
	var numbers []string
	for n := from; n < to; n++ {
		numbers = append(numbers, fmt.Sprint(n))
	}
	return numbers
}

// reading collects what the queue yields; between two updates it waits for step.
func reading(q *updateQueue, step <-chan struct{}) (got *[]string, ended *bool) {
	got, ended = new([]string), new(bool)
	go func() { // ends with the queue
		for u := range q.all() {
			*got = append(*got, u.Kind)
			<-step
		}
		*ended = true
	}()
	return got, ended
}

func wantNumbers(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("read %d updates %.60q…, want %d %.60q…", len(got), got, len(want), want)
	}
}

func TestQueueKeepsTheNewestForAReader(t *testing.T) {
	q := newUpdateQueue()
	const size = 1 << 20
	for n := range 20 {
		q.push(numbered(n, size)) // never waits
	}
	q.close()
	var got []string
	for u := range q.all() {
		got = append(got, u.Kind)
	}
	wantNumbers(t, got, count(20-keepUnread/size, 20))
	for u := range q.all() {
		t.Errorf("update %s after the end", u.Kind)
	}

	q = newUpdateQueue()
	q.push(numbered(0, size))
	q.push(numbered(1, 2*keepUnread)) // larger than all that is kept
	q.close()
	got = nil
	for u := range q.all() {
		got = append(got, u.Kind)
	}
	wantNumbers(t, got, count(1, 2))
}

func TestQueueHoldsBackForASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, size = 50, holdBack / 4
		q := newUpdateQueue()
		step := make(chan struct{})
		got, ended := reading(q, step)
		synctest.Wait() // the reader has come
		in := pushing(q, n, size)
		synctest.Wait()
		if *in >= n || *in > 2*holdBack/size {
			t.Errorf("%d of %d are in while the reader rests", *in, n)
		}
		for range n {
			step <- struct{}{}
		}
		q.close()
		synctest.Wait()
		if *in != n || !*ended {
			t.Errorf("%d of %d are in, ended %v", *in, n, *ended)
		}
		wantNumbers(t, *got, count(0, n))
	})
}

func TestQueueReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, size = 50, holdBack / 4
		q := newUpdateQueue()
		step := make(chan struct{})
		got, ended := reading(q, step)
		synctest.Wait()
		in := pushing(q, n, size)
		synctest.Wait()
		q.release()
		synctest.Wait()
		if *in != n {
			t.Errorf("%d of %d are in after the release", *in, n)
		}
		q.close()
		close(step)
		synctest.Wait()
		if !*ended {
			t.Error("the reader has not come to an end")
		}
		wantNumbers(t, *got, count(0, n)) // and nothing was lost by it
	})
}

func TestQueueOfAReaderThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, size = 50, holdBack / 4
		q := newUpdateQueue()
		leave := make(chan struct{})
		go func() { // ends when it is told to
			for range q.all() {
				<-leave
				break
			}
		}()
		synctest.Wait()
		in := pushing(q, n, size)
		synctest.Wait()
		close(leave)
		synctest.Wait()
		if *in != n {
			t.Errorf("%d of %d are in after the reader left", *in, n)
		}
		if len(q.items) != 0 || q.bytes != 0 {
			t.Errorf("%d updates are kept for nobody", len(q.items))
		}
		for u := range q.all() {
			t.Errorf("update %s for a second reader", u.Kind)
		}
	})
}

func TestQueueClosedUnderAWaitingReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newUpdateQueue()
		step := make(chan struct{})
		close(step)
		got, ended := reading(q, step)
		synctest.Wait()
		q.push(numbered(0, 1000))
		q.push(numbered(1, 10*holdBack)) // one that is larger than the bound
		synctest.Wait()
		wantNumbers(t, *got, count(0, 2))
		if *ended {
			t.Error("the reader ended before the queue")
		}
		q.close()
		synctest.Wait()
		if !*ended {
			t.Error("the reader waits for ever")
		}
		q.push(numbered(2, 1000)) // too late, and no harm
	})
}

func TestQueueOfOneSession(t *testing.T) {
	q := newUpdateQueue()
	push := func(session string, n int) {
		u := numbered(n, 1000)
		u.SessionID = acp.SessionId(session)
		q.push(u)
	}
	push("s", 0) // before it is known which session it is
	push("other", 1)
	push("s", 2)
	q.only("s")
	if q.bytes != 2000 {
		t.Errorf("%d bytes are counted, want 2000", q.bytes)
	}
	push("other", 3)
	push("", 4)
	push("s", 5)
	q.close()
	var got []string
	for u := range q.all() {
		got = append(got, u.Kind)
	}
	wantNumbers(t, got, []string{"0", "2", "5"})
}
