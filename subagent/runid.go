package subagent

import (
	"crypto/rand"
	"strings"
)

// newRunID returns an id for a run: unique, and made of characters that are safe in
// an environment variable's colon list, a file name and a log line.
func newRunID() string { return "run-" + strings.ToLower(rand.Text()) }
