package client

import "github.com/errand-acp/errand/internal/proc"

// Undumpable keeps other processes of the same user from reading this one's
// environment and memory, where the system can do that (Linux); elsewhere it does
// nothing. Scrubbing keeps variables from being inherited; this keeps a child from
// looking them up in its parent. A program that delegates calls it once, early. It
// also switches core dumps off, and debuggers of the same user.
func Undumpable() error { return proc.Undumpable() }
