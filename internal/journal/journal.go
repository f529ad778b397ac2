package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// What stands in the way of a journal, for errors.Is.
var (
	// ErrInUse is that another program has it.
	ErrInUse = errors.New("the journal is in use")
	// ErrExists is that Create has found one.
	ErrExists = errors.New("there is a journal already")
	// ErrNone is that Resume has found none, or one that was never begun.
	ErrNone = errors.New("there is no journal")
	// ErrTasks is that Resume was given other tasks than Create.
	ErrTasks = errors.New("the tasks are not the journal's")
)

// Task is one task of a journal, known by its place among them.
type Task struct {
	Name string `json:"name"`
	// Digest stands for everything that makes it the task that it is.
	Digest string `json:"digest"`
}

// head is the file that says which tasks the runs are of.
type head struct {
	SchemaVersion int        `json:"schemaVersion"`
	Tasks         []headTask `json:"tasks"`
}

// headTask is a task with what a reader finds its run by.
type headTask struct {
	Index int    `json:"index"`
	File  string `json:"file"`
	Task
}

func newHead(tasks []Task) head {
	h := head{SchemaVersion: version, Tasks: []headTask{}}
	for i, t := range tasks {
		h.Tasks = append(h.Tasks, headTask{i, fileName(i), t})
	}
	return h
}

// fileName is the file of the run of task i.
func fileName(i int) string { return fmt.Sprintf("%04d.ndjson", i) }

const (
	headName = "tasks.json"
	version  = 1
)

// Journal is an open journal. Its methods may be called from any goroutine.
type Journal struct {
	root *os.Root
	head *os.File // locked while the journal is open
	runs []*Run
}

// Create begins a journal in dir, which is made, or is an empty directory. What is there
// already is ErrExists.
func Create(dir string, tasks []Task) (*Journal, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return open(dir, tasks, func(j *Journal) error {
		if err := j.checkEmpty(dir); err != nil {
			return err
		}
		var err error
		j.head, err = j.root.OpenFile(headName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%w in %s", ErrExists, dir)
		case err != nil:
			return err
		}
		if err := lock(j.head); err != nil {
			return err
		}
		text, err := json.Marshal(newHead(tasks))
		if err != nil {
			return err
		}
		if _, err := j.head.Write(append(text, '\n')); err != nil {
			return err
		}
		return j.head.Sync()
	})
}

// Resume opens the journal in dir again. The tasks must be those that it was created
// with, in their order; others are ErrTasks.
func Resume(dir string, tasks []Task) (*Journal, error) {
	return open(dir, tasks, func(j *Journal) (err error) {
		j.head, err = openFile(j.root, headName, os.O_RDWR)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w in %s", ErrNone, dir)
		case err != nil:
			return err
		}
		if err := lock(j.head); err != nil {
			return err
		}
		text, err := io.ReadAll(j.head)
		if err != nil {
			return err
		}
		var h head
		if json.Unmarshal(text, &h) != nil { // the program died before anything was started
			return fmt.Errorf("%w in %s: %s is damaged", ErrNone, dir, headName)
		}
		return h.compare(tasks)
	})
}

// open returns the journal in dir once prepare has made it one.
func open(dir string, tasks []Task, prepare func(*Journal) error) (*Journal, error) {
	root, err := openDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNone, dir)
	}
	if err != nil {
		return nil, err
	}
	j := &Journal{root: root}
	for i := range tasks {
		j.runs = append(j.runs, &Run{root: root, name: fileName(i)})
	}
	if err := prepare(j); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// checkEmpty refuses a directory that has another use.
func (j *Journal) checkEmpty(dir string) error {
	if _, err := j.root.Lstat(headName); err == nil {
		return fmt.Errorf("%w in %s", ErrExists, dir)
	}
	f, err := j.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	switch names, err := f.Readdirnames(1); {
	case len(names) > 0:
		return fmt.Errorf("%s is not empty", dir)
	case err != io.EOF:
		return err
	}
	return nil
}

// compare refuses other tasks than these.
func (h *head) compare(tasks []Task) error {
	if h.SchemaVersion != version {
		return fmt.Errorf("the journal is of version %d, not %d", h.SchemaVersion, version)
	}
	if len(tasks) != len(h.Tasks) {
		return fmt.Errorf("%w: there are %d, it has %d", ErrTasks, len(tasks), len(h.Tasks))
	}
	for i, t := range h.Tasks {
		if t.Task != tasks[i] {
			return fmt.Errorf("%w: number %d, %q, is another one there, %q", ErrTasks, i+1, tasks[i].Name, t.Name)
		}
	}
	return nil
}

// Run is the run of task i, which counts from 0.
func (j *Journal) Run(i int) *Run { return j.runs[i] }

// Close closes the journal and gives it free.
func (j *Journal) Close() error {
	var errs []error
	for _, r := range j.runs {
		errs = append(errs, r.close())
	}
	if j.head != nil {
		errs = append(errs, j.head.Close())
	}
	return errors.Join(append(errs, j.root.Close())...)
}
