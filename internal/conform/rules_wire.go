package conform

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/errand-acp/errand/client/transcript"
)

const (
	transportsPage    = "https://agentclientprotocol.com/protocol/transports"
	extensibilityPage = "https://agentclientprotocol.com/protocol/extensibility"
	jsonrpcPage       = "https://www.jsonrpc.org/specification"
)

var wireRules = []Rule{
	{
		ID: "stdout-messages", Title: "there is nothing but messages on stdout", Level: Must,
		Quote:  "The agent MUST NOT write anything to its stdout that is not a valid ACP message. (A blank line is let through: it is a delimiter with nothing before it)",
		Source: transportsPage + "#stdio",
		judge:  judgeStdout,
	},
	{
		ID: "stdout-utf8", Title: "messages are UTF-8", Level: Must,
		Quote:  "JSON-RPC messages MUST be UTF-8 encoded.",
		Source: transportsPage,
		judge: func(r *recording) outcome {
			beyond := -1
			o := each(r, func(i int, _ message) string {
				switch line := r.entries[i].Frame; {
				case !utf8.Valid(line):
					return "a message has bytes that are not UTF-8"
				case bytes.ContainsFunc(line, func(c rune) bool { return c >= utf8.RuneSelf }):
					beyond = i
				}
				return ""
			}, "all messages are")
			switch {
			case o.verdict == Pass && beyond < 0: // every encoding has these
				return untried("no message had a character beyond ASCII")
			case o.verdict == Pass:
				return kept("all messages are, also those with characters beyond ASCII", r.entries[beyond])
			}
			return o
		},
	},
	{
		ID: "jsonrpc-version", Title: `each message says jsonrpc: "2.0"`, Level: Must,
		Quote:  `A String specifying the version of the JSON-RPC protocol. MUST be exactly "2.0".`,
		Source: jsonrpcPage + "#response_object",
		judge: func(r *recording) outcome {
			return each(r, func(_ int, m message) string {
				if v, ok := stringField(m.jsonrpc); !ok || v != "2.0" {
					return fmt.Sprintf("jsonrpc is %s", orMissing(m.jsonrpc))
				}
				return ""
			}, "they do")
		},
	},
	{
		ID: "jsonrpc-result-or-error", Title: "an answer has a result or an error, and not both", Level: Must,
		Quote:  "Either the result member or error member MUST be included, but both members MUST NOT be included.",
		Source: jsonrpcPage + "#response_object",
		judge: func(r *recording) outcome {
			return eachAnswer(r, func(_ int, m message) string {
				switch {
				case m.Result != nil && m.Error != nil:
					return "an answer has both"
				case m.Result == nil && m.Error == nil:
					return "an answer has neither"
				}
				return ""
			}, "answers have one of them")
		},
	},
	{
		ID: "jsonrpc-error", Title: "an error has a code that is an integer, and a message", Level: Must,
		Quote:  `Error: "required": ["code", "message"]; "code: A Number that indicates the error type that occurred. This MUST be an integer." (https://www.jsonrpc.org/specification#error_object)`,
		Source: schemaPlace + "Error",
		judge: func(r *recording) outcome {
			if r.echoes() {
				return untried(whyEcho)
			}
			var shows []transcript.Entry
			for i, m := range r.agent() {
				if m.isRequest() || m.isNotification() || m.Error == nil || isNull(m.Error) {
					continue
				}
				if wrong := object(fields{"code": integer, "message": str}, nil).misfits("error", m.Error); len(wrong) > 0 {
					return broken(say(wrong), r.entries[i])
				}
				shows = append(shows, r.entries[i])
			}
			if len(shows) == 0 {
				return untried("it answered nothing with an error")
			}
			return kept("errors have both", shows[0])
		},
	},
	{
		ID: "jsonrpc-id", Title: "an answer has the id of a request", Level: Must,
		Quote:  "It MUST be the same as the value of the id member in the Request Object.",
		Source: jsonrpcPage + "#response_object",
		judge:  judgeAnswerIDs,
	},
	{
		ID: "jsonrpc-one-answer", Title: "a request is answered once", Level: Manners,
		Quote: "A second answer has nobody to go to; who uses ids again takes it for that of another request.",
		judge: func(r *recording) outcome {
			answered := map[string]int{}
			return eachAnswer(r, func(i int, m message) string {
				id := canonical(m.ID)
				if id == "" || id == "null" {
					return ""
				}
				if answered[id]++; answered[id] > 1 {
					return fmt.Sprintf("the request %s was answered again", short(string(m.ID), 40))
				}
				return ""
			}, "they were")
		},
	},
	{
		ID: "notification-unanswered", Title: "a notification is not answered", Level: Must,
		Quote:  "The Server MUST NOT reply to a Notification",
		Source: jsonrpcPage + "#notification",
		scenes: []string{"methods"},
		judge: func(r *recording) outcome {
			sent, ok := r.mark("unknown-notification")
			after, no := r.reply("after-notification")
			switch {
			case !ok:
				return untried(orText(r.stopped, "no notification was sent"))
			case no != nil:
				return *no
			}
			asked := map[string]bool{}
			for _, m := range r.from(transcript.FromClient, 0, after.answerAt) {
				asked[canonical(m.ID)] = m.isRequest()
			}
			end := len(r.entries)
			for i := range r.from(transcript.FromClient, after.answerAt, len(r.entries)) {
				end = i // what comes after this may be about this
				break
			}
			for i, m := range r.from(transcript.FromAgent, sent.index, end) {
				if m.isResponse() && (m.ID == nil || isNull(m.ID) || !asked[canonical(m.ID)]) {
					return broken("it was answered", r.at(sent.index, i)...)
				}
			}
			return kept("the next request was answered, and the notification was not", append(r.at(sent.index), after.entries()...)...)
		},
	},
	{
		ID: "notification-unknown", Title: "an unknown notification is ignored", Level: Should,
		Quote:  "Unlike with custom requests, implementations SHOULD ignore unrecognized notifications.",
		Source: extensibilityPage + "#custom-notifications",
		scenes: []string{"methods"},
		judge: func(r *recording) outcome {
			sent, ok := r.mark("unknown-notification")
			if !ok {
				return untried(orText(r.stopped, "no notification was sent"))
			}
			if o := r.diedOf(sent, "after-notification"); o != nil {
				return *o
			}
			c := r.call("after-notification")
			o := survived(r, "after-notification", "the next request was answered", c != nil && c.method == "session/new")
			o.entries = append(r.at(sent.index), o.entries...)
			return o
		},
	},
	{
		ID: "extension-answered", Title: "a request of an unknown extension is answered", Level: Must,
		Quote:  "Upon receiving a custom request, implementations MUST respond accordingly with the provided id",
		Source: extensibilityPage + "#custom-requests",
		scenes: []string{"methods"},
		judge: func(r *recording) outcome {
			return survived(r, "unknown-extension", "it was answered", false)
		},
	},
	{
		ID: "method-answered", Title: "a request with an unknown method is answered", Level: Must,
		Quote:  "When a rpc call is made, the Server MUST reply with a Response, except for in the case of Notifications.",
		Source: jsonrpcPage + "#response_object",
		scenes: []string{"methods"},
		judge: func(r *recording) outcome {
			return survived(r, "unknown-method", "it was answered", false)
		},
	},
	{
		ID: "method-not-found", Title: "an unknown method is answered with -32601", Level: Manners,
		Quote:  `If the receiving end doesn't recognize the custom method name, it should respond with the standard "Method not found" error`,
		Source: extensibilityPage + "#custom-requests",
		scenes: []string{"methods"},
		judge: func(r *recording) outcome {
			var entries []transcript.Entry
			for _, label := range []string{"unknown-extension", "unknown-method"} {
				c, no := r.reply(label)
				if no != nil {
					continue
				}
				entries = append(entries, c.entries()...)
				const methodNotFound = -32601
				if code, _ := c.answer.errorCode(); code != methodNotFound {
					if c.answer.Error == nil {
						return brokenf(c.entries(), "%s was answered with a result", c.method)
					}
					return brokenf(c.entries(), "%s was answered with another error: %s", c.method, errorText(c.answer.Error))
				}
			}
			if len(entries) == 0 {
				return untried(orText(r.stopped, "none was answered"))
			}
			return kept("it was", entries...)
		},
	},
	{
		ID: "request-ids", Title: "ids of every sort come back as they were", Level: Must,
		Quote:  "An identifier established by the Client that MUST contain a String, Number, or NULL value if included. … The Server MUST reply with the same value in the Response object if included.",
		Source: schemaPlace + "RequestId",
		scenes: []string{"methods"},
		judge: func(r *recording) outcome {
			if _, no := r.reply("unknown-extension"); no != nil {
				return *no
			}
			var entries []transcript.Entry
			for _, u := range unusualIDs {
				c, no := r.reply(u.label)
				switch {
				case c == nil:
					return *no
				case no != nil:
					return brokenf(c.entries(), "a request with the id %s got no answer with that id, and the same with another id did", u.id)
				}
				entries = append(entries, c.entries()...)
			}
			return kept("they did", entries...)
		},
	},
	{
		ID: "frame-split", Title: "a message may come in pieces", Level: Manners,
		Quote:  "Messages are delimited by newlines (\\n): a pipe delivers them in whatever pieces it likes.",
		Source: transportsPage + "#stdio",
		scenes: []string{"frames"},
		judge:  func(r *recording) outcome { return survived(r, "split", "it was answered", false) },
	},
	{
		ID: "frame-joined", Title: "two messages may come at once", Level: Manners,
		Quote:  "Messages are delimited by newlines (\\n): a pipe delivers them in whatever pieces it likes.",
		Source: transportsPage + "#stdio",
		scenes: []string{"frames"},
		judge: func(r *recording) outcome {
			one := survived(r, "joined-one", "both were answered", false)
			if one.verdict != Pass {
				return one
			}
			two := survived(r, "joined-two", "both were answered", false)
			two.entries = append(one.entries, two.entries...)
			return two
		},
	},
	{
		ID: "frame-large", Title: "a message may have megabytes", Level: Manners,
		Quote:  "A prompt with an image or a file in it has megabytes: an agent that reads no long lines never answers it, and what follows.",
		scenes: []string{"frames"},
		judge: func(r *recording) outcome {
			return survived(r, "large", fmt.Sprintf("one of %d MiB was answered", largeFrame>>20), false)
		},
	},
	{
		ID: "stray-answer", Title: "an answer that nobody waits for is ignored", Level: Manners,
		Quote:  "A client may answer a request that the agent has given up; that must not end the connection.",
		scenes: []string{"frames"},
		judge:  after("stray-answer", "after-stray"),
	},
	{
		ID: "bad-json", Title: "a line that is no JSON does not end the connection", Level: Manners,
		Quote:  `"-32700 Parse error: Invalid JSON was received by the server" is an error among others (https://www.jsonrpc.org/specification#error_object), and the next line is a message again.`,
		scenes: []string{"frames"},
		judge:  after("bad-json", "after-bad-json"),
	},
	{
		ID: "bad-json-id", Title: "the answer to a line that is no JSON has the id null", Level: Must,
		Quote:  "If there was an error in detecting the id in the Request object (e.g. Parse error/Invalid Request), it MUST be Null.",
		Source: jsonrpcPage + "#response_object",
		scenes: []string{"frames"},
		judge: func(r *recording) outcome {
			answer, at, no := r.parseError()
			switch {
			case no != nil:
				return *no
			case answer.ID == nil:
				return broken("it has no id", at...)
			case !isNull(answer.ID):
				return brokenf(at, "its id is %s", short(string(answer.ID), 60))
			}
			return kept("it is", at...)
		},
	},
	{
		ID: "bad-json-code", Title: "the answer to a line that is no JSON is the error -32700", Level: Manners,
		Quote:  "-32700 Parse error: Invalid JSON was received by the server. An error occurred on the server while parsing the JSON text.",
		Source: jsonrpcPage + "#error_object",
		scenes: []string{"frames"},
		judge: func(r *recording) outcome {
			answer, at, no := r.parseError()
			if no != nil {
				return *no
			}
			const parseError = -32700
			if code, _ := answer.errorCode(); code != parseError {
				return brokenf(at, "it is %s", errorText(answer.Error))
			}
			return kept("it is", at...)
		},
	},
	{
		ID: "odd-frames", Title: "JSON that is no message does not end the connection", Level: Manners,
		Quote:  `"-32600 Invalid Request: The JSON sent is not a valid Request object" is an error among others (https://www.jsonrpc.org/specification#error_object), and the next line is a message again.`,
		scenes: []string{"frames"},
		judge:  after("odd-frame", "after-odd-frames"),
	},
}

// judgeStdout looks for lines that are no message.
func judgeStdout(r *recording) outcome {
	var shows []transcript.Entry
	for i, e := range r.entries {
		if e.From != transcript.FromAgent {
			continue
		}
		m := r.message(i)
		switch {
		case r.isEcho(i):
			return broken("a line of its stdout is what it had read", e)
		case e.Frame == nil && strings.TrimSpace(e.Text) == "":
			// a blank line is nothing but a delimiter
		case e.Frame == nil && r.cutOff(i):
			// it has ended in the middle of a message, because we have asked it to
		case e.Frame == nil:
			return broken("a line of its stdout is no message", e)
		case m.method == nil && m.ID == nil && m.Result == nil && m.Error == nil:
			return broken("a line of its stdout is JSON, and no message", e)
		default:
			shows = append(shows, e)
		}
	}
	if len(shows) == 0 {
		return untried(orText(r.stopped, "there was nothing on its stdout"))
	}
	return kept(fmt.Sprintf("%d lines were messages", len(shows)), shows[0])
}

// isEcho reports whether entry i is a line that was written to the agent: what sends
// everything back speaks no protocol, however well-formed it is.
func (r *recording) isEcho(i int) bool {
	e := r.entries[i]
	if m := r.message(i); e.From != transcript.FromAgent || !m.isRequest() {
		return false
	}
	return before(r.index().ours, string(e.Frame), i) >= 0
}

// echoes reports whether the agent sends back what it reads.
func (r *recording) echoes() bool {
	for i := range r.entries {
		if r.isEcho(i) {
			return true
		}
	}
	return false
}

const whyEcho = "the agent sends back what it reads"

// cutOff reports whether entry i is the last line of an agent that did not end by itself, and
// may have been a message.
func (r *recording) cutOff(i int) bool {
	if !isObject([]byte(r.entries[i].Text)) {
		return false
	}
	for j, e := range r.entries[i+1:] {
		switch {
		case e.End != nil:
			return !slices.ContainsFunc(r.lives(), func(l life) bool { return l.end == i+1+j && l.died })
		case e.From == transcript.FromAgent:
			return false
		}
	}
	return false
}

// judgeAnswerIDs holds the ids of answers against those of the requests before them. An error
// may also have the id of an answer of ours: who waits for none takes it for a bad request.
func judgeAnswerIDs(r *recording) outcome {
	if r.echoes() {
		return untried(whyEcho)
	}
	asked, written := map[string]bool{}, map[string]bool{}
	var shows []transcript.Entry
	for i, e := range r.entries {
		m := r.message(i)
		switch {
		case e.From == transcript.FromClient:
			written[canonical(m.ID)] = true
			if m.isRequest() {
				asked[canonical(m.ID)] = true
			}
		case e.From != transcript.FromAgent || !m.isResponse() || m.ID == nil || isNull(m.ID):
			// Without an id it answers what had none, or none that could be read.
		case !asked[canonical(m.ID)] && !(m.Error != nil && written[canonical(m.ID)]):
			return brokenf(r.at(i), "nothing was asked with the id %s", short(string(m.ID), 60))
		default:
			shows = append(shows, e)
		}
	}
	if len(shows) == 0 {
		return untried(orText(r.stopped, "it answered nothing"))
	}
	return kept("each answer has one", shows[0])
}

// each judges every message of the agent; wrong says what is wrong with one.
func each(r *recording, wrong func(int, message) string, well string) outcome {
	return some(r, func(m message) bool { return m.isRequest() || m.isNotification() || m.ID != nil || m.isResponse() }, wrong, well)
}

// eachAnswer judges every answer of the agent.
func eachAnswer(r *recording, wrong func(int, message) string, well string) outcome {
	return some(r, func(m message) bool {
		return !m.isRequest() && !m.isNotification() && (m.ID != nil || m.isResponse())
	}, wrong, well)
}

func some(r *recording, is func(message) bool, wrong func(int, message) string, well string) outcome {
	if r.echoes() {
		return untried(whyEcho)
	}
	var shows []transcript.Entry
	for i, m := range r.agent() {
		if !is(m) {
			continue
		}
		if why := wrong(i, m); why != "" {
			return broken(why, r.entries[i])
		}
		shows = append(shows, r.entries[i])
	}
	if len(shows) == 0 {
		return untried(orText(r.stopped, "there was none"))
	}
	return kept(well, shows[0])
}

// after judges that a request is answered after something that a lesser agent does not
// outlive.
func after(what, then string) func(r *recording) outcome {
	return func(r *recording) outcome {
		m, ok := r.mark(what)
		if !ok {
			return untried(orText(r.stopped, "it did not come to it"))
		}
		if o := r.diedOf(m, then); o != nil {
			return *o
		}
		o := survived(r, then, "the next request was answered", false)
		o.entries = append(r.at(m.index), o.entries...)
		return o
	}
}

// diedOf says that an agent that was there when something was written was gone when the request
// after it was; nil: it was not, or had been gone before.
func (r *recording) diedOf(what mark, then string) *outcome {
	if !r.toNobody(then) || r.over(what.index) {
		return nil
	}
	o := broken("it was the end of it: "+r.gone(what.index), append(r.at(what.index), r.exit(what.index)...)...)
	return &o
}

// parseError returns the answer to the line that was no JSON, and the entries that show it: an
// error for which there is no request, or whose request has had another answer before.
func (r *recording) parseError() (answer message, at []transcript.Entry, no *outcome) {
	sent, ok := r.mark("bad-json")
	if !ok {
		o := untried(orText(r.stopped, "it did not come to it"))
		return message{}, nil, &o
	}
	end, _ := r.mark("odd-frame")
	expected, had := map[string]bool{}, map[string]string{}
	for i, m := range r.from(transcript.FromClient, 0, end.index) {
		if i != sent.index && m.ID != nil {
			expected[canonical(m.ID)] = true
		}
	}
	for _, m := range r.from(transcript.FromAgent, 0, sent.index) {
		if m.isResponse() {
			had[canonical(m.ID)] = canonical(m.Error)
		}
	}
	for i, m := range r.from(transcript.FromAgent, sent.index, end.index) {
		if !m.isResponse() || m.Error == nil {
			continue
		}
		before, again := had[canonical(m.ID)]
		if !expected[canonical(m.ID)] || again && canonical(m.Error) != before {
			return m, r.at(sent.index, i), nil
		}
	}
	o := untried("it did not answer, which it need not")
	return message{}, nil, &o
}

func orMissing(v []byte) string {
	if v == nil {
		return "missing"
	}
	return short(string(v), 40)
}

func orText(text, other string) string {
	if text != "" {
		return text
	}
	return other
}
