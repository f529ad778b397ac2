package acptest_test

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a test that may fail. Its methods are those of a *testing.T, of which it has the
// directories.
type fake struct {
	testing.TB // the real test
	deadline   time.Time

	mu       sync.Mutex // guards what is below it
	failed   bool
	said     []string
	cleanups []func()
}

// try runs f as a test of its own would run, and returns what that told.
func try(t *testing.T, f func(t testing.TB)) *fake {
	t.Helper()
	ft := &fake{TB: t}
	ft.run(f)
	return ft
}

func (f *fake) run(test func(t testing.TB)) {
	f.apart(func() { test(f) })
	for len(f.cleanups) > 0 {
		last := f.cleanups[len(f.cleanups)-1]
		f.cleanups = f.cleanups[:len(f.cleanups)-1]
		f.apart(last)
	}
}

// apart runs what may end its goroutine.
func (f *fake) apart(what func()) {
	done := make(chan struct{})
	go func() { // ends with what it runs
		defer close(done)
		what()
	}()
	<-done
}

func (f *fake) Deadline() (time.Time, bool) { return f.deadline, !f.deadline.IsZero() }
func (f *fake) Helper()                     {}
func (f *fake) Cleanup(c func())            { f.cleanups = append(f.cleanups, c) }

func (f *fake) note(failed bool, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = f.failed || failed
	f.said = append(f.said, text)
}

func (f *fake) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *fake) FailNow()                          { f.note(true, ""); runtime.Goexit() }
func (f *fake) Fatal(args ...any)                 { f.note(true, fmt.Sprint(args...)); runtime.Goexit() }
func (f *fake) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }
func (f *fake) Error(args ...any)                 { f.note(true, fmt.Sprint(args...)) }
func (f *fake) Errorf(format string, args ...any) { f.Error(fmt.Sprintf(format, args...)) }
func (f *fake) Log(args ...any)                   { f.note(false, fmt.Sprint(args...)) }
func (f *fake) Logf(format string, args ...any)   { f.Log(fmt.Sprintf(format, args...)) }
func (f *fake) text() string                      { return strings.Join(f.said, "\n") }

// varies is what differs from run to run in what a failure shows.
var varies = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`(?m)^ *\d+\.\d{3} `), "    TIME "},
	{regexp.MustCompile(`(?m)^run .*$`), "run ID: AGENT, in DIR"},
	{regexp.MustCompile(`/[^" ]*/(Test\w+|\d{3})[^" ]*`), "DIR"},
	{regexp.MustCompile(`"version":"[^"]*"`), `"version":"V"`},
	{regexp.MustCompile(`"/[^"]*/testdata/`), `"/…/testdata/`},
	{regexp.MustCompile(`; there are: .*`), "; there are: …"},
	{regexp.MustCompile(`\(searched [^)]*\)`), "(searched PATH)"},
}

// constant is what a failure shows, with that replaced, and without how the agent was ended
// afterwards. The lines of stderr are at the end: it is another pipe, so that they come
// sooner or later.
func (f *fake) constant() string {
	text, after, _ := strings.Cut(f.text(), "\n           (the test fails here")
	for line := range strings.Lines(after) {
		if strings.Contains(line, "stderr |") {
			text += "\n" + strings.TrimSuffix(line, "\n")
		}
	}
	for _, v := range varies {
		text = v.pattern.ReplaceAllString(text, v.by)
	}
	lines := strings.Split(text, "\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		return cmp.Compare(strings.Count(a, "stderr |"), strings.Count(b, "stderr |"))
	})
	return strings.Join(lines, "\n") + "\n"
}
