package main

import (
	"cmp"
	"errors"
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
itself, such as an escape sequence, is made visible, and long messages are cut. Of a FILE with
a line that makes no sense, what comes before it is shown.

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
			var texts []string
			for _, t := range all {
				texts = append(texts, t.String())
			}
			// What comes before a bad line is what somebody looks for in such a file.
			_, printErr := con.out.WriteString(strings.Join(texts, "\n"))
			return cmp.Or(err, printErr)
		},
	}
}

// readTranscripts reads the conversations of a file. There is at least one, or an error; with
// one there are those that came before it.
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
		err = &transcript.Error{File: name, Err: errors.New("this is no transcript: no conversation in it")}
	}
	return all, err
}
