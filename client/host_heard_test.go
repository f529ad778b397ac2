//go:build unix

package client_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// Whatever waits for who decides, and however large it is, the agent is heard: it can end a
// command and withdraw what it asked.
func TestOpenQuestionsLeaveTheAgentHeard(t *testing.T) {
	const (
		options = `"options":[{"optionId":"yes","kind":"allow_once","name":"Yes"}]`
		many    = `
  set many xxxxxxxx
  repeat 14
    set many "$many$many"
  end`
		after = `
  background
    request session/request_permission {"sessionId":"$session","toolCall":{"toolCallId":"large","title":"large","rawInput":{"content":"$many"}},` + options + `} id="large"
    text "[large: $outcome]"
  end
  background
    request fs/write_text_file {"sessionId":"$session","path":"$cwd/large","content":"$many"} id="write"
    text "[write: $error.code]"
  end
  wait file $cwd/large.asked
  wait file $cwd/write.asked` + kills + `
  notify $$/cancel_request {"requestId":"first"}
  notify $$/cancel_request {"requestId":"large"}
  notify $$/cancel_request {"requestId":"write"}
  wait background
  text "[all answered]"`
	)
	const asked = "\n  wait file $cwd/first.asked"
	for name, first := range map[string]struct{ asks, open, want string }{
		"question": {`request session/request_permission {"sessionId":"$session","toolCall":{"toolCallId":"first","title":"first"},` + options + `}`, asked, "cancelled"},
		"read":     {`request fs/read_text_file {"sessionId":"$session","path":"$cwd/file"}`, asked, "-32600"},
		"command":  {`request terminal/create {"sessionId":"$session","command":"true","args":["first"]}`, asked, "-32600"},
		"wait":     {`request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var h *hosted
			h = host(t, client.Options{
				Files: client.FilesWrite, Terminals: true, Graces: deafToTerm, MaxQueueBytes: 32 << 10,
				Permission: asking(permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
					switch *req.ToolCall.Title {
					case "Run sleep 1000":
						return permission.Allow().Decide(ctx, req)
					case "large":
						h.write("large.asked", "")
					case "Write " + h.at("large"):
						h.write("write.asked", "")
					default:
						h.write("first.asked", "")
					}
					<-ctx.Done()
					return permission.Decision{}
				})),
			}, `on session/prompt`+create("sleep", "1000")+many+`
  background
    `+first.asks+` id="first"
    text "[first: $outcome$error.code]"
  end`+first.open+after)
			h.write("file", "text")
			h.completes(h.session(), "go", "end_turn")
			h.agent.Close()
			for _, want := range []string{"[]", "[first: " + first.want + "]", "[large: cancelled]", "[write: -32600]", "[all answered]"} {
				if got := h.text(); strings.Count(got, want) != 1 {
					t.Errorf("the agent says %q, want %q in it", got, want)
				}
			}
		})
	}
}

// A file can be longer than anybody would wait for.
func TestReadFarIntoAFile(t *testing.T) {
	h := host(t, client.Options{Files: client.FilesRead}, `on session/prompt
  request fs/read_text_file {"sessionId":"$session","path":"$cwd/huge","line":1000000000,"limit":1}
  text "[$answer.content|$error.code|$error.message]"`)
	f, err := os.Create(h.at("huge"))
	require(t, err)
	defer f.Close()
	require(t, f.Truncate(1<<40))
	h.answers("[|-32602|line 1000000000 is behind more than 1073741824 bytes of it]")
}
