package conform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/errand-acp/errand/client/transcript"
)

// What several rules judge by.

// refused judges a request that is to be answered with an error. Not to answer it is no
// refusal: "the Server MUST reply with a Response" (jsonrpc.org/specification).
func refused(label, what string) func(r *recording) outcome {
	return func(r *recording) outcome {
		c, no := r.reply(label)
		switch {
		case c != nil && c.died():
			return broken(what+" was the end of it: "+c.why, c.entries()...)
		case c != nil && !c.answered:
			return broken(what+": "+c.why, c.entries()...)
		case no != nil:
			return *no
		case c.answer.Error == nil:
			return broken(what+" was answered with a result", c.entries()...)
		}
		return kept(what+" was answered with an error", c.entries()...)
	}
}

// refusedOnly is refused where the same is to be accepted when nothing is wrong with it, as
// by the request with the other label: who refuses everything has refused nothing.
func refusedOnly(label, what, good string) func(r *recording) outcome {
	return func(r *recording) outcome {
		o := refused(label, what)(r)
		if o.verdict != Pass {
			return o
		}
		if _, no := r.result(good); no != nil {
			return untried("it is not known that one with which nothing is wrong is not refused: " + no.why)
		}
		return o
	}
}

// advertised returns a request that tries a capability, and its answer, which is a result.
// Else no says why there is none; that is broken where the capability was advertised.
func (r *recording) advertised(label string, capability ...string) (c *call, no *outcome) {
	caps, hello, no := r.capabilities()
	if no != nil {
		return nil, no
	}
	name := strings.Join(capability, ".")
	if at := field(caps, capability...); !flag(caps, capability...) && !isObject(at) {
		o := untried(fmt.Sprintf("it does not advertise %s", name))
		return nil, &o
	}
	c, no = r.reply(label)
	switch {
	case c == nil:
		return nil, no
	case no != nil:
		o := broken(c.why, append(hello.entries(), c.entries()...)...)
		return c, &o
	case c.answer.Error != nil:
		o := brokenf(append(hello.entries(), c.entries()...), "it advertises %s, and answered %s with an error: %s", name, c.method, errorText(c.answer.Error))
		return c, &o
	}
	return c, nil
}

// accepted judges a request that is to be answered with a result.
func accepted(r *recording, label string) outcome {
	c, no := r.reply(label)
	switch {
	case c != nil && !c.answered:
		return broken(c.why, c.entries()...)
	case no != nil:
		return *no
	case c.answer.Error != nil:
		return brokenf(c.entries(), "%s was answered with an error: %s", c.method, errorText(c.answer.Error))
	}
	return kept(c.method+" was answered", c.entries()...)
}

// survived judges a request after something that a lesser agent does not outlive: it is to
// be answered, with a result if it has to be one.
func survived(r *recording, label, well string, result bool) outcome {
	c, no := r.reply(label)
	switch {
	case c == nil:
		return *no
	case no != nil:
		return broken(c.why, c.entries()...)
	case result && c.answer.Error != nil:
		return brokenf(c.entries(), "%s was answered with an error: %s", c.method, errorText(c.answer.Error))
	}
	return kept(well, c.entries()...)
}

// restored judges that a session is there again in a fresh process: a prompt in it is
// answered, as it was before. Of a session in which nothing was ever said there may be
// nothing to have back.
func (r *recording) restored(label string, capability ...string) outcome {
	c, no := r.advertised(label, capability...)
	_, unsaid := r.result("prompt")
	switch {
	case no != nil && c != nil && c.answered && unsaid != nil:
		return untried("nothing was ever said in the session: " + unsaid.why)
	case no != nil:
		return *no
	case unsaid != nil:
		return untried("it was answered, and nothing shows that the session is there: " + unsaid.why)
	}
	after, no := r.reply(label + "-prompt")
	gone, shown := c.thenGone()
	switch {
	case after == nil && gone != "":
		return broken("it was answered, and then "+gone, shown...)
	case after == nil:
		return *no
	case no != nil:
		return broken("in the session that it says is there, "+after.why, append(c.entries(), after.entries()...)...)
	case isLogin(after.answer):
		return untried("it needs a login: " + errorText(after.answer.Error) + r.loginHint(after.answer))
	case after.answer.Error != nil:
		return brokenf(append(c.entries(), after.entries()...), "a prompt in the session that it says is there was answered with an error: %s", errorText(after.answer.Error))
	}
	return kept("the session is there, and goes on", append(c.entries(), after.entries()...)...)
}

// words returns the entries in [from, to) that are updates of a session, of one of these
// kinds, with a content that is not empty.
func (r *recording) words(session string, from, to int, kinds ...string) []transcript.Entry {
	var list []transcript.Entry
	for u := range r.updates(from, to) {
		text, isText := stringField(u.body, "content", "text")
		if u.session == session && slices.Contains(kinds, u.kind) && (!isText || text != "") {
			list = append(list, r.entries[u.at])
		}
	}
	return list
}

// textOf is the text of updates in one; of white space only that there is some counts.
func textOf(updates []transcript.Entry) string {
	var b strings.Builder
	for _, e := range updates {
		text, _ := stringField(e.Frame, "params", "update", "content", "text")
		b.WriteString(text)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// promptedText is the text of a session/prompt in the form of textOf.
func promptedText(c *call) string {
	var b strings.Builder
	for _, block := range elements(field(c.request.Params, "prompt")) {
		text, _ := stringField(block, "text")
		b.WriteString(text)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
