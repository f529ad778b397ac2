package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/errand-acp/errand/client"
)

// rawAgentArg, as the first argument, makes the test binary an agent that writes raw
// bytes, as fast as a pipe takes them. The second says which:
//
//	flood   on a prompt, as many updates as its text says, then the answer
//	cancel  on a prompt, an update; on a cancel, the answer, with the time of writing
//	        it in its _meta
//	deaf    on a prompt, an update; nothing ends it but SIGKILL
//	prompt  on a prompt, the answer, with the time of reading it in its _meta
const rawAgentArg = "__raw-agent"

func rawCommand(which, dir string) client.Command {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return client.Command{Path: path, Args: []string{rawAgentArg, which}, Dir: dir}
}

const session = "s1"

// updateLine is the nth of the lines that a flood repeats.
func updateLine(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`+"\n", session, updateText(n))
}

// updateText is of the length that a model's tokens have.
func updateText(n int) string { return fmt.Sprintf("word%03d ", n%blockLines) }

// blockLines is how many different lines a flood repeats.
const blockLines = 1000

func rawAgent(which string) {
	if which == "deaf" {
		signal.Ignore(syscall.SIGTERM)
	}
	flood := newFlooder()
	in := bufio.NewReader(os.Stdin)
	var prompt json.RawMessage // the id of the open one
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if which == "deaf" {
				select {}
			}
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Prompt []struct{ Text string }
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":1,"agentCapabilities":{}}`)
		case "session/new":
			answer(m.ID, `{"sessionId":"`+session+`"}`)
		case "session/prompt":
			prompt = m.ID
			if which == "prompt" {
				answer(prompt, fmt.Sprintf(`{"stopReason":"end_turn","_meta":{"readAt":"%d"}}`, time.Now().UnixNano()))
				break
			}
			if which != "flood" {
				fmt.Fprint(os.Stdout, updateLine(0))
				break
			}
			n, err := strconv.Atoi(m.Params.Prompt[0].Text)
			if err != nil {
				panic(err)
			}
			flood.write(n)
			answer(prompt, `{"stopReason":"end_turn"}`)
		case "session/cancel":
			if which == "cancel" {
				answer(prompt, fmt.Sprintf(`{"stopReason":"cancelled","_meta":{"writtenAt":"%d"}}`, time.Now().UnixNano()))
			}
		}
	}
}

func answer(id json.RawMessage, result string) {
	fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

// flooder writes update lines in ready-made blocks.
type flooder struct {
	block []byte
	ends  [blockLines + 1]int // where the first k lines end
}

func newFlooder() *flooder {
	f := &flooder{}
	for i := range blockLines {
		f.block = append(f.block, updateLine(i)...)
		f.ends[i+1] = len(f.block)
	}
	return f
}

// write writes the first n of the lines, over and over where there are more.
func (f *flooder) write(n int) {
	for n > 0 {
		lines := min(n, blockLines)
		if _, err := os.Stdout.Write(f.block[:f.ends[lines]]); err != nil {
			os.Exit(1)
		}
		n -= lines
	}
}
