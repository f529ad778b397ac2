package subagent

import (
	"strings"

	"github.com/errand-acp/errand/client"
)

// retryable reports whether what failed like this, before anything of the prompt was
// written, could go better next time. What is wrong with the configuration stays wrong.
func retryable(kind client.ErrorKind) bool {
	switch kind {
	case client.KindExit, client.KindTransport, client.KindStartupTimeout, client.KindAgent, client.KindTimeout:
		return true
	}
	return false
}

// misstarted reports whether a program that has ended before it answered initialize says
// by its status that it was started wrongly: 2 is a usage, unless it is a crash of Go's,
// and with 126 and 127 a launcher says that what it was to start cannot be executed, or
// is not there. r is what is known of its run.
func misstarted(e *Error, r *Result) bool {
	if e.Kind != client.KindExit || e.Step != client.StepInitialize || r.Exit == nil || r.Exit.Code == nil {
		return false
	}
	switch *r.Exit.Code {
	case 2:
		return !strings.Contains(r.StderrTail, "\ngoroutine ")
	case 126, 127:
		return true
	}
	return false
}
