package transcript

// IDs replaces what is made up anew in each run, by order of appearance:
//
//	$run                     the run
//	$client-1, $agent-1, …   the ids of the client's requests, and of the agent's
//	$session-1, …            sessions, wherever a sessionId says that it is one
//	$call-1, …               tool calls (toolCallId)
//	$message-1, …            messages (messageId)
//	$terminal-1, …           terminals (terminalId)
//	$elicitation-1, …        elicitations (elicitationId)
//
// All but the ids of requests are replaced everywhere: in any string that is equal to one,
// and, those of 8 bytes or more, in strings that mention it as a word. What ACP itself says,
// as the kind of a tool call, is none, nor is a member's name of letters only.
func IDs() Rule {
	return Rule{name: ruleName("IDs"), puts: []string{"ids"}, apply: func(d *draft) {
		d.requestIDs()
		d.otherIDs()
		if d.header.RunID != "" {
			d.header.RunID = "$run"
		}
	}}
}

// idKinds has the members that say that a string is an id.
var idKinds = map[string]string{
	"sessionId": "session", "toolCallId": "call", "messageId": "message", "terminalId": "terminal", "elicitationId": "elicitation",
}

// requestIDs renames the ids of requests, in the answers to them and where they are
// cancelled.
func (d *draft) requestIDs() {
	names := map[string]string{}
	count := map[From]int{}
	rename := func(asker From, id *node) {
		if known := names[string(asker)+string(id.append(nil))]; known != "" {
			*id = *text(known)
		}
	}
	d.messages(func(from From, m *node) {
		id, method := m.member("id"), m.member("method")
		if method != nil && method.text == "$/cancel_request" {
			if cancelled := m.member("params", "requestId"); cancelled != nil {
				rename(from, cancelled)
			}
		}
		switch {
		case id == nil || id.text == "null" && id.kind == 0:
		case method == nil:
			rename(other(from), id)
		default:
			key := string(from) + string(id.append(nil))
			if names[key] == "" {
				count[from]++
				names[key] = name(string(from), count[from])
			}
			rename(from, id)
		}
	})
}

// otherIDs renames the ids that stand for something.
func (d *draft) otherIDs() {
	names := map[string]string{}
	if d.header.RunID != "" {
		names[d.header.RunID] = "$run"
	}
	count := map[string]int{}
	d.messages(func(_ From, m *node) {
		m.walk("", func(member string, n *node) {
			kind := idKinds[member]
			if kind == "" || n.kind != '"' || n.text == "" || names[n.text] != "" {
				return
			}
			count[kind]++
			names[n.text] = name(kind, count[kind])
		})
	})
	var long []string
	for id := range names {
		if len(id) >= 8 {
			long = append(long, id)
		}
	}
	find := newFinder(long)
	d.strings(func(s string) string {
		if known := names[s]; known != "" {
			return known
		}
		return find.replace(s, names)
	})
}
