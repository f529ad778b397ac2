package replay

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// Of a line that is too long only the beginning is kept, which is no message whatever it is.
func TestLineIsBounded(t *testing.T) {
	const most = 1000
	good := `{"a":1}`
	in := bufio.NewReaderSize(strings.NewReader(good+strings.Repeat(" ", 1<<20)+"\n"+good+strings.Repeat(" ", most-len(good)-1)+"\n"+good), 16)
	for i, want := range []string{good + strings.Repeat(" ", 200-len(good)) + "…", good, good} {
		line, err := readLine(in, most)
		if got := strings.TrimSpace(string(line)); got != want || (err == io.EOF) != (i == 2) {
			t.Errorf("%d: %q, %v, want %q", i, got, err, want)
		}
		if _, ok := frames(line); ok != (i > 0) {
			t.Errorf("%d: it is a message: %v", i, ok)
		}
	}
}

// A parent that asks and does not read has to wait when it is owed too much, and then gets
// every answer.
func TestParentThatOnlyAsks(t *testing.T) {
	tr := recording(t, "end 0 eof")
	synctest.Test(t, func(t *testing.T) {
		agent, err := New(tr, Options{Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		const asked, large = 24, 1 << 20
		var served, asking sync.WaitGroup
		served.Go(func() {
			if status, err := agent.Serve(t.Context(), stdin, stdout, io.Discard); status != 0 || err != nil {
				t.Errorf("status %d, %v", status, err)
			}
			stdout.Close()
		})
		sent := 0
		asking.Go(func() {
			for range asked {
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"%s","method":"no/such"}`+"\n", strings.Repeat("i", large))
				sent++
			}
			in.Close()
		})
		synctest.Wait()
		if most := 2*maxOwed/large + 2; sent < maxOwed/large || sent > most {
			t.Errorf("%d requests were read before an answer was", sent)
		}
		lines := bufio.NewReader(out)
		answers := 0
		for ; ; answers++ {
			if _, err := lines.ReadString('\n'); err != nil {
				break
			}
		}
		asking.Wait()
		served.Wait()
		if answers != asked {
			t.Errorf("%d answers to %d requests", answers, asked)
		}
	})
}
