package conform

// The shapes of what an agent sends in a prompt turn, from the schema of ACP 1
// (acp-go-sdk v0.13.5, schema/schema.json; what is still marked unstable there and
// is not any more, usage_update and boolean config options, as the pages have it).

var (
	anyValue = &shape{is: kindAny}
	str      = &shape{is: kindString}
	boolean  = &shape{is: kindBool}

	num     = &shape{is: kindNumber}
	integer = &shape{is: kindInteger}
	count   = &shape{is: kindCount}
)

func object(needs, may fields) *shape      { return &shape{is: kindObject, needs: needs, may: may} }
func list(of *shape) *shape                { return &shape{is: kindArray, of: of} }
func oneOf(known ...string) *shape         { return &shape{is: kindString, known: known} }
func union(by string, v fields) *shape     { return &shape{is: kindUnion, by: by, variants: v} }
func either(alternatives ...*shape) *shape { return &shape{is: kindChoice, either: alternatives} }

// The values that the schema lists.
var (
	stopReasons    = oneOf("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
	toolKinds      = oneOf("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
	toolStatuses   = oneOf("pending", "in_progress", "completed", "failed")
	planStatuses   = oneOf("pending", "in_progress", "completed")
	planPriorities = oneOf("high", "medium", "low")
	optionKinds    = oneOf("allow_once", "allow_always", "reject_once", "reject_always")
	roles          = oneOf("assistant", "user")
)

// https://agentclientprotocol.com/protocol/content
var (
	annotations = object(nil, fields{"audience": list(roles), "lastModified": str, "priority": num})

	contentBlock = union("type", fields{
		"text":          object(fields{"text": str}, fields{"annotations": annotations}),
		"image":         object(fields{"data": str, "mimeType": str}, fields{"uri": str, "annotations": annotations}),
		"audio":         object(fields{"data": str, "mimeType": str}, fields{"annotations": annotations}),
		"resource_link": object(fields{"name": str, "uri": str}, fields{"title": str, "description": str, "mimeType": str, "size": integer, "annotations": annotations}),
		"resource": object(fields{"resource": either(
			object(fields{"uri": str, "text": str}, fields{"mimeType": str}),
			object(fields{"uri": str, "blob": str}, fields{"mimeType": str}),
		)}, fields{"annotations": annotations}),
	})
)

// https://agentclientprotocol.com/protocol/tool-calls
var (
	toolContent = union("type", fields{
		"content":  object(fields{"content": contentBlock}, nil),
		"diff":     object(fields{"path": str, "newText": str}, fields{"oldText": str}),
		"terminal": object(fields{"terminalId": str}, nil),
	})
	location = object(fields{"path": str}, fields{"line": count})

	toolFields = fields{
		"kind": toolKinds, "status": toolStatuses, "title": str, "content": list(toolContent), "locations": list(location),
		"rawInput": anyValue, "rawOutput": anyValue,
	}
	toolCall       = object(fields{"toolCallId": str, "title": str}, toolFields)
	toolCallUpdate = object(fields{"toolCallId": str}, toolFields)
)

// What may come as params.update.
var (
	messageChunk = object(fields{"content": contentBlock}, fields{"messageId": str})
	planUpdate   = object(fields{"entries": list(object(fields{"content": str, "priority": planPriorities, "status": planStatuses}, nil))}, nil)
	commands     = object(fields{"availableCommands": list(object(
		fields{"name": str, "description": str},
		fields{"input": object(fields{"hint": str}, nil)},
	))}, nil)
	currentMode = object(fields{"currentModeId": str}, nil)

	selectValue  = object(fields{"value": str, "name": str}, fields{"description": str})
	configOption = union("type", fields{
		"select": object(
			fields{"id": str, "name": str, "currentValue": str, "options": either(
				list(selectValue),
				list(object(fields{"group": str, "name": str, "options": list(selectValue)}, nil)),
			)},
			fields{"category": str, "description": str},
		),
		"boolean": object(fields{"id": str, "name": str, "currentValue": boolean}, fields{"category": str, "description": str}),
	})
	configOptions = object(fields{"configOptions": list(configOption)}, nil)
	sessionInfo   = object(nil, fields{"title": str, "updatedAt": str})
	usageUpdate   = object(fields{"used": count, "size": count}, fields{"cost": object(fields{"amount": num, "currency": str}, nil)})
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
	"sessionId": str,
	"update":    object(fields{"sessionUpdate": str}, nil),
}, nil)

// clientMethods has the params of the requests that an agent may make, and
// promptResponse the result of the one that it answers here.
var (
	permissionRequest = object(fields{
		"sessionId": str,
		"toolCall":  toolCallUpdate,
		"options":   list(object(fields{"optionId": str, "name": str, "kind": optionKinds}, nil)),
	}, nil)

	onTerminal = object(fields{"sessionId": str, "terminalId": str}, nil)

	clientMethods = fields{
		"session/request_permission": permissionRequest,
		"fs/read_text_file":          object(fields{"sessionId": str, "path": str}, fields{"line": count, "limit": count}),
		"fs/write_text_file":         object(fields{"sessionId": str, "path": str, "content": str}, nil),
		"terminal/create": object(fields{"sessionId": str, "command": str}, fields{
			"args": list(str), "cwd": str, "outputByteLimit": count,
			"env": list(object(fields{"name": str, "value": str}, nil)),
		}),
		"terminal/output":        onTerminal,
		"terminal/wait_for_exit": onTerminal,
		"terminal/kill":          onTerminal,
		"terminal/release":       onTerminal,
	}

	promptResponse = object(fields{"stopReason": stopReasons}, nil)
)
