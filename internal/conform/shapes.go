package conform

// The shapes of what an agent sends in a prompt turn, from the schema of ACP 1
// (acp-go-sdk v0.13.5, schema/schema.json; the one that is still marked unstable
// there, usage_update, as the page "Prompt Turn" has it).

var (
	anything = &shape{is: kindAny}
	text     = &shape{is: kindString}
	truth    = &shape{is: kindBool}
	number   = &shape{is: kindNumber}
	integer  = &shape{is: kindInteger}
	count    = &shape{is: kindCount}
)

func object(needs, may fields) *shape      { return &shape{is: kindObject, needs: needs, may: may} }
func list(of *shape) *shape                { return &shape{is: kindArray, of: of} }
func oneOf(known ...string) *shape         { return &shape{is: kindString, known: known} }
func union(by string, v fields) *shape     { return &shape{is: kindUnion, by: by, variants: v} }
func either(alternatives ...*shape) *shape { return &shape{is: kindChoice, either: alternatives} }

// The values that the schema lists.
var (
	stopReasons      = oneOf("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
	toolKinds        = oneOf("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
	toolStatuses     = oneOf("pending", "in_progress", "completed", "failed")
	planStatuses     = oneOf("pending", "in_progress", "completed")
	planPriorities   = oneOf("high", "medium", "low")
	optionKinds      = oneOf("allow_once", "allow_always", "reject_once", "reject_always")
	roles            = oneOf("assistant", "user")
	configOptionType = "select" // boolean is unstable and needs a capability of the client
)

// https://agentclientprotocol.com/protocol/content
var (
	annotations = object(nil, fields{"audience": list(roles), "lastModified": text, "priority": number})

	contentBlock = union("type", fields{
		"text":          object(fields{"text": text}, fields{"annotations": annotations}),
		"image":         object(fields{"data": text, "mimeType": text}, fields{"uri": text, "annotations": annotations}),
		"audio":         object(fields{"data": text, "mimeType": text}, fields{"annotations": annotations}),
		"resource_link": object(fields{"name": text, "uri": text}, fields{"title": text, "description": text, "mimeType": text, "size": integer, "annotations": annotations}),
		"resource": object(fields{"resource": either(
			object(fields{"uri": text, "text": text}, fields{"mimeType": text}),
			object(fields{"uri": text, "blob": text}, fields{"mimeType": text}),
		)}, fields{"annotations": annotations}),
	})
)

// https://agentclientprotocol.com/protocol/tool-calls
var (
	toolContent = union("type", fields{
		"content":  object(fields{"content": contentBlock}, nil),
		"diff":     object(fields{"path": text, "newText": text}, fields{"oldText": text}),
		"terminal": object(fields{"terminalId": text}, nil),
	})
	location = object(fields{"path": text}, fields{"line": count})

	toolFields = fields{
		"kind": toolKinds, "status": toolStatuses, "title": text, "content": list(toolContent), "locations": list(location),
		"rawInput": anything, "rawOutput": anything,
	}
	toolCall       = object(fields{"toolCallId": text, "title": text}, toolFields)
	toolCallUpdate = object(fields{"toolCallId": text}, toolFields)
)

// What may come as params.update.
var (
	messageChunk = object(fields{"content": contentBlock}, fields{"messageId": text})
	planUpdate   = object(fields{"entries": list(object(fields{"content": text, "priority": planPriorities, "status": planStatuses}, nil))}, nil)
	commands     = object(fields{"availableCommands": list(object(
		fields{"name": text, "description": text},
		fields{"input": object(fields{"hint": text}, nil)},
	))}, nil)
	currentMode = object(fields{"currentModeId": text}, nil)

	selectValue  = object(fields{"value": text, "name": text}, fields{"description": text})
	configOption = union("type", fields{configOptionType: object(
		fields{"id": text, "name": text, "currentValue": text, "options": either(
			list(selectValue),
			list(object(fields{"group": text, "name": text, "options": list(selectValue)}, nil)),
		)},
		fields{"category": text, "description": text},
	)})
	configOptions = object(fields{"configOptions": list(configOption)}, nil)
	sessionInfo   = object(nil, fields{"title": text, "updatedAt": text})
	usageUpdate   = object(fields{"used": count, "size": count}, fields{"cost": object(fields{"amount": number, "currency": text}, nil)})
)

// updateShapes has the kinds of updates, by params.update.sessionUpdate.
var updateShapes = fields{
	"user_message_chunk":        messageChunk,
	"agent_message_chunk":       messageChunk,
	"agent_thought_chunk":       messageChunk,
	"plan":                      planUpdate,
	"tool_call":                 toolCall,
	"tool_call_update":          toolCallUpdate,
	"available_commands_update": commands,
	"current_mode_update":       currentMode,
	"config_option_update":      configOptions,
	"session_info_update":       sessionInfo,
	"usage_update":              usageUpdate,
}

// updateEnvelope is the params of session/update: what every kind of update has.
var updateEnvelope = object(fields{
	"sessionId": text,
	"update":    object(fields{"sessionUpdate": text}, nil),
}, nil)

// clientMethods has the params of the requests that an agent may make, and
// promptResponse the result of the one that it answers here.
var (
	permissionRequest = object(fields{
		"sessionId": text,
		"toolCall":  toolCallUpdate,
		"options":   list(object(fields{"optionId": text, "name": text, "kind": optionKinds}, nil)),
	}, nil)

	onTerminal = object(fields{"sessionId": text, "terminalId": text}, nil)

	clientMethods = fields{
		"session/request_permission": permissionRequest,
		"fs/read_text_file":          object(fields{"sessionId": text, "path": text}, fields{"line": count, "limit": count}),
		"fs/write_text_file":         object(fields{"sessionId": text, "path": text, "content": text}, nil),
		"terminal/create": object(fields{"sessionId": text, "command": text}, fields{
			"args": list(text), "cwd": text, "outputByteLimit": count,
			"env": list(object(fields{"name": text, "value": text}, nil)),
		}),
		"terminal/output":        onTerminal,
		"terminal/wait_for_exit": onTerminal,
		"terminal/kill":          onTerminal,
		"terminal/release":       onTerminal,
	}

	promptResponse = object(fields{"stopReason": stopReasons}, nil)
)
