// Errand hands a task to an agent and prints what came of it.
//
//	errand run --agent opencode "Fix the failing test in ./parser"
//	errand run --json -- ./my-agent --acp < task.md | jq .output
//	errand fan --agent claude --agent gemini "Is main.go safe for concurrent use?"
//	errand agents
//
// The agent is any program that speaks the Agent Client Protocol on its stdin and
// stdout. Each run starts it afresh, answers its permission requests by a policy,
// passes on no credential that was not asked for, and leaves no process behind.
// `errand run --help` and `errand fan --help` tell the rest, the exit statuses among it.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/errand-acp/errand/internal/script"
	"github.com/errand-acp/errand/internal/visible"
)

func main() {
	script.Hook() // a process that a demo script spawned
	os.Exit(execute(os.Args[1:], standardConsole()))
}

// console is where the program reads and writes, and what is known of it.
type console struct {
	in, out, err          *os.File
	inTTY, outTTY, errTTY bool
	dumb                  bool // the terminal understands no escape sequences
}

func standardConsole() *console {
	tty := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	t := os.Getenv("TERM")
	return &console{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY: tty(os.Stdin), outTTY: tty(os.Stdout), errTTY: tty(os.Stderr),
		dumb: t == "dumb" || t == "" && runtime.GOOS != "windows",
	}
}

// errWidth is the width of the terminal that stderr is, 0 if it is none.
func (c *console) errWidth() int {
	width, _, err := term.GetSize(int(c.err.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// errSize is the size of the terminal that stderr is, or what most have.
func (c *console) errSize() (width, height int) {
	width, height, err := term.GetSize(int(c.err.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// exitError carries an exit status out of a subcommand that has said all there was
// to say.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// execute runs the command line and returns the exit status.
func execute(args []string, con *console) int {
	root := newRoot(con)
	help := &lastError{w: con.out}
	root.SetOut(help)
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		err = help.err
	}
	if err == nil {
		return statusOK
	}
	if status, ok := errors.AsType[exitError](err); ok {
		return int(status)
	}
	fmt.Fprintf(con.err, "errand: %s\n", visible.Text(err.Error()))
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Op == "write" {
		return statusFailed
	}
	// What is left is a mistake in the command line, or in what it names.
	if cmd, _, ferr := root.Find(args); ferr == nil {
		fmt.Fprint(con.err, hint(cmd.CommandPath(), err))
	}
	return statusUsage
}

// lastError keeps the error of writing a help text, which cobra ignores.
type lastError struct {
	w   io.Writer
	err error
}

func (l *lastError) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	l.err = cmp.Or(l.err, err)
	return n, err
}

func newRoot(con *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "errand",
		Short: "Hand a task to an agent, get one honest result",
		Long: `Errand hands a task to another agent and prints what came of it. It starts the
agent afresh for each task, speaks the Agent Client Protocol (ACP) to it, answers
its permission requests by a policy, and leaves nothing of it behind.`,
		Example: `  errand run --agent demo "Hello"                      # the built-in agent
  errand run --agent opencode "Fix the test in ./parser"
  errand run --json -- ./my-agent --acp < task.md
  errand fan --agent claude --agent gemini "Is main.go safe for concurrent use?"`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(con.err)
			cmd.Help()
			return exitError(statusUsage)
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetErr(con.err)
	root.AddCommand(newRun(con), newFan(con), newCheck(con), newDemo(con), newTranscript(con), newReplay(con), newAgents(con), newPolicy(con), newSchema(con), newVersion(con))
	return root
}
