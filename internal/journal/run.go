package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"
)

// Run is the file of one run. Its methods may be called from any goroutine.
type Run struct {
	root *os.Root
	name string

	mu    sync.Mutex // guards what is below, and the order of the lines
	file  *os.File   // nil before the first line, and after the last
	size  int64      // of its whole lines
	ended bool
}

// Append adds a line, which has no newline in it, to what there is of the run. Where that
// fails the file is left as it was, so that the next one may do better. After End it
// returns fs.ErrClosed.
func (r *Run) Append(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(line)
}

// End adds the last line, has the run stored on the disk and closes it.
func (r *Run) End(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.append(line)
	if r.file != nil {
		err = errors.Join(err, r.file.Sync(), r.file.Close())
	}
	r.file, r.ended = nil, true
	return err
}

func (r *Run) append(line []byte) error {
	if r.ended {
		return fs.ErrClosed
	}
	if r.file == nil {
		if err := r.open(); err != nil {
			return err
		}
	}
	text := append(line[:len(line):len(line)], '\n')
	if _, err := r.file.WriteAt(text, r.size); err != nil {
		return errors.Join(err, r.file.Truncate(r.size))
	}
	r.size += int64(len(text))
	return nil
}

// open opens the file for its next line and takes away what was torn of the one before.
func (r *Run) open() error {
	f, err := openFile(r.root, r.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	if r.size, err = wholeLines(f); err == nil {
		err = f.Truncate(r.size)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file = f
	return nil
}

// wholeLines returns how many bytes of a file are lines with their newline.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	block := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		start := max(0, end-int64(len(block)))
		part := block[:end-start]
		if _, err := f.ReadAt(part, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// Lines yields the whole lines that there are of the run, without their newlines. It is
// for the time before the first Append. A line is the caller's to keep.
func (r *Run) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := openFile(r.root, r.name, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		for b := bufio.NewReaderSize(f, 64<<10); ; {
			line, err := b.ReadBytes('\n')
			if err == io.EOF { // what is there of a last line is torn
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(line[:len(line)-1], nil) {
				return
			}
		}
	}
}

func (r *Run) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
