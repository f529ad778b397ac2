package blackbox

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
)

func TestMain(m *testing.M) {
	acptest.Hook() // makes this test binary the agents that are made of scripts and recordings
	acptest.UpdateFlag()
	os.Exit(m.Run())
}

var agent = flag.String("agent", "", `the command of the agent to test, such as "opencode acp" or "$PWD/my-agent --acp", with whole paths; empty for the scripted one`)

// underTest is the command of the agent under test: put that of yours here.
func underTest(t *testing.T) client.Command {
	words := strings.Fields(*agent)
	if len(words) == 0 {
		return acptest.Script(t, scripted)
	}
	return client.Command{
		Path: words[0], Args: words[1:],
		// Credentials do not reach the agent by themselves:
		// Env: []string{"MY_AGENT_KEY=" + os.Getenv("MY_AGENT_KEY")},
	}
}

// scripted is an agent in place of yours. See docs/scripted-agent.md.
const scripted = `
on session/new '"cwd":"."'
  fail -32602 "cwd must be absolute"

on session/prompt "6 times 7"
  text "42"

on session/prompt "pong" # that is what TestProtocol asks
  text "pong"

on session/prompt "hello.txt"
  tool write-1 "Write hello.txt" kind=edit status=pending path=hello.txt
  permission write-1 "Write hello.txt" kind=edit path=hello.txt
    option allow allow_once "Write it"
    option reject reject_once "Do not"
    when allowed
      write hello.txt "hello"
      tool-update write-1 status=completed
      text "Done."
    when other
      tool-update write-1 status=failed
      text "Then not."
  end

on session/prompt "count"
  repeat forever
    text "$i "
    wait 1ms
  end
`
