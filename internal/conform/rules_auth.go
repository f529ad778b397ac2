package conform

import "fmt"

var authRules = []Rule{
	{
		ID: "auth-methods", Title: "the methods of authentication have an id and a name", Level: Must,
		Quote:  `AuthMethodAgent: "required": ["id", "name"]`,
		Source: schemaPlace + "AuthMethodAgent",
		scenes: []string{"auth"},
		judge: func(r *recording) outcome {
			c, no := r.result("initialize")
			if no != nil {
				return *no
			}
			methods := field(c.answer.Result, "authMethods")
			if methods == nil || isNull(methods) || isArray(methods) && len(elements(methods)) == 0 {
				return untried("it advertises no method of authentication")
			}
			if wrong := list(object(fields{"id": str, "name": str}, fields{"description": str})).misfits("authMethods", methods); len(wrong) > 0 {
				return broken(say(wrong), c.entries()...)
			}
			return kept("each method has both", c.entries()...)
		},
	},
	{
		ID: "auth-required", Title: "who has to log in first is told so by the error's code", Level: Manners,
		Quote:  `"Authentication required: Authentication is required before this operation can be performed." is the error -32000: by its code a client knows what to do, whatever the text`,
		Source: schemaPlace + "ErrorCode",
		scenes: []string{"auth"},
		judge: func(r *recording) outcome {
			c, no := r.reply("new-first")
			if no != nil {
				return *no
			}
			if c.answer.Error == nil {
				return untried("it needs no login, or has one")
			}
			if code, _ := c.answer.errorCode(); code == authRequired {
				return kept("session/new was refused with -32000", c.entries()...)
			}
			login, no := r.result("new-after")
			if no != nil {
				return untried(fmt.Sprintf("session/new was refused, and it is not known whether for want of a login: %s", errorText(c.answer.Error)))
			}
			return brokenf(append(c.entries(), login.entries()...), "without a login session/new was refused with %s, and not with %d", errorText(c.answer.Error), authRequired)
		},
	},
	{
		ID: "auth-unknown-method", Title: "a method of authentication that was not advertised is refused", Level: Manners,
		Quote:  `"Must be one of the methods advertised in the initialize response.": a client that hears of a success believes that it is logged in`,
		Source: schemaPlace + "AuthenticateRequest",
		scenes: []string{"auth"},
		judge:  refused("authenticate-unknown", "authenticate with a method that there is none of"),
	},
	{
		ID: "auth-login", Title: "after authenticate there can be a session", Level: Manners,
		Quote:  "After successful authentication, the client can proceed to create sessions with `new_session` without receiving an `auth_required` error.",
		Source: schemaPlace + "AuthenticateRequest",
		scenes: []string{"auth"},
		judge: func(r *recording) outcome {
			login, no := r.reply("authenticate")
			switch {
			case login == nil && r.stopped == "":
				return untried("authenticate was not called: it may open a browser; --auth METHOD says with which method")
			case no != nil:
				return *no
			case login.answer.Error != nil:
				return untried("authenticate was answered with an error: " + errorText(login.answer.Error) + r.methodsHint(login))
			}
			c, no := r.reply("new-after")
			switch {
			case c != nil && !c.answered:
				return broken("after it, "+c.why, append(login.entries(), c.entries()...)...)
			case no != nil:
				return *no
			}
			if code, ok := c.answer.errorCode(); ok {
				if code == authRequired {
					return broken("after it session/new still asks for a login", append(login.entries(), c.entries()...)...)
				}
				return untried("session/new was refused for another reason: " + errorText(c.answer.Error))
			}
			before := r.call("new-first")
			if before == nil || !before.answered || !isLogin(before.answer) {
				return untried("there could be a session before authenticate already")
			}
			return kept("session/new was refused before it, and answered with a session after it", append(append(before.entries(), login.entries()...), c.entries()...)...)
		},
	},
}

// methodsHint says which methods there are, where the one that authenticate named is none of
// them.
func (r *recording) methodsHint(login *call) string {
	hello, no := r.result("initialize")
	if no != nil {
		return ""
	}
	named, _ := stringField(login.request.Params, "methodId")
	return methodsHint(hello.answer.Result, named)
}
