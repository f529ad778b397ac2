package script

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"github.com/coder/acp-go-sdk"
)

// How requests are answered.

var answerStatements = []*statement{
	{
		usage: "stop REASON [FIELDS]",
		doc:   "Answers the prompt with this stop reason, and the fields laid over the result. What follows happens after the response.",
		run:   runStop,
	},
	{
		usage: "fail CODE TEXT [JSON]",
		doc:   "Answers the request with an error: code, message, data.",
		run:   runFail,
	},
	{
		usage: "require cwd",
		doc:   "Answers the request with error -32602 unless its `cwd` is the absolute path of a directory.",
		run:   runRequireCwd,
	},
	{
		usage: "answer FIELDS",
		doc:   "Lays the fields over the honest result, with which the request is answered when the section ends (or by `stop`).",
		run:   runAnswer,
	},
	{
		usage: "reply JSON [id=JSON]",
		doc:   "Writes a response with exactly this result. May be repeated; `id=` is for a wrong or differently written id.",
		run:   runReply,
	},
	{
		usage: "reply error CODE TEXT [JSON] [id=JSON]",
		doc:   "Writes an error response, like `reply`.",
		run:   runReplyError,
	},
	{
		usage: "never reply",
		doc:   "The request is not answered, whatever follows.",
		run:   func(t *task, c *call) error { t.settle(false); return nil },
	},
	{
		usage: "interrupt [session=ID]",
		doc:   "Ends the other open turns of the session as a cancel would.",
		run:   runInterrupt,
	},
}

func runStop(t *task, c *call) error {
	fields, err := t.json(c, "FIELDS")
	if err != nil {
		return err
	}
	stop := marshal(map[string]string{"stopReason": t.text(c, "REASON")})
	if fields != nil {
		stop = overlay(stop, fields)
	}
	t.lay(stop)
	t.finish(nil)
	return nil
}

func runFail(t *task, c *call) error {
	err := &acp.RequestError{Message: t.text(c, "TEXT")}
	var mistake error
	if err.Code, mistake = t.number(c, "CODE"); mistake != nil {
		return mistake
	}
	if err.Data, mistake = t.decoded(c, "JSON"); mistake != nil {
		return mistake
	}
	t.finish(err)
	return nil
}

// runRequireCwd is what an agent does that works in the directories that it is given. It
// is no default: a test's agent may be one in another world of paths.
//
// https://agentclientprotocol.com/protocol/session-setup#working-directory
func runRequireCwd(t *task, _ *call) error {
	cwd := t.message.cwd
	info, err := os.Stat(cwd)
	switch {
	case !filepath.IsAbs(cwd):
		t.finish(&acp.RequestError{Code: invalidParams, Message: "cwd is no absolute path"})
	case err != nil || !info.IsDir():
		t.finish(&acp.RequestError{Code: invalidParams, Message: "cwd is no directory"})
	}
	return nil
}

const invalidParams = -32602

func runAnswer(t *task, c *call) error {
	fields, err := t.json(c, "FIELDS")
	if err == nil {
		t.lay(fields)
	}
	return err
}

// lay adds fields to what the answer will have over the honest result.
func (t *task) lay(fields json.RawMessage) {
	if t.fields != nil {
		fields = overlay(t.fields, fields)
	}
	t.fields = fields
}

func runReply(t *task, c *call) error {
	result, err := t.json(c, "JSON")
	if err != nil {
		return err
	}
	if t.message.Method == acp.AgentMethodSessionNew {
		t.renamed(textOf(dig(result, []string{"sessionId"})))
	}
	return t.reply(c, "result", result)
}

func runReplyError(t *task, c *call) error {
	code, err := t.number(c, "CODE")
	if err != nil {
		return err
	}
	object := map[string]any{"code": code, "message": t.text(c, "TEXT")}
	if c.has("JSON") {
		if object["data"], err = t.json(c, "JSON"); err != nil {
			return err
		}
	}
	return t.reply(c, "error", marshal(object))
}

func (t *task) reply(c *call, member string, value json.RawMessage) error {
	id, err := t.json(c, "id")
	if err != nil {
		return err
	}
	if id == nil {
		id = orNull(t.message.ID)
	}
	answers := sameID(id, t.message.ID)
	if answers {
		t.settle(true)
	}
	frame := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	frame = append(append(append(frame, `,"`+member+`":`...), value...), '}')
	t.r.out.frame(frame)
	if answers {
		t.r.closeTurn(t)
	}
	return nil
}

// sameID reports whether two ids mean the same request: 3, 3.0 and "3" do.
func sameID(a, b json.RawMessage) bool {
	x, errX := strconv.ParseFloat(textOf(a), 64)
	y, errY := strconv.ParseFloat(textOf(b), 64)
	return idKey(a) == idKey(b) || errX == nil && errY == nil && x == y
}

func runInterrupt(t *task, c *call) error {
	var others []*task
	id := t.sessionID(c)
	t.r.mu.Lock()
	if s := t.r.sessions[id]; s != nil {
		for _, other := range s.turns {
			if other.turn != t.turn {
				others = append(others, other)
			}
		}
	}
	t.r.mu.Unlock()
	t.r.interrupt(others)
	return nil
}
