//go:build unix

package proc

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// shebangMax is what Linux reads of a script's first line.
const shebangMax = 256

// checkScript refuses a script that could only fail: its interpreter is missing, or
// the command that "#!/usr/bin/env command" asks for is. The second would start and
// then exit with 127, far away from its cause.
func checkScript(path, dir string, env []string) error {
	interp, args, ok := shebang(path)
	if !ok {
		return nil
	}
	if !filepath.IsAbs(interp) {
		interp = filepath.Join(dir, interp) // as the kernel does
	}
	if err := checkProgram(interp); err != nil {
		return &Error{What: "command", Name: path, Err: fmt.Errorf("its interpreter %q: %w", interp, bare(err))}
	}
	if filepath.Base(interp) != "env" {
		return nil
	}
	name, ok := envCommand(args)
	if !ok || hasSeparator(name) {
		return nil
	}
	_, err := LookPath(name, env)
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{What: "command", Name: path, Searched: e.Searched, Err: fmt.Errorf("its interpreter %q: %w", name, e.Err)}
	}
	return nil
}

// shebang returns the interpreter of the script at path and the rest of that line.
func shebang(path string) (interp, args string, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", false // executable but not readable, like some setuid programs
	}
	defer f.Close()
	head := make([]byte, shebangMax)
	n, _ := io.ReadFull(f, head)
	line, ok := bytes.CutPrefix(head[:n], []byte("#!"))
	if !ok {
		return "", "", false
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	// Blanks and tabs only: a carriage return is part of the name, as it is for the
	// kernel, and the error shows it.
	interp, args, _ = strings.Cut(strings.Trim(strings.ReplaceAll(string(line), "\t", " "), " "), " ")
	return interp, args, interp != ""
}

// envCommand returns the command that env(1) would run for the one argument that a
// #! line gives it: itself, or what -S splits it into. With any other option, or
// with a PATH of its own, there is no telling.
func envCommand(args string) (string, bool) {
	split := false
	for word := range strings.FieldsSeq(args) {
		switch {
		case word == "-S" || word == "--split-string":
			split = true
		case strings.HasPrefix(word, "-") || strings.HasPrefix(word, "PATH=") || strings.ContainsAny(word, `"'\$`):
			return "", false
		case split && strings.Contains(word, "="):
		case strings.Contains(word, "="):
			return "", false
		case split || runtime.GOOS == "darwin":
			return word, true
		default:
			return strings.Trim(args, " "), true // one argument, blanks and all
		}
	}
	return "", false
}

// explain makes what exec answered for a program that is there say what is wrong
// with it.
func explain(path string, err error) error {
	e := &Error{What: "command", Name: path, Err: bare(err)}
	if _, statErr := os.Stat(path); statErr != nil {
		return e
	}
	switch {
	case errors.Is(err, unix.ENOEXEC):
		e.Err = fmt.Errorf("is neither a program for this machine nor a script that begins with #!: %w", e.Err)
	case errors.Is(err, fs.ErrNotExist):
		if loader := elfLoader(path); loader != "" {
			e.Err = fmt.Errorf("its loader %q: %w", loader, e.Err)
		} else if interp, _, ok := shebang(path); ok {
			e.Err = fmt.Errorf("its interpreter %q: %w", interp, e.Err)
		}
	}
	return e
}

// elfLoader returns the dynamic loader the program at path asks for.
func elfLoader(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for _, prog := range f.Progs {
		if prog.Type == elf.PT_INTERP {
			name, _ := io.ReadAll(io.LimitReader(prog.Open(), shebangMax))
			return strings.TrimRight(string(name), "\x00")
		}
	}
	return ""
}
