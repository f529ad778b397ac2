// Package script is the engine of the scripted agent: an ACP agent that follows a
// readable script, honest or hostile.
//
//	on session/prompt
//	  text "Let me write that file. "
//	  permission call-1 "Write hello.txt" kind=edit path=hello.txt
//	    option allow allow_once "Write it"
//	    option reject reject_once "Do not"
//	    when allowed
//	      write hello.txt "hello\n"
//	      text "Done."
//	    when other
//	      text "Then not."
//	  end
//	  stop end_turn
//
// What a script does not say happens as an honest agent would do it: initialize is
// answered with version 1, session/new with an id, a cancelled turn ends as cancelled,
// and the end of stdin ends the agent. docs/scripted-agent.md describes the language.
//
// The agent runs in three places: as the program testdata/scripted-agent, as the
// command line's demo agent ([Demo]), and inside a test binary, which needs no build
// step:
//
//	func TestMain(m *testing.M) {
//		script.Hook()
//		leak.Main(m)
//	}
//
//	path, args := script.Command(t, `on session/prompt; text "hi"; exit 3`)
//	cmd := exec.Command(path, args...)
package script
