package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/errand-acp/errand/client/transcript"
)

func newTranscript(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "transcript FILE",
		Short: "Show a recorded conversation to people",
		Long: `Transcript prints the conversations in FILE, which --transcript has written, one line for
each message: when it was, in milliseconds since the start, who said it, the method, and
what was said. Answers have the method that they answer and a "=". What would not show as
itself, such as an escape sequence, is made visible, and long messages are cut.

FILE itself has all of it, as JSON, a line each ('errand schema transcript').`,
		Example: `  errand run --agent demo --transcript talk.ndjson "Hello"
  errand transcript talk.ndjson`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one FILE, the transcript")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := readTranscripts(args[0])
			if err != nil {
				return err
			}
			var texts []string
			for _, t := range all {
				texts = append(texts, t.String())
			}
			_, err = con.out.WriteString(strings.Join(texts, "\n"))
			return err
		},
	}
}

// readTranscripts reads the conversations of a file, of which there is at least one.
func readTranscripts(name string) ([]*transcript.Transcript, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := transcript.Read(f)
	if bad, ok := errors.AsType[*transcript.Error](err); ok {
		bad.File = name
	}
	if err == nil && len(all) == 0 {
		err = notUsage{fmt.Errorf("%s: this is no transcript: no conversation in it", name)}
	}
	return all, err
}
