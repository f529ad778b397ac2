package transcript

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// endless is a line without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.read += len(p)
	return len(p), nil
}

// A line is not read for ever, and what came before it is there.
func TestLineIsBounded(t *testing.T) {
	const head = `{"transcript":1}` + "\n"
	const most = 1 << 20
	end := &endless{}
	all, err := read(io.MultiReader(strings.NewReader(head+`{"from":"agent","text":"a"}`+"\n"+`{"`), end), most)
	if bad, ok := errors.AsType[*Error](err); !ok || bad.Line != 3 || !strings.Contains(bad.Error(), "longer than 1048576 bytes") {
		t.Errorf("error %v", err)
	}
	if len(all) != 1 || len(all[0].Entries) != 1 || end.read > 2*most {
		t.Errorf("%d conversations, %d bytes read", len(all), end.read)
	}
	long := `{"from":"agent","text":"` + strings.Repeat("x", most/2) + `"}` + "\n"
	if all, err := read(strings.NewReader(head+long+long+long), most); err != nil || len(all[0].Entries) != 3 {
		t.Errorf("long lines: %v", err)
	}
}
