package wire

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadLine(t *testing.T) {
	t.Parallel()
	a := strings.Repeat("a", 40)
	for name, tt := range map[string]struct {
		text string
		most int
		want []string // with a … where the line goes on
	}{
		"lines":                 {"one\ntwo\n\n", 40, []string{"one\n", "two\n", "\n", ""}},
		"no newline at the end": {"one\ntwo", 40, []string{"one\n", "two"}},
		"nothing":               {"", 40, []string{""}},
		"as long as may be":     {a[:39] + "\n" + a, 40, []string{a[:39] + "\n", a}},
		"by its newline longer": {a + "\ntwo\n", 40, []string{a + "…", "\n", "two\n", ""}},
		"much longer":           {a + a + "b\ntwo", 40, []string{a + "…", a + "…", "b\n", "two"}},
		"longer, at the end":    {a + "b", 40, []string{a + "…", "b"}},
	} {
		for _, size := range []int{16, 40, 1 << 10} {
			in := bufio.NewReaderSize(strings.NewReader(tt.text), size)
			var got []string
			var buf []byte
			for {
				var err error
				buf, err = ReadLine(in, buf, tt.most)
				line := string(buf)
				if errors.Is(err, bufio.ErrTooLong) {
					line, err = line+"…", nil
				}
				got = append(got, line)
				if err != nil {
					if err != io.EOF {
						t.Errorf("%s: %v", name, err)
					}
					break
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s, read by %d (-want +got):\n%s", name, size, diff)
			}
		}
	}
}
