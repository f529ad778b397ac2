package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// acpMethods are those of ACP, in both directions.
var acpMethods = []string{
	acp.AgentMethodAuthenticate, acp.AgentMethodInitialize, acp.AgentMethodLogout,
	acp.AgentMethodDocumentDidChange, acp.AgentMethodDocumentDidClose, acp.AgentMethodDocumentDidFocus,
	acp.AgentMethodDocumentDidOpen, acp.AgentMethodDocumentDidSave, acp.AgentMethodMcpMessage,
	acp.AgentMethodNesAccept, acp.AgentMethodNesClose, acp.AgentMethodNesReject, acp.AgentMethodNesStart,
	acp.AgentMethodNesSuggest, acp.AgentMethodProvidersDisable, acp.AgentMethodProvidersList,
	acp.AgentMethodProvidersSet, acp.AgentMethodSessionCancel, acp.AgentMethodSessionClose,
	acp.AgentMethodSessionDelete, acp.AgentMethodSessionFork, acp.AgentMethodSessionList,
	acp.AgentMethodSessionLoad, acp.AgentMethodSessionNew, acp.AgentMethodSessionPrompt,
	acp.AgentMethodSessionResume, acp.AgentMethodSessionSetConfigOption, acp.AgentMethodSessionSetMode,

	acp.ClientMethodElicitationComplete, acp.ClientMethodElicitationCreate, acp.ClientMethodFsReadTextFile,
	acp.ClientMethodFsWriteTextFile, acp.ClientMethodMcpConnect, acp.ClientMethodMcpDisconnect,
	acp.ClientMethodSessionRequestPermission, acp.ClientMethodSessionUpdate, acp.ClientMethodTerminalCreate,
	acp.ClientMethodTerminalKill, acp.ClientMethodTerminalOutput, acp.ClientMethodTerminalRelease,
	acp.ClientMethodTerminalWaitForExit,

	"$/cancel_request",
}

// isMethod tells methods from the other events.
func isMethod(event string) bool {
	return slices.Contains(acpMethods, event) || strings.HasPrefix(event, "_") || strings.Contains(event, "/")
}

// checkMethod refuses a name that is not ACP's and looks as if it were meant to be: a
// section for it would never be followed, and nothing would say so.
func checkMethod(name string) error {
	if slices.Contains(acpMethods, name) || strings.HasPrefix(name, "_") {
		return nil
	}
	const quote = `if you mean one that ACP does not have, write it in quotes`
	for _, known := range acpMethods {
		// One letter in six may be wrong: two of session/prompt.
		if distance(strings.ToLower(name), strings.ToLower(known)) <= len(known)/6 {
			return fmt.Errorf("ACP has no method %q, but %s; %s", name, known, quote)
		}
	}
	space, _, _ := strings.Cut(name, "/")
	if slices.ContainsFunc(acpMethods, func(known string) bool { return strings.HasPrefix(known, space+"/") }) {
		return fmt.Errorf("ACP has no method %q; %s", name, quote)
	}
	return nil
}

// distance is how many letters must be changed, added or taken away to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of the letters of a so far
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
