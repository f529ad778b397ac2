package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/errand-acp/errand/internal/script"
)

func newDemo(con *console) *cobra.Command {
	var src string
	cmd := &cobra.Command{
		Use:   "demo [-e SCRIPT | FILE]",
		Short: "Be an ACP agent on stdin and stdout",
		Long: `Demo is an ACP agent with no model behind it. It says what it was asked, asks
whether it may write errand-demo.txt, and does so if it may. With a SCRIPT, or
the FILE of one, in the language of docs/scripted-agent.md, it does what that says: to
try out what a program does with an agent that is slow, dies, floods or lies.

A person has little use of it alone; errand, and other ACP clients, start it:`,
		Example: `  errand run --agent demo "Hello"
  errand run "Hello" -- errand demo -e 'on session/prompt; text "half"; exit 3'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := demoAgent(cmd.Flags().Changed("expression"), src, args)
			if err != nil {
				return err
			}
			if con.inTTY {
				fmt.Fprintln(con.err, "errand demo: an ACP agent; it waits for a client's frames on stdin")
			}
			if status := agent.Run(context.Background(), con.in, con.out, con.err); status != 0 {
				return exitError(status)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&src, "expression", "e", "", "follow this `SCRIPT`")
	return cmd
}

// demoAgent is what follows the script that is given as src, or in a file, or the
// built-in one.
func demoAgent(given bool, src string, files []string) (*script.Script, error) {
	switch {
	case given && len(files) > 0:
		return nil, errors.New("-e and a FILE exclude each other")
	case given:
		return script.Parse("-e", []byte(src))
	case len(files) == 0:
		return script.Demo(), nil
	}
	source, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	return script.Parse(files[0], source)
}
