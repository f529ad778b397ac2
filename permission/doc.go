// Package permission decides what is answered when an agent asks for permission. A
// decision goes by the kind of the options the agent offers, never by their
// position or label.
//
//	req := permission.Request{Options: []acp.PermissionOption{
//		{OptionId: "ok", Kind: acp.PermissionOptionKindAllowOnce},
//		{OptionId: "no", Kind: acp.PermissionOptionKindRejectOnce},
//	}}
//	d, _ := permission.Decide(ctx, permission.Reject(), req)
//	d.OptionID // "no"
//
// Reject and Allow look at the options only. Rules look at what the call is about, its
// Facts, and are written in Go or as a policy file:
//
//	{
//	  "default": "ask",
//	  "rules": [
//	    {"name": "workspace", "effect": "allow", "kinds": ["read", "search", "edit"], "paths": ["./**"]},
//	    {"name": "tests", "effect": "allow", "commands": [["go", "test", "**"], ["git", "diff", "**"]]},
//	    {"name": "docs", "effect": "allow", "kinds": ["fetch"], "hosts": ["pkg.go.dev"]},
//	    {"name": "releases", "effect": "deny", "commands": [["git", "push", "**"]]}
//	  ]
//	}
//
// Deny comes before ask, ask before allow, and allow before the default; a rule that
// allows must cover all that the call is seen to do, one that denies or asks needs
// a part of it. A line for a shell is never taken for the program it begins with, an
// interpreter or launcher only where a rule names it, and a sensitive file (.env,
// private keys, ~/.ssh) is asked about in a trusted workspace too. Ask puts questions to
// a person or a program; Strictest combines policies; Grants spare the agent a second
// question for the same act.
//
// A policy is no sandbox: it decides about what an agent says it will do, and an agent
// may say something else, or nothing.
//
// The package does no I/O: what it needs to know of the file system comes in through
// functions. The one goroutine it starts is Ask's, so that a callback that never returns
// cannot hold up an agent.
//
// See https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
package permission
