package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/errand-acp/errand/internal/script"
)

func newDemo(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "demo [SCRIPT]",
		Short: "Be an ACP agent on stdin and stdout",
		Long: `Demo is an ACP agent with no model behind it. It says what it was asked, asks
whether it may write errand-demo.txt, and does so if it may. With a SCRIPT, a file in
the language of docs/scripted-agent.md, it does what that says: to try out what
a program does with an agent that is slow, dies, floods or lies.

A person has little use of it alone; errand, and other ACP clients, start it:`,
		Example: `  errand run --agent demo "Hello"
  errand run "Hello" -- errand demo my-agent.script`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			agent := script.Demo()
			if len(args) == 1 {
				source, err := os.ReadFile(args[0])
				if err != nil {
					return err
				}
				if agent, err = script.Parse(args[0], source); err != nil {
					return err
				}
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
}
