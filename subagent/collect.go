package subagent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

const (
	// maxOutput is how much of an agent's text is kept by default, in bytes.
	maxOutput = 16 << 20
	// maxCards bounds each of the messages, tool calls and permission records that are
	// kept, maxCardBytes what the latter two hold: what an agent can make without end
	// must not fill the parent.
	maxCards     = 10_000
	maxCardBytes = 16 << 20
	// maxIDBytes bounds the ids of the messages that are kept, maxBareRecord one record
	// of a permission that is kept when the cards are full.
	maxIDBytes    = 16 << 20
	maxBareRecord = 4 << 10
	// maxEarly bounds the updates that wait for the session to be known, in bytes.
	maxEarly = 16 << 20
)

// collector gathers what a run's updates say. It is fed on the connection's reader,
// in wire order, and never waits for anybody.
type collector struct {
	// seen, if set, is told of each update of a tool call, and at the end of those that are
	// still open and were never asked about. It is called with mu held. Not changed once
	// there are updates.
	seen func(call ToolCall, changed bool, f fields)

	mu sync.Mutex // guards everything below; held for moments only

	session string // the run's session; empty until it is known
	// early holds the updates that came before the session was known, by session:
	// an agent may report on a session before it has answered session/new.
	early      map[string][]client.Update
	earlyBytes int
	earlyLimit int
	over       bool // the turn has ended: what comes now is late

	limit     int
	size      int
	idBytes   int // of the messages' ids
	messages  []message
	open      bool // the next chunk may go on with the last message
	truncated bool
	lateText  bool // text came that is not in messages because it was late

	calls     []ToolCall
	callIndex map[string]int
	records   []permission.Record
	cardLimit int
	cardBytes int
	cardsFull bool
	// answered counts the permission requests that have their answer, pending those that
	// had none when the turn ended, lateAsks those answered since then.
	answered, pending, lateAsks int
	// changedCalls counts the calls that became others after they had been allowed,
	// ranBefore the questions about calls that had ended already.
	changedCalls, ranBefore int

	plan   []PlanEntry
	usage  *Usage
	model  *string
	mode   *string
	counts Counts
}

type message struct {
	id   string
	text []byte
	cut  bool // its end is missing: nothing may follow
}

func newCollector() *collector {
	return &collector{limit: maxOutput, cardLimit: maxCardBytes, earlyLimit: maxEarly, early: map[string][]client.Update{}, callIndex: map[string]int{}}
}

// setSession says which session the run is. Updates for it that came earlier are
// applied now; those for others turn out to be foreign.
func (c *collector) setSession(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
	for session, updates := range c.early {
		for i := range updates {
			if session == id {
				c.apply(&updates[i])
			} else {
				c.counts.Foreign++
			}
		}
	}
	c.early = nil
}

// update takes one update. It keeps nothing of u.
func (c *collector) update(u *client.Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch session := string(u.SessionID); {
	case session == c.session && c.early == nil:
		c.apply(u)
	case c.early != nil:
		if c.earlyBytes += updateSize(u); c.earlyBytes > c.earlyLimit {
			c.counts.Dropped++
			c.truncated = true // it may have been text of the run's session
			return
		}
		c.early[session] = append(c.early[session], u.Clone())
	default:
		c.counts.Foreign++
	}
}

// asked says, just before the end of the turn, how often permission was asked for in it.
func (c *collector) asked(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.pending = n - c.answered
	}
}

// endTurn says that the answer to the prompt was read.
func (c *collector) endTurn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// apply adds u, which is of the run's session.
func (c *collector) apply(u *client.Update) {
	c.counts.Updates++
	if c.over {
		// Nothing that comes after the turn belongs to its answer, but what it says of
		// the session (usage, mode) is as true as before.
		c.counts.Late++
	}
	switch u.Kind {
	case "agent_message_chunk":
		switch text := chunkText(u); {
		case !c.over:
			c.text(text, messageID(u))
		case text != "":
			c.lateText = true
		}
	case "agent_thought_chunk", "user_message_chunk":
		c.open = false
	case "tool_call", "tool_call_update":
		c.open = false
		f := readFields(u.Raw)
		if call, changed := c.toolCall(f); c.seen != nil && call.ID != "" {
			c.seen(call, changed, f)
		}
	case "plan":
		c.open = false
		c.plan = readPlan(readFields(u.Raw))
	case "usage_update":
		c.usage = mergeUsage(readContext(readFields(u.Raw)), c.usage)
	case "current_mode_update":
		if mode := readFields(u.Raw).text("currentModeId"); mode != nil {
			c.mode = mode
		}
	case "config_option_update":
		c.configOptions(readFields(u.Raw))
	case "available_commands_update", "session_info_update", "plan_update", "plan_removed":
		// Nothing of these is in the result; they are there as updates.
	default:
		c.counts.Unknown++
	}
}

// text adds a chunk to the messages. A chunk without an id goes on with the message
// before it, if nothing came in between.
func (c *collector) text(text, id string) {
	n := len(c.messages)
	if !c.open || id != "" && id != c.messages[n-1].id {
		if text == "" {
			// An empty chunk may begin a message, but is none by itself.
			c.open = false
			return
		}
		c.messages = append(c.messages, message{id: id})
		c.idBytes += len(id)
		c.open = true
		n++
	}
	last := &c.messages[n-1]
	if last.cut {
		return
	}
	last.text = append(last.text, text...)
	c.size += len(text)
	if c.size > c.limit || n > maxCards || c.idBytes > maxIDBytes {
		c.trim()
	}
}

// trim brings the text down to the limit. The last message is the answer, so the
// older ones go first; of the answer itself the beginning is kept.
func (c *collector) trim() {
	c.truncated = true
	for len(c.messages) > 1 && (c.size > c.limit || len(c.messages) > maxCards || c.idBytes > maxIDBytes) {
		c.size -= len(c.messages[0].text)
		c.idBytes -= len(c.messages[0].id)
		c.messages[0] = message{}
		c.messages = c.messages[1:]
	}
	if over := c.size - c.limit; over > 0 {
		last := &c.messages[0]
		last.cut = true
		end := len(last.text) - over
		for end > 0 && !utf8.RuneStart(last.text[end]) {
			end--
		}
		c.size -= len(last.text) - end
		last.text = last.text[:end]
	}
}

// toolCall merges what an update or a permission request says of a tool call. It returns
// the call and whether that has changed it, or may have: where the cards are full, not all
// that is said is in them.
func (c *collector) toolCall(f fields) (_ ToolCall, changed bool) {
	id := f.id("toolCallId")
	if id == "" {
		return ToolCall{}, false
	}
	i, ok := c.callIndex[id]
	if !ok {
		if len(c.calls) >= maxCards || !c.room(len(id)) {
			c.cardsFull = true
			return f.toolCall(ToolCall{ID: id, Status: string(acp.ToolCallStatusPending)}), true
		}
		i = len(c.calls)
		c.callIndex[id] = i
		c.calls = append(c.calls, ToolCall{ID: id, Status: string(acp.ToolCallStatusPending)})
	}
	call := &c.calls[i]
	before := *call
	if title := f.text("title"); c.replaces(call.Title, title) {
		call.Title = title
	}
	if kind := f.text("kind"); c.replaces(call.Kind, kind) {
		if call.Permitted != nil && *call.Permitted && call.Kind != nil && *call.Kind != *kind {
			// What was allowed was a call of another kind.
			call.Permitted = nil
			c.changedCalls++
		}
		call.Kind = kind
	}
	if status := f.text("status"); c.replaces(&call.Status, status) {
		call.Status = *status
	}
	if c.cardsFull {
		return f.toolCall(*call), true
	}
	return *call, !ok || !reflect.DeepEqual(before, *call)
}

// replaces reports whether a text of a card is to take the place of an old one: it is
// there, and there is room for it.
func (c *collector) replaces(old, text *string) bool {
	if text == nil {
		return false
	}
	size := len(*text)
	if old != nil {
		size -= len(*old)
	}
	return c.room(size)
}

// room takes that many bytes for the cards, if they are to be had.
func (c *collector) room(bytes int) bool {
	if c.cardBytes+bytes > c.cardLimit {
		c.cardsFull = true
		return false
	}
	c.cardBytes += bytes
	return true
}

// permission adds a decision and marks its tool call with it.
func (c *collector) permission(rec permission.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hosted := rec.Facts != nil && rec.Facts.Method != acp.ClientMethodSessionRequestPermission
	switch {
	case hosted: // it was not asked, we are
	case c.over:
		c.answered++
		c.lateAsks++
	default:
		c.answered++
		c.pending = max(c.pending-1, 0)
	}
	if len(c.records) >= maxCards {
		c.cardsFull = true
		return
	}
	if size, err := json.Marshal(rec); err != nil || !c.room(len(size)) {
		// What was decided is kept, without what it was about.
		rec.RawInput, rec.Title, rec.Facts, rec.Options = nil, nil, nil, []permission.Option{}
		if size, err := json.Marshal(rec); err != nil || len(size) > maxBareRecord {
			return
		}
	}
	c.records = append(c.records, rec)
	if rec.SessionID != c.session {
		return // a nested session's calls are not this session's
	}
	if hosted {
		return // it is what we do, and in the files and commands
	}
	if i, ok := c.callIndex[rec.ToolCallID]; ok && ended(c.calls[i].Status) {
		c.ranBefore++ // and what is asked now is another thing
		return
	}
	call := fields{}
	call.set("toolCallId", rec.ToolCallID)
	if rec.Title != nil {
		call.set("title", *rec.Title)
	}
	if rec.Kind != nil {
		call.set("kind", *rec.Kind)
	}
	c.toolCall(call)
	if i, ok := c.callIndex[rec.ToolCallID]; ok {
		allowed := rec.Decision == permission.Allowed
		// Of several questions nobody can tell which one the agent then went by.
		if before := c.calls[i].Permitted; before == nil || !allowed {
			c.calls[i].Permitted = &allowed
		}
	}
}

// newSession takes model and mode from the answer to session/new.
func (c *collector) newSession(result json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := readFields(result)
	if mode := f.object("modes").text("currentModeId"); mode != nil {
		c.mode = mode
	}
	if model := f.object("models").text("currentModelId"); model != nil {
		c.model = model
	}
	c.configOptions(f)
}

// configOptions takes model and mode from a list of session config options.
// See https://agentclientprotocol.com/protocol/session-config-options.
func (c *collector) configOptions(f fields) {
	for _, o := range f.list("configOptions") {
		option := readFields(o)
		category := option.text("category")
		if category == nil {
			category = option.text("id")
		}
		value := option.text("currentValue")
		if category == nil || value == nil {
			continue
		}
		switch *category {
		case "model":
			c.model = value
		case "mode":
			c.mode = value
		}
	}
}

// modelAndMode returns what is known of them by now.
func (c *collector) modelAndMode() (model, mode *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.model, c.mode
}

// openCalls reports whether a tool call of the session is under way. One that was not
// permitted is not, whatever the agent makes of it.
func (c *collector) openCalls() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.calls, func(call ToolCall) bool {
		return open(call.Status) && (call.Permitted == nil || *call.Permitted)
	})
}

func open(status string) bool {
	return status == string(acp.ToolCallStatusPending) || status == string(acp.ToolCallStatusInProgress)
}

// ended is the contrary, where the agent says so in words that we know.
func ended(status string) bool {
	return status == string(acp.ToolCallStatusCompleted) || status == string(acp.ToolCallStatusFailed)
}

// fill puts what was gathered into res. cancelled says that we ended the turn.
func (c *collector) fill(res *Result, cancelled bool, redact func(string) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	res.Messages = []Message{}
	for _, m := range c.messages {
		text := strings.ToValidUTF8(string(m.text), "\uFFFD")
		msg := Message{Text: text}
		if m.id != "" {
			msg.ID = &m.id
		}
		res.Messages = append(res.Messages, msg)
		// A message of blanks is no answer while there is another.
		if strings.TrimSpace(text) != "" || strings.TrimSpace(res.Output) == "" {
			res.Output = text
		}
	}
	res.Truncated = c.truncated
	if c.truncated {
		res.Warnings = append(res.Warnings, "the agent sent more text than is kept; the messages are not complete")
	}
	res.Empty = strings.TrimSpace(res.Output) == ""

	res.ToolCalls = slices.Clone(c.calls)
	for i := range res.ToolCalls {
		call := &res.ToolCalls[i]
		call.Title, call.Kind = redactPtr(call.Title, redact), redactPtr(call.Kind, redact)
		if open(call.Status) {
			call.Status = "unknown"
			if cancelled {
				call.Status = "cancelled"
			}
			if c.seen != nil && call.Permitted == nil {
				c.seen(*call, true, nil)
			}
		}
		call.Status = redact(call.Status)
	}
	if res.ToolCalls == nil {
		res.ToolCalls = []ToolCall{}
	}
	res.Permissions = append([]permission.Record{}, c.records...)
	if c.cardsFull {
		res.Warnings = append(res.Warnings, "the agent made more tool calls or permission requests than are kept")
	}
	if c.changedCalls > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("tool calls of the agent became calls of another kind after they had been allowed: %d; as that they were not", c.changedCalls))
	}
	if c.ranBefore > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("the agent asked for permission for tool calls that had ended already: %d", c.ranBefore))
	}
	res.Plan, res.Usage = slices.Clone(c.plan), c.usage
	if res.Usage != nil && res.Usage.Cost != nil {
		usage, cost := *res.Usage, *res.Usage.Cost
		cost.Currency = redact(cost.Currency)
		usage.Cost = &cost
		res.Usage = &usage
	}
	for i, e := range res.Plan {
		res.Plan[i] = PlanEntry{Content: redact(e.Content), Priority: redact(e.Priority), Status: redact(e.Status)}
	}
	if c.model != nil {
		res.Model = redactPtr(c.model, redact)
	}
	if c.mode != nil {
		res.Mode = redactPtr(c.mode, redact)
	}
	res.Counts = c.counts
}

// fillLate brings up to date what can change after the turn: updates can come until
// the process has gone.
func (c *collector) fillLate(res *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	res.Counts = c.counts
	if late := c.records[min(len(res.Permissions), len(c.records)):]; len(late) > 0 {
		res.Permissions = append(slices.Clone(res.Permissions), late...)
	}
	if c.pending > 0 {
		res.Warnings = append(res.Warnings, "the agent ended the turn while it waited for an answer to a permission request")
	}
	if c.lateAsks > c.pending {
		res.Warnings = append(res.Warnings, "the agent asked for permission after it had ended the turn")
	}
	if c.lateText {
		res.Warnings = append(res.Warnings, "the agent sent text after it had ended the turn; it is not in the output")
	}
}

// turnOver reports whether the turn has ended.
func (c *collector) turnOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// chunkText returns the text of a message chunk; other content adds none.
func chunkText(u *client.Update) string {
	text, _ := u.Text()
	return text
}

func messageID(u *client.Update) string {
	if chunk := u.Value.AgentMessageChunk; chunk != nil && chunk.MessageId != nil {
		return *chunk.MessageId
	}
	return ""
}
