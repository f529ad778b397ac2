package subagent

import "github.com/errand-acp/errand/client"

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
// by its status that it was started wrongly: 2 is a usage, and with 126 and 127 a
// launcher says that what it was to start cannot be executed, or is not there.
func misstarted(e *Error, exit *client.Exit) bool {
	if e.Kind != client.KindExit || e.Step != client.StepInitialize || exit == nil || exit.Code == nil {
		return false
	}
	return *exit.Code == 2 || *exit.Code == 126 || *exit.Code == 127
}
