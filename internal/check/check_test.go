package check

import (
	"fmt"
	"testing"
)

// record is a test that only notes what it was told.
type record struct {
	testing.TB
	errors  []string
	cleanup func()
}

func (*record) Name() string { return "record" }

func (r *record) Cleanup(f func()) { r.cleanup = f }

func (*record) Helper() {}

func (r *record) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestChecks(t *testing.T) {
	r := &record{TB: t}
	Equal(r, "n", 1, 1)
	Has(r, "a b", "a", "b")
	Lacks(r, "a b", "c")
	if len(r.errors) != 0 {
		t.Errorf("what holds fails: %q", r.errors)
	}
	Equal(r, "n", 1, 2)
	Has(r, "a b", "a", "c")
	Lacks(r, "a b", "c", "b")
	if want := []string{"n: got 1, want 2", `"a b" does not mention "c"`, `"a b" mentions "b"`}; fmt.Sprint(r.errors) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", r.errors, want)
	}
}
