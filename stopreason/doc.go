// Package stopreason maps the stop reason with which an ACP agent ends a prompt
// turn to the outcome of a run. It is pure: no I/O, no state.
//
//	o := stopreason.Of("end_turn")
//	o.Success() // true: the only outcome that is
//
// See https://agentclientprotocol.com/protocol/prompt-turn#stop-reasons.
package stopreason
