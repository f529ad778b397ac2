// Package wire carries JSON-RPC 2.0 between two peers over any reader and writer,
// one frame a line, as the Agent Client Protocol has it
// (https://agentclientprotocol.com/protocol/transports). It knows no process and
// none of ACP's types.
//
// A [Conn] keeps the order of the wire: what a notification leads to, the delivery
// of a reply and the start of a request happen in the order in which their frames
// came, off the reader, behind a queue that is bounded in bytes. An idle connection
// holds one goroutine, the reader, and a few KiB.
//
//	conn := wire.New(fromPeer, toPeer, handler, nil)
//	conn.Listen()
//	reply, err := conn.Call(ctx, "ping", nil, nil)
package wire
