// Package client runs one ACP agent: its process, the connection to it, and the
// sessions on that.
//
//	agent, err := client.Start(ctx, client.Command{Path: "opencode", Args: []string{"acp"}, Dir: dir}, &client.Options{
//		Update: func(ctx context.Context, u client.Update) { ... }, // what the agent says, as it comes
//	})
//	if err != nil {
//		return err // a *client.Error: step, reason, exit, stderr; nothing was left behind
//	}
//	defer agent.Close()
//	session, err := agent.NewSession(ctx, nil)
//	if err != nil {
//		return err
//	}
//	answer, err := session.Prompt(ctx, []acp.ContentBlock{acp.TextBlock("Fix the failing test")}, nil)
//
// [Start] gives an [Agent]: a process with pipes, an environment without credentials, a
// policy that answers its permission requests, and an end to all that it started.
// [NewConn] gives the connection alone, over any reader and writer: a [Conn] stands in
// for acp.ClientSideConnection. Package subagent, which is built on this one, makes a
// whole run with one result of it.
//
// # What an agent is given
//
// Nothing of this process but what [Command] says: its directory, the environment that
// package envscrub leaves of ours, three pipes, and a session of its own without a
// terminal. It goes when this process goes, by kill -9 too, with its process group.
//
// # Callbacks
//
// Options.Observe, Options.ObserveAsk, Options.ObservePermission, SessionOptions.OnReply and
// PromptOptions.OnReply are called on the connection's reader or with its lock held: at
// once, in the order of the wire, and so they must not wait and must not call the agent.
// Options.Update and Options.OnPermission are called one after the other, off the
// reader: while one is slow the agent is held back, and nothing is lost. A callback that
// panics is contained.
//
// # Redaction
//
// The values of variables that were held back, and of those set explicitly that look
// like credentials, are replaced in stderr, in noise, in errors and in permission
// records. Updates and answers are the agent's own words; they are not touched.
//
// See https://agentclientprotocol.com.
package client
