package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// anywhere is what an agent can do at any time, before there is a session too.
var anywhere = []part{
	{"noise", 6, (*scene).noise},
	{"stderr", 3, (*scene).stderr},
	{"flood of stderr", 1, func(s *scene) {
		s.do("stderr %s size=%dKB", quoted(s.words()), s.number(70, 400))
		s.anyStderr = true
	}},
	{"flood of noise", 1, func(s *scene) {
		n := s.number(50, 500)
		s.do("repeat %d\n  noise %s\nend", n, quoted("noise "+s.line()))
		s.main.Noise += n
	}},
	{"helper in the group", 2, func(s *scene) { s.groupHelper = true; s.spawn("") }},
	{"helper in a group of its own", 1, func(s *scene) { s.spawn("group") }},
	{"helper in a session of its own", 2, func(s *scene) { s.spawn("session") }},
	{"helper that holds stdout", 2, func(s *scene) { s.stdoutHeld = true; s.spawn("session stdout stderr") }},
}

// beforeTurn is what an agent does before its first turn, or all the time.
var beforeTurn = []part{
	{"text before the session", 2, func(s *scene) {
		s.early = true
		s.in(&s.newSession, s.some)
		s.early = false
	}},
	{"CRLF", 1, func(s *scene) { s.in(&s.start, func() { s.do(`newline "\r\n"`) }) }},
	{"byte order mark", 1, func(s *scene) { s.in(&s.start, func() { s.do(`raw "\ufeff"`) }) }},
}

// inTurn is what an agent does in a turn.
var inTurn = []part{
	{"text", 3, (*scene).some},
	{"burst", 1, func(s *scene) { s.burst(s.number(20, 1500)) }},
	{"tool call", 3, func(s *scene) { s.tool("not asked") }},
	{"permission", 5, (*scene).permission},
	{"updates of another session", 2, func(s *scene) {
		n := s.number(1, 30)
		s.do("burst %d %s session=session-77", n, quoted(s.words()))
		s.main.Counts.Foreign += n
	}},
	{"unknown updates", 2, func(s *scene) {
		s.divide()
		s.do("update %s", pick(s.Rand,
			`{"sessionUpdate": "mood", "content": {"type": "text", "text": "no message"}}`,
			`{"sessionUpdate": "tool_dance", "toolCallId": "dance", "title": "no call", "status": "pending"}`,
			`{"sessionUpdate": "void"}`))
		s.seen()
		s.main.Counts.Unknown++
	}},
	{"other updates", 2, func(s *scene) {
		s.divide()
		s.do("%s", pick(s.Rand, "usage used=10 size=100", "mode code", `commands "help: helps"`, `plan "[x] one" "two"`))
		s.seen()
	}},
	{"vendor's words", 2, func(s *scene) {
		s.do(`notify _vendor/said {"x": [1, 2]}`)
		s.do("%s", pick(s.Rand, `request _vendor/do {"x": 1}`, `request fs/read_text_file {"sessionId": "session-1", "path": "/etc/passwd"}`, `request terminal/create {"sessionId": "session-1", "command": "true"}`))
		yes := s.words()
		s.do("if $error.code is -32601\n  text %s\nelse\n  text \"it was answered\"\nend", quoted(yes))
		s.heard(yes)
	}},
	{"two updates in an array", 1, func(s *scene) {
		const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"both "}}}}`
		s.do("send [%s,%s]", update, update)
		s.heard("both ")
		s.heard("both ")
	}},
	{"escapes before a frame", 1, func(s *scene) {
		s.do(`raw "\x1b[2J\x1b[H"`)
		s.say(s.words())
	}},
	{"update over the limit", 1, func(s *scene) {
		s.limitMessages()
		s.do("burst 1 xy size=%dKiB", s.number(110, 900))
		s.main.Counts.Dropped++
		s.main.Truncated = true
	}},
}

// reading is what a caller does with updates.
var reading = []part{
	{"reader of updates", 2, func(s *scene) { s.library, s.caller.reads = true, true }},
	{"slow reader of updates", 1, func(s *scene) {
		s.library, s.caller.reads = true, true
		s.caller.pause = time.Duration(s.number(50, 500)) * time.Microsecond
	}},
}

// divide ends the agent's message.
func (s *scene) divide() {
	s.do("thought %s", quoted(s.words()))
	s.between()
}

// noise is a line that is no frame.
func (s *scene) noise() {
	lines := 1
	switch s.IntN(4) {
	case 0:
		s.do("noise %s", quoted("npm warn "+s.line()))
	case 1:
		s.do("noise %s", pick(s.Rand,
			`'{"level":"info","id":3,"msg":"starting"}'`, `'{"jsonrpc":"2.0","method":"session/update",'`, `'{"id":2,'`, `"null"`, `"[]"`, `"[1,2]"`, `42`,
			`"\xff\xfe\x00\x01"`, `"{}"`, `'{"jsonrpc":"2.0"}'`, `x size=300KB`))
	case 2:
		s.do("noise %s", quoted("key: "+pick(s.Rand, canary.withheld, canary.given)))
	default: // a frame over several lines
		s.do(`send {"jsonrpc": "2.0", "method": "session/update"} pretty`)
		lines = 4
	}
	s.main.Noise += lines
}

// line is words on one line.
func (s *scene) line() string { return strings.ReplaceAll(s.words(), "\n", " ") }

// stderr is a line on stderr.
func (s *scene) stderr() {
	text := s.words()
	if s.IntN(3) == 0 {
		s.do("stderr %s", quoted(text+canary.given+"\n"))
		s.main.Stderr += text + "[redacted]\n"
		return
	}
	s.do("stderr %s", quoted(text+"\n"))
	s.main.Stderr += text + "\n"
}

// forever is for a helper longer than any run. It goes then, should this program be
// killed: what has left its agent's group does not die with that.
const forever = 5 * time.Minute

// spawn starts a helper that does not end by itself.
func (s *scene) spawn(how string) {
	s.helpers++
	ready := fmt.Sprintf("helper-%d", s.helpers)
	block := fmt.Sprintf("  wait %v\n", forever)
	if s.IntN(2) == 0 {
		block = "  ignore TERM\n" + block
		if how == "" {
			s.options.Graces.Term = 2 * short
		}
	}
	if s.IntN(4) == 0 {
		block = fmt.Sprintf("  spawn\n    wait %v\n  end\n", forever) + block
	}
	s.do("spawn %s\n  write %s\n%send", how, ready, block)
	if s.IntN(2) == 0 {
		s.do("wait file %s", ready)
	}
}

// tool is a call as it stands.
type tool struct{ id, status, asked string }

// tool announces a tool call and carries it on, or not.
func (s *scene) tool(asked string) {
	id := fmt.Sprintf("call-%d", len(s.tools))
	title := s.words()
	if s.IntN(4) == 0 {
		title += canary.withheld + " " + canary.given
	}
	t := tool{id, pick(s.Rand, "pending", "in_progress", "completed"), asked}
	s.do("tool %s %s kind=%s status=%s", id, quoted(title), pick(s.Rand, "read", "edit", "execute", "other"), t.status)
	s.between()
	if s.IntN(2) == 0 {
		t.status = pick(s.Rand, "in_progress", "completed", "failed")
		s.do("tool-update %s status=%s", id, t.status)
		s.between()
	}
	s.openCall = s.openCall || t.status == "pending" || t.status == "in_progress"
	s.tools = append(s.tools, t)
}

// permission asks for one and says what the answer was.
func (s *scene) permission() {
	kinds := []string{"allow_once", "allow_always", "reject_once", "reject_always"}
	s.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	kinds = kinds[:s.number(1, 4)]
	if s.IntN(6) == 0 {
		kinds = append(kinds, pick(s.Rand, "allow_once", "maybe"))
	}
	s.divide()
	id := fmt.Sprintf("call-%d", len(s.tools))
	said := map[string]string{"allowed": s.words(), "rejected": s.words(), "cancelled": s.words()}
	s.do("permission %s %s", id, quoted(s.words()))
	for i, kind := range kinds {
		s.do("  option o%d %s %s", i, kind, quoted(s.words()))
	}
	for _, answer := range []string{"allowed", "rejected", "cancelled"} {
		s.do("  when %s\n    text %s", answer, quoted(said[answer]))
	}
	s.do("end")

	messages, asked := append(slices.Clone(s.main.Messages), said["cancelled"]), slices.Clone(s.main.Permissions)
	s.cuts = append(s.cuts, func(e *expectation) { // while it is pending
		e.Messages, e.Permissions = messages, append(asked, id+" cancelled, no option")
	})
	answer, decision, option := decide(kinds, s.allow)
	s.heard(said[answer])
	s.main.Permissions = append(s.main.Permissions, fmt.Sprintf("%s %s, %s", id, decision, option))
	s.tools = append(s.tools, tool{id, "pending", fmt.Sprintf("permitted %v", decision == "allowed")})
	s.openCall = s.openCall || decision == "allowed"
}

// decide is what the policies are to do with options of these kinds.
func decide(kinds []string, allow bool) (answer, decision, option string) {
	selected := func(wanted ...string) int {
		for _, w := range wanted {
			if i := slices.Index(kinds, w); i >= 0 {
				return i
			}
		}
		return -1
	}
	if allow {
		i := selected("allow_once", "allow_always")
		if i < 0 {
			return "cancelled", "cancelled", "no option"
		}
		// Several of a kind are a question, and no permission.
		if !slices.Contains(kinds[i+1:], kinds[i]) {
			return "allowed", "allowed", fmt.Sprintf("o%d", i)
		}
	}
	if i := selected("reject_once", "reject_always"); i >= 0 {
		return "rejected", "denied", fmt.Sprintf("o%d", i)
	}
	return "cancelled", "cancelled", "no option"
}
