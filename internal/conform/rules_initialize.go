package conform

import (
	"encoding/json"
	"fmt"
)

const initializationPage = "https://agentclientprotocol.com/protocol/initialization"

var initializeRules = []Rule{
	{
		ID: "initialize-version", Title: "initialize is answered with the version asked for", Level: Must,
		Quote:  "If the Agent supports the requested version, it MUST respond with the same version.",
		Source: initializationPage + "#version-negotiation",
		scenes: []string{"handshake"},
		judge: func(r *recording) outcome {
			c, no := r.result("initialize")
			if c != nil && no != nil {
				return brokenf(c.entries(), "there is no version in the answer: %s", no.why)
			}
			if no != nil {
				return *no
			}
			switch v := field(c.answer.Result, "protocolVersion"); {
			case v == nil:
				return broken("the result has no protocolVersion", c.entries()...)
			case !isInteger(v):
				return brokenf(c.entries(), "protocolVersion is %s, and no integer", short(string(v), 40))
			case !sameJSON(v, json.RawMessage("1")):
				return brokenf(c.entries(), "protocolVersion is %s where 1 was asked for", short(string(v), 40))
			}
			return kept("version 1 was asked for and chosen", c.entries()...)
		},
	},
	{
		ID: "initialize-future-version", Title: "an unknown version is answered with the latest one supported", Level: Must,
		Quote:  "Otherwise, the Agent MUST respond with the latest version it supports.",
		Source: initializationPage + "#version-negotiation",
		scenes: []string{"versions"},
		judge: func(r *recording) outcome {
			c, no := r.reply("initialize-future")
			if no != nil {
				return *no
			}
			v := field(c.answer.Result, "protocolVersion")
			switch {
			case c.answer.Error != nil:
				return brokenf(c.entries(), "version %d was answered with an error: %s", futureVersion, errorText(c.answer.Error))
			case !isInteger(v):
				return broken("the answer has no protocolVersion that is an integer", c.entries()...)
			case sameJSON(v, json.RawMessage(fmt.Sprint(futureVersion))):
				return brokenf(c.entries(), "it claims to support version %d, which there is none of", futureVersion)
			}
			offered := short(string(v), 20)
			// What it supports it answers with, when it is asked for that.
			control, no := r.result("initialize-offered")
			switch {
			case no == nil:
			case sameJSON(v, json.RawMessage("1")) && control != nil && control.answered:
				return broken("it offered version 1; asked for that, "+no.why, append(c.entries(), control.entries()...)...)
			default: // another version's initialize may have other params than ours
				return untried("it offered version " + offered + ", and it is not known whether it supports that: " + no.why)
			}
			entries := append(c.entries(), control.entries()...)
			if got := field(control.answer.Result, "protocolVersion"); !sameJSON(got, v) {
				return brokenf(entries, "it offered version %s; asked for that it chose %s", offered, orMissing(got))
			}
			return kept("it offered version "+offered+", and chose it when it was asked for that", entries...)
		},
	},
	{
		ID: "initialize-capabilities", Title: "the capabilities have the types of the schema", Level: Must,
		Quote:  `AgentCapabilities: "loadSession": {"type": "boolean"}; PromptCapabilities: "image", "audio", "embeddedContext": {"type": "boolean"}; McpCapabilities: "http", "sse": {"type": "boolean"}`,
		Source: schemaPlace + "AgentCapabilities",
		scenes: []string{"handshake"},
		judge: func(r *recording) outcome {
			c, no := r.result("initialize")
			if no != nil {
				return *no
			}
			caps := field(c.answer.Result, "agentCapabilities")
			if caps == nil || isNull(caps) {
				return untried("it advertises no agentCapabilities, which by the schema means none of them")
			}
			if wrong := agentCapabilities.misfits("agentCapabilities", caps); len(wrong) > 0 {
				return broken(say(wrong), c.entries()...)
			}
			if !agentCapabilities.has(caps) {
				return untried("it advertises none of the capabilities that the schema has, whose type could be seen")
			}
			return kept("they are of their types", c.entries()...)
		},
	},
	{
		ID: "initialize-agent-info", Title: "the agent gives its name and version", Level: Should,
		Quote:  "It SHOULD also provide a name and version to the Client as well",
		Source: initializationPage,
		scenes: []string{"handshake"},
		judge: func(r *recording) outcome {
			c, no := r.result("initialize")
			if no != nil {
				return *no
			}
			info := field(c.answer.Result, "agentInfo")
			if info == nil || isNull(info) {
				return broken("the result has no agentInfo", c.entries()...)
			}
			if wrong := implementation.misfits("agentInfo", info); len(wrong) > 0 {
				return broken(say(wrong), c.entries()...)
			}
			return kept("it has an agentInfo with both", c.entries()...)
		},
	},
}

var (
	agentCapabilities = object(nil, fields{
		"loadSession":         boolean,
		"promptCapabilities":  object(nil, fields{"image": boolean, "audio": boolean, "embeddedContext": boolean}),
		"mcpCapabilities":     object(nil, fields{"http": boolean, "sse": boolean}),
		"sessionCapabilities": object(nil, fields{"list": object(nil, nil), "resume": object(nil, nil), "close": object(nil, nil)}),
		"auth":                object(nil, fields{"logout": object(nil, nil)}),
	})
	implementation = object(fields{"name": str, "version": str}, fields{"title": str})
)
