package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FileAccess says which files of a session's directory an agent may reach through us.
type FileAccess string

// The file accesses. The zero value means FilesNone.
const (
	FilesNone  FileAccess = ""      // fs/read_text_file and fs/write_text_file are not served
	FilesRead  FileAccess = "read"  // files can be read
	FilesWrite FileAccess = "write" // files can be read and written
)

// DefaultMaxFileBytes is WorkspaceOptions.MaxBytes where it is 0.
const DefaultMaxFileBytes = 16 << 20

// WorkspaceOptions are the options of OpenWorkspace. The zero value reads only.
type WorkspaceOptions struct {
	// Write allows writing.
	Write bool
	// MaxBytes bounds what one read returns and one write takes; 0 means
	// DefaultMaxFileBytes.
	MaxBytes int
}

// Workspace serves the text files of one directory and of nothing outside it: not
// through "..", nor a symbolic link, nor one that takes a directory's place at the wrong
// moment. Its methods may be called from any goroutine. It cannot tell a file that is
// outside from one inside that is a hard link to it, or a mount; and what the same user
// may reach by itself it keeps from nobody.
//
// See https://agentclientprotocol.com/protocol/file-system.
type Workspace struct {
	root *os.Root
	dir  string // absolute, canonical
	opts WorkspaceOptions
	// at bounds how many operations hold a file's content at once.
	at chan struct{}
}

// maxFileOperations is how many files are held in memory at once.
const maxFileOperations = 4

// OpenWorkspace opens dir, which must be absolute; symlinks in it are resolved once. A
// nil o means the defaults. Who opened it closes it.
func OpenWorkspace(dir string, o *WorkspaceOptions) (*Workspace, error) {
	if o == nil {
		o = &WorkspaceOptions{}
	}
	if o.MaxBytes < 0 {
		return nil, configError("MaxBytes is negative: %d", o.MaxBytes)
	}
	dir, err := CheckDir(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, configError("directory %q: %w", dir, err)
	}
	w := &Workspace{root: root, dir: dir, opts: *o, at: make(chan struct{}, maxFileOperations)}
	if w.opts.MaxBytes == 0 {
		w.opts.MaxBytes = DefaultMaxFileBytes
	}
	return w, nil
}

// Close ends the workspace: what is called later fails.
func (w *Workspace) Close() error { return w.root.Close() }

// Dir is the workspace's directory, absolute and canonical.
func (w *Workspace) Dir() string { return w.dir }

// FileReason says in one word why a file was not served.
type FileReason string

// The reasons of a FileError.
const (
	FileOutside  FileReason = "outside"   // not in the workspace, or a link that leads out of it
	FileReadOnly FileReason = "read_only" // the workspace is not for writing
	FileMissing  FileReason = "missing"   // no such file
	FileNoText   FileReason = "no_text"   // not a regular file, or not UTF-8
	FileTooLarge FileReason = "too_large" // over MaxBytes
	FileInvalid  FileReason = "invalid"   // no path, or no lines, that could be meant
	FileChanged  FileReason = "changed"   // another thing than was decided on has taken its place
	FileFailed   FileReason = "failed"    // the system's error, in Err
)

// FileError is a file that was not read or written.
type FileError struct {
	Op     string // "read" or "write"
	Path   string // as the agent gave it
	Reason FileReason
	Err    error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// fileError makes an error of op on path. One that knows its reason keeps it.
func fileError(op, path string, err error) error {
	e := &FileError{Op: op, Path: path, Reason: FileFailed, Err: err}
	if why, ok := errors.AsType[*fileProblem](err); ok {
		e.Reason = why.reason
	} else if errors.Is(err, fs.ErrNotExist) {
		e.Reason = FileMissing
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		e.Err = cause.Err // the path is named already, and ours is the agent's
	}
	return e
}

// fileProblem is what is wrong with a file in our eyes.
type fileProblem struct {
	reason FileReason
	text   string
}

func (p *fileProblem) Error() string { return p.text }

func problem(reason FileReason, format string, args ...any) error {
	return &fileProblem{reason, fmt.Sprintf(format, args...)}
}

// maxLinks is how many symbolic links a path may go through, as on Linux.
const maxLinks = 40

// Locate returns where path leads: absolute, with every symbolic link in it resolved.
// What does not exist is where it would come to be. An error is a *FileError.
func (w *Workspace) Locate(path string) (string, error) {
	rel, err := w.locate(path)
	if err != nil {
		return "", fileError("find", path, err)
	}
	return filepath.Join(w.dir, rel), nil
}

// locate returns the path in the workspace that path leads to, without links in it. What
// it says may be out of date at once; that nothing leaves the workspace is os.Root's to
// see to.
func (w *Workspace) locate(path string) (string, error) {
	todo, err := w.relative(path)
	if err != nil {
		return "", err
	}
	done, links := []string{}, 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", errOutside
			}
			done = done[:len(done)-1]
			continue
		}
		at := filepath.Join(append(done, name)...)
		info, err := w.root.Lstat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, name)
			continue
		}
		if links++; links > maxLinks {
			return "", problem(FileInvalid, "too many symbolic links")
		}
		target, err := w.root.Readlink(at)
		if err != nil {
			return "", err
		}
		rest := split(target)
		if filepath.IsAbs(target) {
			if rest, err = w.relative(target); err != nil {
				return "", err
			}
			done = done[:0]
		}
		todo = append(rest, todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return filepath.Join(done...), nil
}

var errOutside = problem(FileOutside, "it is outside the workspace")

// relative returns the elements of an absolute path below the workspace. They may hold
// "..": that is resolved after the links before it.
func (w *Workspace) relative(path string) ([]string, error) {
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return nil, problem(FileInvalid, "not a path")
	case !filepath.IsAbs(path):
		return nil, problem(FileInvalid, "not an absolute path")
	case len(path) > 4096:
		return nil, problem(FileInvalid, "the path is too long")
	}
	if rest, ok := strings.CutPrefix(path, w.dir); ok {
		if rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(w.dir[len(w.dir)-1]) {
			return split(rest), nil
		}
	}
	rel, err := filepath.Rel(w.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, errOutside
	}
	return split(rel), nil
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(byte(r)) })
}
