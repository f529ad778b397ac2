package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
)

// hookArg, as the first argument, makes a program that calls [Hook] the agent.
const hookArg = "__scripted-agent"

// Hook makes any program able to be a scripted agent: started by what [Command]
// returns, or by an agent's spawn statement, it follows the script and exits; else it
// does nothing. Call it first, in main or TestMain, before flags are parsed and before
// anything is opened or started.
func Hook() {
	if len(os.Args) > 1 && os.Args[1] == hookArg {
		// Not os.Exit: in a test binary with the race detector that waits for a second.
		syscall.Exit(Main(os.Args[2:]))
	}
}

// other is the program that Command starts instead of this one, if any.
var other atomic.Pointer[string]

// Use has Command start another program that calls [Hook], and this one again if path is
// empty. Any goroutine may call it.
func Use(path string) { other.Store(&path) }

func program() (string, error) {
	if p := other.Load(); p != nil && *p != "" {
		return *p, nil
	}
	return os.Executable()
}

// Command returns how to start this program, or that of [Use], as an agent that follows
// the script, if it calls [Hook]. A script that cannot be parsed is fatal for t, a
// *testing.T.
func Command(t interface {
	Helper()
	Fatal(args ...any)
}, src string) (path string, args []string) {
	t.Helper()
	if _, err := Parse("script", []byte(src)); err != nil {
		t.Fatal(err)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path, []string{hookArg, "-e", src}
}

// Main is the program scripted-agent with these arguments, a file's name or -e and a
// script, on this process's stdin, stdout and stderr. It returns the exit status: 2 if
// there is no such script, and a message on stderr says why.
func Main(args []string) int {
	s, err := load(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return s.Run(context.Background(), os.Stdin, os.Stdout, os.Stderr)
}

func load(args []string) (*Script, error) {
	switch {
	case len(args) == 2 && args[0] == "-e":
		return Parse("-e", []byte(args[1]))
	case len(args) == 3 && args[0] == "-child":
		s, err := Parse(args[1], []byte(args[2]))
		if err == nil {
			s.helper = !s.isAgent()
		}
		return s, err
	case len(args) == 1 && args[0] != "" && args[0][0] != '-':
		src, err := os.ReadFile(args[0])
		if err != nil {
			return nil, fmt.Errorf("scripted-agent: %w", err)
		}
		return Parse(args[0], src)
	}
	return nil, errors.New("usage: scripted-agent SCRIPT-FILE | scripted-agent -e SCRIPT")
}
