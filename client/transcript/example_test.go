package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/errand-acp/errand/client/transcript"
)

func Example() {
	var file bytes.Buffer
	w := transcript.NewWriter(&file)
	w.Begin(transcript.Header{RunID: "R1", Command: []string{"opencode", "acp"}, Dir: "/abs/project"})
	w.Add(transcript.Entry{
		At: 512 * time.Microsecond, From: transcript.FromClient,
		Frame: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`),
	})
	w.Add(transcript.Entry{At: 8 * time.Millisecond, From: transcript.FromStderr, Text: "a \x1b[31mline"})

	all, err := transcript.Read(&file) // as a crash leaves it: there is no end
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(all[0])
	// Output:
	// run R1: opencode acp, in /abs/project
	//      0.512 client -> initialize #1 {"protocolVersion":1}
	//      8.000 stderr |  a \u{1b}[31mline
	//            (the recording was cut off here)
}
