package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/errand-acp/errand/internal/replay"
)

func newReplay(con *console) *cobra.Command {
	var lenient bool
	cmd := &cobra.Command{
		Use:   "replay [--lenient] FILE",
		Short: "Be the agent of a recording, on stdin and stdout",
		Long: `Replay is an ACP agent that says what a recorded one said: the agent of FILE, which
--transcript has written. It asks no model and waits for no clock, and ends as the
recorded one did. Of several conversations in FILE it is the first one's agent.

What it is told has to be what was recorded, but for ids, names, directories and _meta;
the first difference is told on stderr and to who drives it, and the exit status is 1.
That is for the program that was recorded: a test that it still says the same. Another one,
with other capabilities, prompts or answers, needs --lenient, which makes the best of what
it is told. docs/replay.md says more.

Record to another file than FILE: --transcript empties its own before it starts an agent.`,
		Example: `  errand run --agent gemini --transcript talk.ndjson "Fix the test"
  errand run "Fix the test" -- errand replay talk.ndjson`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one FILE, the recording")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			agent, err := replay.Open(args[0], replay.Options{Lenient: lenient})
			if err != nil {
				return notUsage{err}
			}
			if con.inTTY {
				fmt.Fprintln(con.err, "errand replay: an ACP agent; it waits for a client's frames on stdin")
			}
			if status := agent.Main(); status != 0 {
				return exitError(status)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&lenient, "lenient", false, "take what is not as it was recorded")
	return cmd
}
