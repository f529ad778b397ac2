package client

import (
	"encoding/json"
	"fmt"

	"github.com/coder/acp-go-sdk"
)

// Info is what an agent said of itself in its answer to initialize. What it left
// out, or sent in a shape that cannot be read, is zero.
// See https://agentclientprotocol.com/protocol/initialization.
type Info struct {
	ProtocolVersion int
	// Name and Version are the agent's own; empty where it gave none.
	Name, Version string
	// Prompt is which content blocks it takes beside text and resource links.
	Prompt acp.PromptCapabilities
	// AuthMethods are the ways to authenticate that it offers.
	AuthMethods []AuthMethod
	// Raw is the answer as it came.
	Raw json.RawMessage

	canClose bool // sessionCapabilities.close
}

// AuthMethod is a way to authenticate that an agent offers.
// See https://agentclientprotocol.com/protocol/authentication.
type AuthMethod struct {
	ID   string
	Name string
}

// readInfo reads the answer to initialize. Only the version must be right; of the
// rest whatever can be read counts. quote makes what the agent sent fit for an error.
func readInfo(raw json.RawMessage, quote func([]byte) string) (Info, error) {
	var answer struct {
		ProtocolVersion   json.RawMessage
		AgentInfo         json.RawMessage
		AgentCapabilities json.RawMessage
		AuthMethods       json.RawMessage
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return Info{}, &Error{Kind: KindProtocol, Message: "the answer is no object: " + quote(raw)}
	}
	var version float64
	if json.Unmarshal(answer.ProtocolVersion, &version) != nil || version != acp.ProtocolVersionNumber {
		theirs := "none"
		if len(answer.ProtocolVersion) > 0 {
			theirs = quote(answer.ProtocolVersion)
		}
		return Info{}, &Error{
			Kind:    KindVersion,
			Message: fmt.Sprintf("the agent answers protocol version %s, this client speaks %d; %s", theirs, acp.ProtocolVersionNumber, versionAdvice(answer.ProtocolVersion)),
		}
	}
	info := Info{ProtocolVersion: acp.ProtocolVersionNumber, AuthMethods: readAuthMethods(answer.AuthMethods), Raw: raw}
	var self map[string]json.RawMessage
	json.Unmarshal(answer.AgentInfo, &self)
	json.Unmarshal(self["name"], &info.Name)
	json.Unmarshal(self["version"], &info.Version)

	var capabilities map[string]json.RawMessage
	json.Unmarshal(answer.AgentCapabilities, &capabilities)
	var prompt map[string]json.RawMessage
	json.Unmarshal(capabilities["promptCapabilities"], &prompt)
	json.Unmarshal(prompt["image"], &info.Prompt.Image)
	json.Unmarshal(prompt["audio"], &info.Prompt.Audio)
	json.Unmarshal(prompt["embeddedContext"], &info.Prompt.EmbeddedContext)
	var session map[string]json.RawMessage
	json.Unmarshal(capabilities["sessionCapabilities"], &session)
	switch string(session["close"]) {
	case "", "null", "false":
	default: // an object, by the schema
		info.canClose = true
	}
	return info, nil
}

// readAuthMethods reads a list of authentication methods and skips what is none.
func readAuthMethods(raw json.RawMessage) []AuthMethod {
	var list []json.RawMessage
	json.Unmarshal(raw, &list)
	var methods []AuthMethod
	for _, item := range list {
		var f map[string]json.RawMessage
		json.Unmarshal(item, &f)
		var m AuthMethod
		json.Unmarshal(f["id"], &m.ID)
		json.Unmarshal(f["name"], &m.Name)
		if m.ID != "" {
			methods = append(methods, m)
		}
	}
	return methods
}
