package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// authRequired is the code of an agent that wants an authentication first. Agents use
// it for other things too, and other codes for this.
// See https://agentclientprotocol.com/protocol/authentication.
const authRequired = -32000

// answered is the failure of a step that the agent answered with an error.
func (a *Agent) answered(step Step, re *acp.RequestError) *Error {
	text := clip(oneLine(a.redact.String(re.Message)), messageRoom)
	if text == "" {
		text = "an error without a message"
	}
	e := &Error{Kind: KindAgent, Step: step, Code: &re.Code, Message: fmt.Sprintf("the agent answered with error %d: %s", re.Code, text)}
	if data, err := json.Marshal(a.redactValue(re.Data)); err == nil && !bytes.Equal(data, []byte("null")) {
		e.Data = a.redact.Bytes(data) // a number may be a secret too, or the piece of one that has quotes
	}
	// The cause is a copy: what the agent sent back may hold a secret.
	e.Err = &acp.RequestError{Code: re.Code, Message: a.redact.String(re.Message), Data: e.Data}

	inData := dataMethods(re.Data, re.Code)
	known := append(methodIDs(a.info.AuthMethods), inData...)
	said := saysAuth(re.Message)
	if len(inData) > 0 || re.Code == authRequired && (said || step != StepPrompt && len(known) > 0) {
		slices.Sort(known)
		known = slices.Compact(known)
		e.Kind = KindAuthRequired
		e.Message = "the agent wants an authentication first"
		if len(known) > 0 {
			e.Message += fmt.Sprintf(" and offers %s", clip(a.redact.String(list(known)), messageRoom))
		}
		e.Message += fmt.Sprintf(" (error %d: %s); log in with the agent's own program, or set the variable that holds its key", re.Code, text)
	}
	return e
}

// saysAuth reports whether an error's message is about authentication.
func saysAuth(message string) bool {
	message = strings.ToLower(message)
	for _, word := range []string{"auth", "log in", "login", "logged in", "sign in", "signed in", "credential", "api key"} {
		if strings.Contains(message, word) {
			return true
		}
	}
	return false
}

// dataMethods lists the ways to authenticate that an error's data names: in
// authMethods or, where the code says what they are, in a bare list.
func dataMethods(data any, code int) []string {
	if object, ok := data.(map[string]any); ok {
		data = object["authMethods"]
	} else if code != authRequired {
		return nil
	}
	raw, _ := json.Marshal(data) // it was decoded from JSON
	return methodIDs(readAuthMethods(raw))
}

func methodIDs(methods []AuthMethod) []string {
	var ids []string
	for _, m := range methods {
		ids = append(ids, m.ID)
	}
	return ids
}
