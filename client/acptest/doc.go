// Package acptest drives any ACP agent from a test, as a black box: start it, speak to it,
// and say what must come of it.
//
//	func TestWritesWhatItMay(t *testing.T) {
//		agent := acptest.Start(t, client.Command{Path: "./my-agent"}, nil)
//		turn := agent.Session(t.TempDir()).Prompt("write hello.txt")
//		edit := turn.ToolCall("edit")
//		turn.Permission("edit").Allow()
//		edit.Status("completed").Path("hello.txt")
//		turn.Text("Done")
//		turn.Stop("end_turn")
//		agent.Close().Clean()
//	}
//
// Expectations are read in order and skip what nobody asked for, but for a permission
// request, which somebody has to answer. Each waits, for no longer than Options.Timeout.
// One that is not met fails the test at its line (t.Fatal) and shows the conversation as
// it went, with the agent's stderr. Whatever was started is ended with the test. Tests
// may run in parallel, each with agents of its own.
//
// # Golden files
//
// [Golden] compares a conversation with a file, after rules that the test names have
// replaced what differs from run to run.
//
// # Agents for tests of a parent
//
// For who tests the other side, a client or a parent agent, the test binary itself is the
// agent: [Script] and [ScriptPipe] follow a script, [Replay] and [ReplayPipe] answer from
// a recorded conversation. They need no build step and no network.
//
// docs/testing.md has more. See https://agentclientprotocol.com.
package acptest
