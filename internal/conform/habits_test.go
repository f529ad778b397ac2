package conform

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What every agent here does well.
const (
	manners = `
on session/new; require cwd
on authenticate; fail -32602 "There is nothing to log in to"
`
	counts = `
on session/prompt "Count"
  repeat 500
    text "$i\n"
    wait 20ms
  end
`
	asks = `
on session/prompt "Write a file"
  tool "write-$n" "Write conformance.txt" kind=edit status=pending
  permission "write-$n" "Write conformance.txt" kind=edit cancel=withdraw
    OPTIONS
    when allowed
      tool-update "write-$n" status=in_progress
      write conformance.txt "errand was here\n"
      tool-update "write-$n" status=completed
    when other
      tool-update "write-$n" status=failed
  end
`
	selects = `
on session/new
  answer {"configOptions": [` + provider + `, ` + small + `]}
  require cwd
on authenticate; fail -32602 "There is nothing to log in to"
`
	provider = `{"id": "provider", "name": "Provider", "type": "select", "currentValue": "local", "options": [{"value": "local", "name": "Local"}, {"value": "remote", "name": "Remote"}]}`
	model    = `{"id": "model", "name": "Model", "type": "select", "currentValue": "$params.value", "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]}`
	small    = `{"id": "model", "name": "Model", "type": "select", "currentValue": "small", "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]}`
	yesOrNo  = `option allow allow_once "Yes"; option reject reject_once "No"`
)

func asking(options string) string { return strings.ReplaceAll(asks, "OPTIONS", options) }

// habits are what real agents do, and what is said of it: the rules that are broken. What
// is only unusual breaks none.
var habits = []struct {
	name, script string
	broken       []string
}{
	{"never exits on EOF", manners + counts + `on eof; wait forever`,
		[]string{"exit-on-eof", "exit-on-eof-in-turn"}},
	{"exits on EOF when the turn ends", manners + `
on session/prompt "Count"
  repeat 15
    text "$i\n"
    wait 20ms
  end
  set done yes
on eof
  wait 400ms`, nil},
	{"ignores SIGTERM", `ignore TERM` + manners + counts,
		[]string{"exit-on-sigterm", "exit-on-sigterm-in-turn"}},
	{"leaves a daemon", `
spawn session
  wait forever
end` + manners + counts, []string{"nothing-left"}},
	{"half a megabyte of commands", manners + `
on session/prompt
  set long "x" size=560KB
  update {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "help", "description": "$long"}]}
  text "pong"`, nil},
	{"updates before the session, between turns and after the answer", `
on session/new
  if $n is 1
    update {"sessionUpdate": "session_info_update", "title": "New"} session="session-1"
  end
  require cwd
on authenticate; fail -32602 "There is nothing to log in to"
on session/prompt
  text ""
  thought "\n\n"
  text "pong"
  stop end_turn
  usage used=3 size=10
  commands "help: Help"
  update {"sessionUpdate": "session_info_update", "title": "Ping"}`, nil},
	{"a notification and a request of its own", manners + `
on session/prompt
  notify _vendor/status {"busy": true}
  text "pong"
  request _vendor/after {}`, nil},
	{"a notification whose name is not its own", manners + `
on session/prompt; notify vendor/status {"busy": true}; text "pong"`, []string{"client-method-known"}},
	{"asks before it announces", manners + `
on session/prompt "Write a file"
  permission "write-$n" "Write conformance.txt" kind=edit cancel=withdraw
    option always allow_always "Always"; option allow allow_once "Yes"; option cancel reject_once "No"
    when allowed
      tool "write-$n" "Write conformance.txt" kind=edit status=in_progress
      write conformance.txt "errand was here\n"
      tool-update "write-$n" status=completed
  end`, []string{"permission-announced"}},
	{"announces the update first and the call later", manners + `
on session/prompt "Write a file"
  tool-update "write-$n" status=pending
  tool "write-$n" "Write conformance.txt" kind=edit status=completed`, []string{"tool-call-announced"}},
	{"repeats the announcement", manners + `
on session/prompt "Write a file"
  tool "write-$n" "Write" kind=edit status=pending
  tool "write-$n" "Write conformance.txt" kind=edit status=pending
  tool-update "write-$n" status=completed`, []string{"tool-call-id"}},
	{"lists what it allows always first, twice", manners + asking(`option a allow_always "All"; option b allow_always "This"; option c allow_once "Once"; option abort reject_once "No"`), nil},
	{"offers two ways to allow once", manners + asking(`option a allow_once "Yes"; option b allow_once "Yes, and switch the mode"; option c reject_once "No"`), nil},
	{"offers nothing to reject", manners + asking(`option a allow_once "Yes"`), nil},
	{"ends a rejected turn as cancelled", manners + `
on session/prompt "Write a file"
  tool "write-$n" "Write conformance.txt" kind=edit status=pending
  permission "write-$n" "Write conformance.txt" kind=edit cancel=withdraw
    option allow allow_once "Yes"; option reject reject_once "No"
    when allowed
      tool-update "write-$n" status=in_progress
      tool-update "write-$n" status=completed
    when other
      stop cancelled
  end`, []string{"prompt-cancelled-unasked"}},
	{"fails the prompt on an error", manners + `
on session/prompt "Write a file"
  tool "write-$n" "Write conformance.txt" kind=edit status=pending
  permission "write-$n" "Write conformance.txt" kind=edit cancel=withdraw
    option allow allow_once "Yes"; option reject reject_once "No"
    when allowed
      tool-update "write-$n" status=in_progress
      tool-update "write-$n" status=completed
    when error
      fail -32603 "Internal error" [{"path": []}]
    when other
      tool-update "write-$n" status=failed
  end`, []string{"permission-error"}},
	{"fails for good on an error", manners + `
on session/prompt "Write a file"
  tool "write-$n" "Write conformance.txt" kind=edit status=pending
  permission "write-$n" "Write conformance.txt" kind=edit cancel=withdraw
    option allow allow_once "Yes"; option reject reject_once "No"
    when allowed
      tool-update "write-$n" status=in_progress
      tool-update "write-$n" status=completed
    when error
      set dead yes
      fail -32603 "Internal error"
    when other
      tool-update "write-$n" status=failed
  end
on session/prompt; if $dead is yes; fail -32603 "Internal error"; end`, []string{"permission-error"}},
	{"never asks", manners + counts + `
on session/prompt "Write a file"
  tool "write-$n" "Write conformance.txt" kind=edit status=in_progress
  write conformance.txt "errand was here\n"
  tool-update "write-$n" status=completed`, nil},
	{"never answers while a permission is pending", manners + counts + strings.ReplaceAll(asking(yesOrNo), "cancel=withdraw", "cancel=wait"),
		[]string{"cancel-permission-unanswered"}},
	{"never answers a prompt that was cancelled with a permission pending", manners + `
on session/prompt "Write a file"
  permission "write-$n" "Write conformance.txt" kind=edit
    option allow allow_once "Yes"; option reject reject_once "No"
    when cancelled
      never reply
  end`, []string{"permission-allowed", "permission-announced", "cancel-permission"}},
	{"the old turn's text runs on", manners + `
on session/prompt "Count"
  text "1"
  wait cancel
  stop cancelled
  text "2"
  wait 200ms
  text "3"`, []string{"cancel-no-late-updates"}},
	{"a key that is refused, as an error", manners + `on session/prompt; fail 401 "Incorrect API key" "raw text"`,
		[]string{"prompt-text", "prompt-resource-link"}},
	{"a key that is refused, as an end without a word", manners, nil},
	{"wants a login at session/new", `
on session/new; fail -32000 "Authentication required" {"authMethods": [{"id": "key"}]}
on authenticate; fail -32602 "There is no such method"`, nil},
	{"wants a login at the prompt", manners + `on session/prompt; fail -32000 "Authentication required"`, nil},
	{"writes through a client that does not offer it", manners + counts + `
on session/prompt "Write a file"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/conformance.txt", "content": "errand was here\n"}`,
		[]string{"client-fs-not-advertised"}},
	{"names terminals that there are none of", manners + `
on session/prompt "shell command"
  update {"sessionUpdate": "tool_call", "toolCallId": "call-$n", "title": "Run", "status": "completed", "content": [{"type": "terminal", "terminalId": "call-$n"}]}`,
		[]string{"tool-call-terminal"}},
	{"accepts every directory", `on authenticate; fail -32602 "No"` + counts, []string{"cwd-relative", "cwd-missing", "cwd-file"}},
	{"queues a second prompt", manners + counts + `on session/prompt; wait idle; text "pong"`, nil},
	{"refuses a second prompt", manners + `
on session/cancel
  set busy no
on session/prompt "Count"
  set busy yes
  repeat 500
    text "$i"
    wait 20ms
  end
on session/prompt
  if $busy is yes
    fail -32600 "Busy"
  end`, nil},
	{"ends the first with a second prompt", manners + counts + `on session/prompt; interrupt; text "pong"`, nil},
	{"answers bad JSON, and blank lines, without an id", manners + `
on garbage; send {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}}`, []string{"bad-json-id"}},
	{"has an option that is pinned", selects + `
on session/set_config_option "provider"; fail -32602 "It is pinned"
on session/set_config_option; answer {"configOptions": [` + provider + `, ` + model + `]}`, []string{"set-config-values"}},
	{"has no option that can be set", selects + `on session/set_config_option; fail -32602 "It is pinned"`, []string{"set-config"}},
	{"takes an option, and it stays as it was", selects + `
on session/set_config_option; answer {"configOptions": [` + provider + `, ` + small + `]}`, []string{"set-config"}},
	{"refuses to set what is set", `
set model small
` + selects + `
on session/set_config_option "local"; fail -32602 "It is set"
on session/set_config_option "remote"; fail -32602 "It is set"
on session/set_config_option
  if $model is $params.value
    fail -32602 "It is set"
  end
  set model "$params.value"
  answer {"configOptions": [` + provider + `, ` + model + `]}`, []string{"set-config-values"}},
	{"has an option that hangs on another", selects + `
on session/set_config_option "remote"; answer {"configOptions": [` + strings.ReplaceAll(provider, `"local", "op`, `"remote", "op`) + `]}
on session/set_config_option; answer {"configOptions": [` + provider + `, ` + small + `]}`, nil},
	{"dies when it is prompted", manners + `on session/prompt; exit 1`, []string{"prompt-text"}},
	{"does nothing at all", `on initialize; never reply`, []string{"initialize-version"}},
}

// TestHabits: of what real agents do the wrong is told from the unusual.
func TestHabits(t *testing.T) {
	t.Parallel()
	for _, h := range habits {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			var broken []string
			var why []Finding
			for _, f := range tryScript(t, h.script, nil).Findings {
				if f.Verdict == Fail || f.Verdict == Warn {
					broken, why = append(broken, f.Rule.ID), append(why, f)
				}
				if h.name == "does nothing at all" && f.Verdict == Pass {
					t.Errorf("passed by doing nothing: %s", explain(f))
				}
			}
			slices.Sort(broken)
			want := slices.Sorted(slices.Values(h.broken))
			if diff := cmp.Diff(want, broken); diff != "" {
				t.Errorf("broken (-want +got):\n%s%s", diff, explain(why...))
			}
		})
	}
}

// The agent that is built into the command line breaks no rule.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, f := range tryScript(t, read(t, "../script/demo.script"), nil).Findings {
		if f.broken() {
			t.Error(explain(f))
		}
	}
}
