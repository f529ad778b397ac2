package script

import (
	"os"
	"testing"
	"time"
)

// What is written to an agent that has closed its stdin fails: none of it is taken by a pipe
// that only the read under way still holds open.
func TestInputClose(t *testing.T) {
	for range 200 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		in := newInput(r)
		lines := make(chan string, 2)
		go func() {
			defer close(lines) // ends with in
			in.lines(nil, func(line []byte) { lines <- string(line) })
		}()
		if _, err := w.WriteString("one\n"); err != nil {
			t.Fatal(err)
		}
		if line := <-lines; line != "one" {
			t.Fatalf("it read %q", line)
		}
		in.close()
		if _, err := w.WriteString("two\n"); err == nil {
			t.Error("a closed stdin takes a line")
		}
		select {
		case line, more := <-lines:
			if more {
				t.Errorf("it read %q once it was closed", line)
			}
		case <-time.After(hang):
			t.Fatal("it reads on")
		}
		w.Close()
	}
}
