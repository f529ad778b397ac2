// Package permission decides what is answered when an agent asks for permission. A
// decision goes by the kind of the options the agent offers, never by their
// position or label. The package is pure: no I/O, no goroutine.
//
//	req := permission.Request{Options: []acp.PermissionOption{
//		{OptionId: "ok", Kind: acp.PermissionOptionKindAllowOnce},
//		{OptionId: "no", Kind: acp.PermissionOptionKindRejectOnce},
//	}}
//	d, _ := permission.Decide(ctx, permission.Reject(), req)
//	d.OptionID // "no"
//
// See https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
package permission
