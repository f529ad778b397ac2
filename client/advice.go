package client

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/internal/proc"
)

// advice says what the caller may do about e, or what its signs mostly mean; empty where
// there is no telling. It goes by what is known of the process, most telling first.
func (e *Error) advice() string {
	switch e.Kind {
	case KindSpawn:
		return spawnAdvice(e.Err)
	case KindExit, KindStartupTimeout, KindTransport, KindProtocol, KindAgent, KindIdleTimeout, KindTimeout:
	default:
		return ""
	}
	if e.Step == StepInitialize {
		if text := e.noAgent(); text != "" {
			return text
		}
	}
	if text := e.said(); text != "" {
		return text
	}
	if text := e.ended(); text != "" {
		return text
	}
	return e.silent()
}

// spawnAdvice is for a program that could not be started.
func spawnAdvice(err error) string {
	bad, ok := errors.AsType[*proc.Error](err)
	if !ok {
		return ""
	}
	interpreter := strings.Contains(bad.Error(), "interpreter")
	switch {
	case interpreter && strings.Contains(bad.Error(), `\r`):
		return "the script has the line ends of Windows (CRLF)"
	case interpreter && bad.Searched != nil:
		return "install the interpreter, or put its directory into the agent's PATH"
	case interpreter && errors.Is(err, fs.ErrNotExist):
		return "install the interpreter, or correct the script's first line"
	case errors.Is(err, exec.ErrNotFound):
		return "install it, put its directory into the agent's PATH, or name it by its path"
	case errors.Is(err, fs.ErrPermission) && strings.Contains(bad.Error(), "executable"):
		return "chmod +x makes a file executable, unless its file system is mounted noexec"
	case errors.Is(err, fs.ErrPermission):
		return "a directory above it cannot be entered"
	case bad.Searched == nil && !filepath.IsAbs(bad.Name) && errors.Is(err, fs.ErrNotExist):
		return "a relative path is taken from the directory of the program that starts it, not from the agent's"
	}
	return ""
}

// noAgent tells what answered initialize, or did not, where that shows that it is no ACP
// agent, or none that was started right.
func (e *Error) noAgent() string {
	for _, line := range e.Noise.First {
		switch line = strings.TrimSpace(line); {
		case signs().lsp.MatchString(line):
			return "it frames its messages with Content-Length, as LSP does; ACP has one message a line"
		case line == "{" || signs().pretty.MatchString(line):
			return "it spreads its messages over several lines; ACP has one message a line"
		case signs().html.MatchString(line):
			return "that is a page of HTML: a proxy or a login page may have answered in a service's place"
		}
	}
	switch {
	case signs().usage.MatchString(e.output()):
		return "it does not take these arguments, or needs others to speak ACP (often acp or --acp)"
	case e.Code != nil && *e.Code == -32601:
		return "it does not know initialize: it is no ACP agent"
	}
	return ""
}

// versionAdvice is for a protocol version that is not ours, as the agent wrote it.
func versionAdvice(theirs []byte) string {
	var version float64
	switch {
	case len(theirs) == 0 || string(theirs) == "null":
		return "that is no answer to ACP's initialize"
	case json.Unmarshal(theirs, &version) != nil:
		return "versions like that are MCP's: it may be an MCP server, or need another argument to speak ACP"
	case version > acp.ProtocolVersionNumber:
		return "use an older version of the agent, or a newer one of this client"
	}
	return "use a newer version of the agent"
}

// said goes by what the agent has said: in its answer if it gave one, else beside its
// frames.
func (e *Error) said() string {
	text := e.output()
	if e.Kind == KindAgent {
		text = e.Message + "\n" + string(e.Data)
	}
	text = signs().replay.ReplaceAllLiteralString(text, "")
	for _, s := range signs().words {
		if (s.kinds == nil || slices.Contains(s.kinds, e.Kind)) && s.words.MatchString(text) {
			return s.advice
		}
	}
	return ""
}

// output is the end of what it wrote beside its frames.
func (e *Error) output() string {
	const room = 8 << 10
	text := e.StderrTail[max(0, len(e.StderrTail)-room):]
	return strings.Join(e.Noise.First, "\n") + "\n" + text
}

// ended goes by how the process ended, where that was by itself.
func (e *Error) ended() string {
	if e.Exit == nil || e.Exit.Rung != RungExit {
		return ""
	}
	if s := e.Exit.Signal; s != nil {
		return signalAdvice[*s]
	}
	code := -1
	if e.Exit.Code != nil {
		code = *e.Exit.Code
	}
	switch {
	case code == 126:
		return "a command that it starts cannot be executed"
	case code == 127:
		return "a command that it starts is not installed, or not in its PATH"
	case code == 0 && e.Step == StepInitialize:
		return "an ACP agent waits for its stdin: it may need another argument to speak ACP"
	}
	if name := launcherSignals[code]; name != "" {
		return "a launcher says with that status that " + name + " ended what it had started: " + signalAdvice[name]
	}
	return ""
}

// silent is for an agent that gave no other sign.
func (e *Error) silent() string {
	switch {
	case e.Kind == KindTransport && e.Step != StepPrompt:
		return "it may have gone into the background"
	case e.Kind != KindStartupTimeout || e.Step != StepInitialize:
		return ""
	case e.Noise.Lines > 0:
		return "it writes text where ACP has messages: it may need another argument to speak ACP, or have its log on stdout"
	case !strings.Contains(e.Message, strayAnswers):
		return "it may need another argument to speak ACP, or wait for a login, a download or a terminal"
	}
	return ""
}

// strayAnswers says of an agent that it does answer, and what is wrong with that.
const strayAnswers = "it answered requests that were never made"

const crashed = "it crashed"

// signalAdvice is by the name of the signal that ended a process by itself.
var signalAdvice = map[string]string{
	"SIGKILL": "Errand did not send that: the system does when memory runs out, or somebody else did",
	"SIGTERM": "Errand did not send that: somebody else ended it",
	"SIGINT":  "Errand did not send that: somebody else ended it",
	"SIGHUP":  "Errand did not send that: somebody else ended it",
	"SIGSEGV": crashed, "SIGBUS": crashed, "SIGABRT": crashed, "SIGFPE": crashed, "SIGTRAP": crashed,
	"SIGILL":  crashed + ", perhaps because it is built for another processor",
	"SIGSYS":  "a sandbox forbade a system call of it",
	"SIGPIPE": "it wrote to a pipe that nobody reads any more",
	"SIGXCPU": "it came to a limit of the system (ulimit)",
	"SIGXFSZ": "it came to a limit of the system (ulimit)",
}

// launcherSignals are the statuses with which a shell or a container says that a signal
// ended what it ran: 128 and the signal's number.
var launcherSignals = map[int]string{
	129: "SIGHUP", 130: "SIGINT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM", 159: "SIGSYS",
}
