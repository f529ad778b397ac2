package script

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
)

// What the agent reports of its turn: session/update.
//
// https://agentclientprotocol.com/protocol/prompt-turn#3-agent-reports-output

var updateStatements = []*statement{
	{
		usage: "text [TEXT] [size=SIZE] [message=ID] [session=ID]",
		doc:   "A chunk of the agent's message; `message=` is its messageId. With bytes that are not UTF-8, or more than 64 KiB, it is written raw.",
		run:   runText,
	},
	{
		usage: "thought [TEXT] [size=SIZE] [message=ID] [session=ID]",
		doc:   "A chunk of the agent's thoughts.",
		run:   runThought,
	},
	{
		usage: "user [TEXT] [size=SIZE] [message=ID] [session=ID]",
		doc:   "A chunk of a user message, as in a replay or an echo.",
		run:   runUser,
	},
	{
		usage: "burst N TEXT [size=SIZE] [message=ID] [session=ID]",
		doc:   "N chunks of the agent's message, `$i` in TEXT counting from 1, written raw and as fast as it goes.",
		run:   runBurst,
	},
	{
		usage: "plan TEXT... [session=ID]",
		doc:   "A plan; an entry that begins with `[x] ` is completed, with `[>] ` in progress, any other pending.",
		run:   runPlan,
	},
	{
		usage: "tool ID TITLE [kind=KIND] [status=STATUS] [path=PATH] [input=JSON] [output=JSON] [text=TEXT] [old=TEXT] [new=TEXT] [session=ID]",
		doc:   "Announces a tool call. `path=` is its location, `text=` its content; `old=` and `new=` are a diff of the path.",
		run:   runTool,
	},
	{
		usage: "tool-update ID [title=TITLE] [kind=KIND] [status=STATUS] [path=PATH] [input=JSON] [output=JSON] [text=TEXT] [old=TEXT] [new=TEXT] [session=ID]",
		doc:   "A tool_call_update with what is given.",
		run:   runToolUpdate,
	},
	{
		usage: "usage used=N size=N [session=ID]",
		doc:   "A usage_update: tokens used of the context's size. (A turn's own usage: `stop end_turn {\"usage\": …}`.)",
		run:   runUsage,
	},
	{
		usage: "mode ID [session=ID]",
		doc:   "A current_mode_update.",
		run:   runMode,
	},
	{
		usage: "commands TEXT... [session=ID]",
		doc:   "An available_commands_update; each is `\"name: description\"`.",
		run:   runCommands,
	},
	{
		usage: "update UPDATE [session=ID]",
		doc:   "Any update, of a kind that exists or not, as the JSON says.",
		run:   runUpdate,
	},
}

// update sends one through the SDK.
func (t *task) update(c *call, u acp.SessionUpdate) error {
	// An error would say that stdout is gone; the script goes on.
	_ = t.r.conn.SessionUpdate(t.r.ctx, acp.SessionNotification{SessionId: acp.SessionId(t.sessionID(c)), Update: u})
	return nil
}

// updateRaw sends one as the JSON says.
func (t *task) updateRaw(c *call, update json.RawMessage) {
	frame := append([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`), quote(t.sessionID(c))...)
	frame = append(append(append(frame, `,"update":`...), update...), "}}"...)
	t.r.out.frame(frame)
}

// chunk is a message chunk that the SDK is not to make.
func chunk(kind, message string, text []byte) json.RawMessage {
	b := append([]byte(`{"sessionUpdate":"`+kind+`","content":{"type":"text","text":`), text...)
	b = append(b, '}')
	if message != "" {
		b = append(append(b, `,"messageId":`...), quote(message)...)
	}
	return append(b, '}')
}

// bigText is where the SDK's four passes over a text begin to take their time.
const bigText = 64 << 10

func (t *task) chunk(c *call, kind string, wrap func(acp.ContentBlock, *string) acp.SessionUpdate) error {
	text, err := t.sized(c)
	if err != nil {
		return err
	}
	if len(text) > bigText || !utf8.ValidString(text) {
		t.updateRaw(c, chunk(kind, t.text(c, "message"), quote(text)))
		return nil
	}
	return t.update(c, wrap(acp.TextBlock(text), t.pointer(c, "message")))
}

func runText(t *task, c *call) error {
	return t.chunk(c, "agent_message_chunk", func(b acp.ContentBlock, id *string) acp.SessionUpdate {
		return acp.SessionUpdate{AgentMessageChunk: &acp.SessionUpdateAgentMessageChunk{Content: b, MessageId: id}}
	})
}

func runThought(t *task, c *call) error {
	return t.chunk(c, "agent_thought_chunk", func(b acp.ContentBlock, id *string) acp.SessionUpdate {
		return acp.SessionUpdate{AgentThoughtChunk: &acp.SessionUpdateAgentThoughtChunk{Content: b, MessageId: id}}
	})
}

func runUser(t *task, c *call) error {
	return t.chunk(c, "user_message_chunk", func(b acp.ContentBlock, id *string) acp.SessionUpdate {
		return acp.SessionUpdate{UserMessageChunk: &acp.SessionUpdateUserMessageChunk{Content: b, MessageId: id}}
	})
}

// runBurst builds the frames itself: the SDK makes some 60,000 a second, and a burst
// is there to find out what the client can take.
func runBurst(t *task, c *call) error {
	const batch = 64 << 10
	n, err := t.number(c, "N")
	if err != nil {
		return err
	}
	size := 0
	if c.has("size") {
		if size, err = parseSize(t.text(c, "size")); err != nil {
			return err
		}
	}
	before, after, _ := strings.Cut(string(chunk("agent_message_chunk", t.text(c, "message"), []byte("\x00"))), "\x00")
	head := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + string(quote(t.sessionID(c))) + `,"update":` + before
	tail := after + "}}"
	text := t.numbered(c.args["TEXT"], size)
	frames := make([]byte, 0, batch+batch/8)
	for number := 1; number <= n; number++ {
		frames = append(text(append(frames, head...), number), tail...)
		if number == n {
			break // the last frame gets its end from the output
		}
		frames = append(frames, t.r.out.ending()...)
		if len(frames) >= batch {
			if err := t.check(); err != nil {
				return err
			}
			t.r.out.raw(frames)
			frames = frames[:0]
		}
	}
	if n > 0 {
		t.r.out.frame(frames)
	}
	return nil
}

// numbered returns what appends v as a JSON string, with $i as the number. Only what
// is to have a size is put together anew each time.
func (t *task) numbered(v value, size int) func(b []byte, i int) []byte {
	if size > 0 {
		return func(b []byte, i int) []byte {
			vars := func(name string) json.RawMessage {
				if name == "i" {
					return marshal(i)
				}
				return t.lookup(name)
			}
			return append(b, quote(fill(v.text(vars), size))...)
		}
	}
	var pieces [][]byte // nil for the number
	for _, p := range v.parts {
		if p.name == "i" {
			pieces = append(pieces, nil)
			continue
		}
		q := quote(value{parts: []part{p}}.text(t.lookup))
		pieces = append(pieces, q[1:len(q)-1])
	}
	return func(b []byte, i int) []byte {
		b = append(b, '"')
		for _, piece := range pieces {
			if piece == nil {
				b = strconv.AppendInt(b, int64(i), 10)
			}
			b = append(b, piece...)
		}
		return append(b, '"')
	}
}

func runPlan(t *task, c *call) error {
	var entries []acp.PlanEntry
	for _, v := range c.rest {
		e := acp.PlanEntry{Content: v.text(t.lookup), Priority: acp.PlanEntryPriorityMedium, Status: acp.PlanEntryStatusPending}
		if rest, ok := strings.CutPrefix(e.Content, "[x] "); ok {
			e.Content, e.Status = rest, acp.PlanEntryStatusCompleted
		} else if rest, ok := strings.CutPrefix(e.Content, "[>] "); ok {
			e.Content, e.Status = rest, acp.PlanEntryStatusInProgress
		}
		entries = append(entries, e)
	}
	return t.update(c, acp.UpdatePlan(entries...))
}

// toolCall has what a tool call, an update to one and a permission request share.
func (t *task) toolCall(c *call) (call acp.ToolCallUpdate, err error) {
	call.ToolCallId = acp.ToolCallId(t.text(c, "ID"))
	if kind := t.pointer(c, "kind"); kind != nil {
		call.Kind = acp.Ptr(acp.ToolKind(*kind))
	}
	if status := t.pointer(c, "status"); status != nil {
		call.Status = acp.Ptr(acp.ToolCallStatus(*status))
	}
	path := ""
	if c.has("path") {
		path = t.path(t.text(c, "path"))
		call.Locations = []acp.ToolCallLocation{{Path: path}}
	}
	if call.RawInput, err = t.decoded(c, "input"); err != nil {
		return call, err
	}
	if call.RawOutput, err = t.decoded(c, "output"); err != nil {
		return call, err
	}
	if c.has("text") {
		call.Content = append(call.Content, acp.ToolContent(acp.TextBlock(t.text(c, "text"))))
	}
	if c.has("new") {
		diff := acp.ToolCallContentDiff{Path: path, NewText: t.text(c, "new"), OldText: t.pointer(c, "old"), Type: "diff"}
		call.Content = append(call.Content, acp.ToolCallContent{Diff: &diff})
	}
	return call, nil
}

func runTool(t *task, c *call) error {
	call, err := t.toolCall(c)
	if err != nil {
		return err
	}
	start := acp.SessionUpdateToolCall{
		ToolCallId: call.ToolCallId, Title: t.text(c, "TITLE"),
		Content: call.Content, Locations: call.Locations, RawInput: call.RawInput, RawOutput: call.RawOutput,
	}
	if call.Kind != nil {
		start.Kind = *call.Kind
	}
	if call.Status != nil {
		start.Status = *call.Status
	}
	return t.update(c, acp.SessionUpdate{ToolCall: &start})
}

func runToolUpdate(t *task, c *call) error {
	call, err := t.toolCall(c)
	if err != nil {
		return err
	}
	return t.update(c, acp.SessionUpdate{ToolCallUpdate: &acp.SessionToolCallUpdate{
		ToolCallId: call.ToolCallId, Title: t.pointer(c, "title"), Kind: call.Kind, Status: call.Status,
		Content: call.Content, Locations: call.Locations, RawInput: call.RawInput, RawOutput: call.RawOutput,
	}})
}

func runUsage(t *task, c *call) error {
	used, err := t.number(c, "used")
	if err != nil {
		return err
	}
	size, err := t.number(c, "size")
	if err != nil {
		return err
	}
	return t.update(c, acp.SessionUpdate{UsageUpdate: &acp.SessionUsageUpdate{Used: used, Size: size}})
}

func runMode(t *task, c *call) error {
	return t.update(c, acp.SessionUpdate{CurrentModeUpdate: &acp.SessionCurrentModeUpdate{CurrentModeId: acp.SessionModeId(t.text(c, "ID"))}})
}

func runCommands(t *task, c *call) error {
	commands := []acp.AvailableCommand{}
	for _, v := range c.rest {
		name, description, _ := strings.Cut(v.text(t.lookup), ": ")
		commands = append(commands, acp.AvailableCommand{Name: name, Description: description})
	}
	return t.update(c, acp.SessionUpdate{AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{AvailableCommands: commands}})
}

func runUpdate(t *task, c *call) error {
	update, err := t.json(c, "UPDATE")
	if err == nil {
		t.updateRaw(c, update)
	}
	return err
}

// path makes a path absolute: relative to the session's directory, or to the
// process's where there is no session yet.
func (t *task) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(t.directory(), name)
}

func (t *task) directory() string {
	if cwd := t.currentSession().cwd; cwd != "" {
		return cwd
	}
	return workingDirectory()
}
