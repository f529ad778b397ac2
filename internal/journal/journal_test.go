package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/journal"
)

var two = []journal.Task{{Name: "first", Digest: "a"}, {Name: "second", Digest: "b"}}

// must fails the test for an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create returns a new journal, which is closed when the test is over.
func create(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Create(dir, two)
	must(t, err)
	t.Cleanup(func() { j.Close() })
	return j
}

// lines are the lines of a run in one text.
func lines(t *testing.T, r *journal.Run) string {
	t.Helper()
	var all []string
	for line, err := range r.Lines() {
		must(t, err)
		all = append(all, string(line))
	}
	return strings.Join(all, " ")
}

// What was written is there after Close, and more is added by the next one.
func TestResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	j := create(t, dir)
	must(t, j.Run(0).Append([]byte("one")))
	must(t, j.Run(0).End([]byte("two")))
	must(t, j.Run(1).Append([]byte("three")))
	check.Equal(t, "after its end", errors.Is(j.Run(0).Append([]byte("late")), fs.ErrClosed), true)
	must(t, j.Close())
	check.Equal(t, "after Close", errors.Is(j.Run(1).Append([]byte("late")), fs.ErrClosed), true)

	j, err := journal.Resume(dir, two)
	must(t, err)
	defer j.Close()
	check.Equal(t, "the first", lines(t, j.Run(0)), "one two")
	check.Equal(t, "the second", lines(t, j.Run(1)), "three")
	must(t, j.Run(1).Append([]byte("four")))
	must(t, j.Run(1).End([]byte("five")))
	check.Equal(t, "the second", lines(t, j.Run(1)), "three four five")

	for name, mode := range map[string]fs.FileMode{".": 0o700 | fs.ModeDir, "tasks.json": 0o600, "0000.ndjson": 0o600, "0001.ndjson": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if filepath.Separator == '/' && info.Mode() != mode {
			t.Errorf("%s: mode %v, want %v", name, info.Mode(), mode)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "tasks.json"))
	must(t, err)
	check.Equal(t, "the tasks", string(text), `{"schemaVersion":1,"tasks":[{"index":0,"file":"0000.ndjson","name":"first","digest":"a"},{"index":1,"file":"0001.ndjson","name":"second","digest":"b"}]}`+"\n")
}

// A line that the death of the program has torn is not there, and not in the way.
func TestTornLine(t *testing.T) {
	long := strings.Repeat("x", 200_000) // more than is read at once
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":             {"", ""},
		"half a line":         {"one\ntw", "one"},
		"no whole line":       {"on", ""},
		"a long one":          {"one\n" + long, "one"},
		"a long one is whole": {long + "\ntw", long},
		"none is torn":        {"one\ntwo\n", "one two"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "j")
			must(t, create(t, dir).Close())
			must(t, os.WriteFile(filepath.Join(dir, "0000.ndjson"), []byte(tt.text), 0o600))
			j, err := journal.Resume(dir, two)
			must(t, err)
			defer j.Close()
			check.Equal(t, "lines", lines(t, j.Run(0)), tt.want)
			must(t, j.Run(0).End([]byte("next")))
			check.Equal(t, "lines", lines(t, j.Run(0)), strings.TrimSpace(tt.want+" next"))
		})
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		create bool
		dir    func(t *testing.T, dir string) // makes what is there
		tasks  []journal.Task
		want   error  // nil: another one
		says   string // with DIR for the directory
	}{
		{"a journal is there", true, func(t *testing.T, dir string) { must(t, create(t, dir).Close()) }, two, journal.ErrExists, "there is a journal already in DIR"},
		{"something else is there", true, func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600))
		}, two, nil, "DIR is not empty"},
		{"a file", true, func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o600)) }, two, nil, "DIR is no directory"},
		{"a link to a directory", true, func(t *testing.T, dir string) { must(t, os.Symlink(t.TempDir(), dir)) }, two, nil, "DIR is no directory"},
		{"a link to nothing", true, func(t *testing.T, dir string) { must(t, os.Symlink("nowhere", dir)) }, two, nil, "DIR is no directory"},
		{"in use", false, func(t *testing.T, dir string) { create(t, dir) }, two, journal.ErrInUse, "the journal is in use"},
		{"nothing", false, func(*testing.T, string) {}, two, journal.ErrNone, "there is no journal in DIR"},
		{"an empty directory", false, func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o700)) }, two, journal.ErrNone, "there is no journal in DIR"},
		{"a link to a journal", false, func(t *testing.T, dir string) {
			must(t, create(t, dir+"-real").Close())
			must(t, os.Symlink(dir+"-real", dir))
		}, two, nil, "DIR is no directory"},
		{"its tasks are a link", false, func(t *testing.T, dir string) {
			must(t, create(t, dir).Close())
			must(t, os.Rename(filepath.Join(dir, "tasks.json"), filepath.Join(dir, "other.json")))
			must(t, os.Symlink("other.json", filepath.Join(dir, "tasks.json")))
		}, two, nil, "tasks.json in DIR is no regular file"},
		{"its tasks are torn", false, func(t *testing.T, dir string) {
			must(t, create(t, dir).Close())
			must(t, os.WriteFile(filepath.Join(dir, "tasks.json"), []byte(`{"schemaVersion":1,"ta`), 0o600))
		}, two, journal.ErrNone, "tasks.json is damaged"},
		{"another version", false, func(t *testing.T, dir string) {
			must(t, create(t, dir).Close())
			must(t, os.WriteFile(filepath.Join(dir, "tasks.json"), []byte(`{"schemaVersion":2}`), 0o600))
		}, two, nil, "version 2"},
		{"fewer tasks", false, func(t *testing.T, dir string) { must(t, create(t, dir).Close()) }, two[:1], journal.ErrTasks, "there are 1, it has 2"},
		{"another task", false, func(t *testing.T, dir string) { must(t, create(t, dir).Close()) }, []journal.Task{two[0], {Name: "second", Digest: "c"}}, journal.ErrTasks, `number 2, "second"`},
		{"another order", false, func(t *testing.T, dir string) { must(t, create(t, dir).Close()) }, []journal.Task{two[1], two[0]}, journal.ErrTasks, `number 1, "second", is another one there, "first"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "j")
			tt.dir(t, dir)
			open := journal.Resume
			if tt.create {
				open = journal.Create
			}
			j, err := open(dir, tt.tasks)
			if err == nil {
				j.Close()
				t.Fatal("it was opened")
			}
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			check.Has(t, err.Error(), strings.ReplaceAll(tt.says, "DIR", dir))
		})
	}
}

// What is no file of the journal's is neither written nor read, nor made.
func TestRunIsNoLink(t *testing.T) {
	for name, place := range map[string]func(t *testing.T, dir string){
		"a link out of it": func(t *testing.T, dir string) {
			must(t, os.Symlink("../victim", filepath.Join(dir, "0000.ndjson")))
		},
		"a link within it": func(t *testing.T, dir string) {
			must(t, os.Symlink("0001.ndjson", filepath.Join(dir, "0000.ndjson")))
		},
		"a directory": func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "0000.ndjson"), 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			victim := filepath.Join(base, "victim")
			must(t, os.WriteFile(victim, []byte("mine\n"), 0o600))
			dir := filepath.Join(base, "j")
			j := create(t, dir)
			place(t, dir)
			for what, err := range map[string]error{"Append": j.Run(0).Append([]byte("x")), "End": j.Run(0).End([]byte("x"))} {
				if err == nil {
					t.Errorf("%s says nothing", what)
				}
			}
			for line, err := range j.Run(0).Lines() {
				if err == nil {
					t.Errorf("line %q", line)
				}
			}
			text, err := os.ReadFile(victim)
			must(t, err)
			check.Equal(t, "the file", string(text), "mine\n")
			if _, err := os.Lstat(filepath.Join(dir, "0001.ndjson")); err == nil {
				t.Error("a file was made")
			}
		})
	}
}

// The runs of one journal are written at the same time.
func TestConcurrentRuns(t *testing.T) {
	j := create(t, filepath.Join(t.TempDir(), "j"))
	done := make(chan error, 8)
	for i := range 8 {
		go func() { // ends with its lines
			for range 100 {
				if err := j.Run(i % 2).Append([]byte("line")); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		must(t, <-done)
	}
	for i := range 2 {
		want := strings.TrimSpace(strings.Repeat("line ", 400))
		if diff := cmp.Diff(want, lines(t, j.Run(i))); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", i, diff)
		}
	}
}
