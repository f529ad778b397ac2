package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
)

// readLines reads everything; an oversized line is marked. Too large a buffer is an error.
func readLines(r io.Reader, max int) (got []string, err error) {
	l := lines{r: r, max: max, before: func() {}}
	for {
		line, over, err := l.next()
		if err != nil {
			return got, err
		}
		if size := len(l.buf); size > max+1 && size > bulkBuffer {
			return got, fmt.Errorf("the buffer is %d for lines up to %d", size, max)
		}
		if !over {
			got = append(got, string(line))
			continue
		}
		whole := bytes.Clone(line)
		l.rest(func(more []byte) { whole = append(whole, more...) })
		got = append(got, "over:"+string(whole))
	}
}

func TestLines(t *testing.T) {
	long := "{" + strings.Repeat("x", 3*bulkBuffer)
	for _, tt := range []struct {
		name, text string
		max        int
		want       []string
	}{
		{"empty", "", 10, nil},
		{"lines", "a\nbb\n\nc\n", 10, []string{"a", "bb", "", "c"}},
		{"no final newline", "a\nb", 10, []string{"a", "b"}},
		{"carriage returns stay", "a\r\nb\r\n", 10, []string{"a\r", "b\r"}},
		{"at the limit", "12345\n12345", 5, []string{"12345", "12345"}},
		{"over the limit", "123456\nab\n123456", 5, []string{"over:123456", "ab", "over:123456"}},
		{"long", long + "\n" + long + "\nend", len(long), []string{long, long, "end"}},
		{"long and over", long + "\n" + long + "\nend", len(long) - 1, []string{"over:" + long, "over:" + long, "end"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once":      strings.NewReader(tt.text),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tt.text)),
				"halves":       iotest.HalfReader(strings.NewReader(tt.text)),
				"data and EOF": iotest.DataErrReader(strings.NewReader(tt.text)),
			} {
				got, err := readLines(r, tt.max)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != io.EOF {
					t.Errorf("%s: %v (-want +got)\n%.500s", name, err, diff)
				}
			}
		})
	}
}

func TestLinesError(t *testing.T) {
	broken := errors.New("broken")
	got, err := readLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10)
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" || err != broken {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if _, err := readLines(readerFunc(func([]byte) (int, error) { return 0, nil }), 10); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The buffer grows with what is read and is small again when that is done.
func TestLinesBuffer(t *testing.T) {
	const max = 1 << 20
	r, w := io.Pipe()
	defer r.Close()
	l := lines{r: r, max: max, before: func() {}}
	sizes := make(chan int)
	idle := make(chan bool)
	l.before = func() { idle <- true }
	go func() {
		defer close(sizes)
		for {
			_, over, err := l.next()
			if err != nil {
				return
			}
			if over {
				l.rest(func([]byte) {
					if len(l.buf) > max+minBuffer {
						t.Errorf("the buffer is %d for an oversized line", len(l.buf))
					}
				})
			}
			sizes <- len(l.buf)
		}
	}()
	read := func(text string) (size int) {
		go io.WriteString(w, text)
		for {
			select {
			case <-idle:
			case size = <-sizes:
				return size
			}
		}
	}
	if size := read("short\n"); size != minBuffer {
		t.Errorf("the buffer is %d for a short line, want %d", size, minBuffer)
	}
	if size := read("{" + strings.Repeat("x", max/2) + "\n"); size < max/2 || size > max+1 {
		t.Errorf("the buffer is %d for a line of %d", size, max/2)
	}
	read("{" + strings.Repeat("x", 8*max) + "\n")
	for _, start := range []string{"x", " \x1b[0m> {"} {
		if size := read(start + strings.Repeat("x", max/2) + "\n"); size > bulkBuffer {
			t.Errorf("the buffer is %d for a line that begins with %q", size, start)
		}
	}
	for range 10 {
		read("short\n")
	}
	if size := read("short\n"); size != minBuffer {
		t.Errorf("the buffer is %d after long lines, want %d", size, minBuffer)
	}
	w.Close()
	for range idle {
		if _, ok := <-sizes; !ok {
			return
		}
	}
}

// How a stream is cut into reads makes no difference, and no memory is taken beyond
// the limit.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\n{}"), uint8(3), uint8(2))
	f.Add([]byte("aaaaaaaaaaaaaaaa\n"), uint8(1), uint8(5))
	f.Add([]byte("a\n"+strings.Repeat("a", 198)), uint8(255), uint8(255))
	f.Add(bytes.Repeat([]byte("a"), 200), uint8(255), uint8(100))
	f.Fuzz(func(t *testing.T, text []byte, chunk, limit uint8) {
		n, most := int(chunk)%16+1, int(limit)+1
		if chunk >= 240 { // beyond what the buffer has to begin with
			text, n, most = bytes.Repeat(text[:min(len(text), 200)], 2000), 1000*n, 1000*most
		}
		check.Cost(t, len(text))
		want, whole := readLines(bytes.NewReader(text), most)
		rest := text
		got, err := readLines(readerFunc(func(p []byte) (int, error) {
			if len(rest) == 0 {
				return 0, io.EOF
			}
			k := copy(p[:min(n, len(p))], rest)
			rest = rest[k:]
			return k, nil
		}), most)
		if !slices.Equal(want, got) || err != io.EOF || whole != io.EOF {
			t.Fatalf("%v, %v: whole %.1000q, cut %.1000q", whole, err, want, got)
		}
		if joined := strings.Join(got, "\n"); strings.ReplaceAll(joined, "over:", "") != strings.TrimSuffix(strings.ReplaceAll(string(text), "over:", ""), "\n") {
			t.Fatalf("%.1000q became %.1000q", text, got)
		}
		for _, line := range got {
			if over := strings.HasPrefix(line, "over:"); !over && len(line) > most {
				t.Errorf("a line of %d is not over %d", len(line), most)
			}
		}
	})
}
