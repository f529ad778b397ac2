package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// What the agent asks of the client.

var requestStatements = []*statement{
	{
		usage:   "permission ID TITLE [kind=KIND] [status=STATUS] [path=PATH] [input=JSON] [output=JSON] [text=TEXT] [old=TEXT] [new=TEXT] [session=ID] [cancel=wait|leave|withdraw] ... end",
		doc:     "Asks whether tool call ID may run. The block has the options, then a `when` for each answer. If the turn is cancelled meanwhile it waits for the answer, or it leaves at once, or leaves and withdraws the request.",
		run:     runPermission,
		clauses: []string{"when"},
		check:   checkPermission,
	},
	{
		usage:  "option ID KIND NAME",
		doc:    "An option, in the order offered.",
		within: "permission",
	},
	{
		usage:  "when allowed|rejected|cancelled|error|other|ID",
		doc:    "What to do on this answer: an option of an allow or reject kind, no option, an error, anything else, or this option (or kind). The first that fits is taken.",
		within: "permission",
	},
	{
		usage: "request METHOD [JSON] [id=JSON]",
		doc:   "Any request to the client; waits for the answer and sets `$answer`, `$error`, `$outcome` and `$option`.",
		run:   runRequest,
	},
	{
		usage: "notify METHOD [JSON]",
		doc:   "Any notification to the client.",
		run:   runNotify,
	},
}

// checkPermission sees to it that options come first, and nothing else does.
func checkPermission(c *call) *scriptError {
	for i, part := range c.clauses {
		for _, inner := range part.body {
			if (inner.stmt.grammar.name == "option") != (i == 0) {
				return &scriptError{inner.line, errors.New("permission: options, and only they, stand before the first when")}
			}
		}
	}
	return nil
}

// runPermission asks through the SDK. A request of a shape that its types have no
// place for is made with request.
//
// https://agentclientprotocol.com/protocol/tool-calls#requesting-permission
func runPermission(t *task, c *call) error {
	call, err := t.toolCall(c)
	if err != nil {
		return err
	}
	call.Title = t.pointer(c, "TITLE")
	req := acp.RequestPermissionRequest{SessionId: acp.SessionId(t.sessionID(c)), ToolCall: call, Options: []acp.PermissionOption{}}
	for _, o := range c.clauses[0].body {
		req.Options = append(req.Options, acp.PermissionOption{
			OptionId: acp.PermissionOptionId(t.text(o, "ID")),
			Kind:     acp.PermissionOptionKind(t.text(o, "KIND")),
			Name:     t.text(o, "NAME"),
		})
	}
	resp, err := t.ask(req, t.text(c, "cancel"))
	if errors.Is(err, errInterrupted) || errors.Is(err, errEnded) {
		return err
	}
	outcome, option, kind := "error", "", ""
	switch {
	case err != nil:
		t.local("error", err)
	case resp.Outcome.Selected != nil:
		outcome, option = "selected", string(resp.Outcome.Selected.OptionId)
		i := slices.IndexFunc(req.Options, func(o acp.PermissionOption) bool { return string(o.OptionId) == option })
		if i >= 0 {
			kind = string(req.Options[i].Kind)
		}
	case resp.Outcome.Cancelled != nil:
		outcome = "cancelled"
	}
	t.local("outcome", outcome)
	t.local("option", option)
	for _, branch := range c.clauses[1:] {
		if t.fits(branch.head, outcome, option, kind) {
			return t.branch(branch.body, outcome)
		}
	}
	return nil
}

// branch follows the block for an answer. A cancelled turn still sees its "when
// cancelled" through, and stops after it.
func (t *task) branch(body []*call, outcome string) error {
	if outcome != "cancelled" || t.sheltered {
		return t.follow(body)
	}
	t.sheltered = true
	err := t.follow(body)
	t.sheltered = false
	return err
}

const whenAnswer = "allowed|rejected|cancelled|error|other|ID"

// fits reports whether a "when" is for the answer. In quotes it names an option
// whatever that is called.
func (t *task) fits(when *call, outcome, option, kind string) bool {
	v := when.args[whenAnswer]
	answer := v.text(t.lookup)
	if v.kind == textToken {
		return outcome == "selected" && answer == option
	}
	switch answer {
	case "allowed":
		return strings.HasPrefix(kind, "allow")
	case "rejected":
		return strings.HasPrefix(kind, "reject")
	case "cancelled", "error":
		return answer == outcome
	case "other":
		return true
	}
	return outcome == "selected" && (answer == option || answer == kind)
}

// ask sends a permission request and waits as the script wants it.
func (t *task) ask(req acp.RequestPermissionRequest, onCancel string) (acp.RequestPermissionResponse, error) {
	type answer struct {
		resp acp.RequestPermissionResponse
		err  error
	}
	ctx, withdraw := context.WithCancel(t.r.ctx)
	answers := make(chan answer, 1)
	go func() { // ends with the answer or the agent
		resp, err := t.r.conn.RequestPermission(ctx, req)
		withdraw() // it has no effect any more
		answers <- answer{resp, err}
	}()
	interruption := t.interruption()
	if onCancel == "" || onCancel == "wait" {
		interruption = nil
	}
	select {
	case a := <-answers:
		return a.resp, a.err
	case <-interruption:
		if onCancel == "withdraw" {
			written := t.r.out.expect(message{Method: "$/cancel_request"})
			withdraw()
			a := <-answers
			// The SDK has another goroutine write it, unless an answer came just now.
			if failed := (*acp.RequestError)(nil); errors.As(a.err, &failed) && failed.Code == -32800 {
				t.r.await(written)
			}
		}
		return acp.RequestPermissionResponse{}, errInterrupted
	case <-t.r.ctx.Done():
		return acp.RequestPermissionResponse{}, errEnded
	}
}

// runRequest is not the SDK's: that has no call by name, and counts its ids itself.
func runRequest(t *task, c *call) error {
	params, err := t.json(c, "JSON")
	if err != nil {
		return err
	}
	id, err := t.json(c, "id")
	if err != nil {
		return err
	}
	ch := make(chan json.RawMessage, 1)
	t.r.mu.Lock()
	if id == nil {
		t.r.askedN++
		id = marshal(fmt.Sprintf("request-%d", t.r.askedN))
	}
	t.r.asked[idKey(id)] = ch
	t.r.mu.Unlock()
	t.r.out.frame(requestFrame(id, t.text(c, "METHOD"), params))
	select {
	case response := <-ch:
		t.took(response)
		return nil
	case <-t.interruption():
		return errInterrupted
	case <-t.r.ctx.Done():
		return errEnded
	}
}

// took sets the variables that tell of a response.
func (t *task) took(response json.RawMessage) {
	field := func(path ...string) json.RawMessage { return orNull(dig(response, path)) }
	t.local("answer", field("result"))
	t.local("error", field("error"))
	t.local("outcome", field("result", "outcome", "outcome"))
	t.local("option", field("result", "outcome", "optionId"))
}

// answered takes a response if it is to a request of ours.
func (r *runner) answered(id json.RawMessage, line []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch, ok := r.asked[idKey(orNull(id))]
	if ok {
		delete(r.asked, idKey(orNull(id)))
		ch <- append(json.RawMessage(nil), line...)
	}
	return ok
}

func runNotify(t *task, c *call) error {
	params, err := t.json(c, "JSON")
	if err == nil {
		t.r.out.frame(requestFrame(nil, t.text(c, "METHOD"), params))
	}
	return err
}

// requestFrame is the frame of a request, or of a notification if id is nil.
func requestFrame(id json.RawMessage, method string, params json.RawMessage) []byte {
	frame := []byte(`{"jsonrpc":"2.0"`)
	if id != nil {
		frame = append(append(frame, `,"id":`...), id...)
	}
	frame = append(append(frame, `,"method":`...), quote(method)...)
	if params != nil {
		frame = append(append(frame, `,"params":`...), params...)
	}
	return append(frame, '}')
}
