package conform

import "testing"

// A rule is not kept by who had no occasion to break it: each of these agents does, of what
// the rule is about, too little for a fault to show.
func TestOccasion(t *testing.T) {
	t.Parallel()
	const (
		ask = "\non session/prompt \"Write a file\"\n  tool \"write-$n\" \"Write\" kind=edit status=pending\n  permission \"write-$n\" \"Write\" kind=edit\n    "
		yes = "option yes allow_once Yes; option no reject_once No\n  end"
	)
	for name, tt := range map[string]struct{ rule, src, auth string }{
		"one tool call in each session": {"tool-call-id", "on session/prompt; if $told is-not yes; set told yes; tool a A kind=read status=completed; end", ""},
		"no capability":                 {"initialize-capabilities", `on initialize; reply {"protocolVersion": 1, "agentCapabilities": {}}`, ""},
		"nothing to log in to":          {"auth-login", "on authenticate", "key"},
		"refuses all but the first":     {"cwd-relative", "on session/new; if $n is-not 1; fail -32603 No; end", ""},
		"refuses them, be they missing": {"cwd-missing", "on session/new; if $n is-not 1; fail -32603 No; end", ""},
		"refuses them, be they files":   {"cwd-file", "on session/new; if $n is-not 1; fail -32603 No; end", ""},
		"refuses them, be they none":    {"session-params", "on session/new; if $n is-not 1; fail -32603 No; end", ""},
		"loads nothing":                 {"load-unknown", "on session/load; fail -32602 No", ""},
		"lists nothing":                 {"list-cursor", "on session/list; fail -32602 No", ""},
		"sets no mode": {"set-mode-unknown", `on session/new; answer {"modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}}
on session/set_mode; fail -32602 No`, ""},
		"speaks ASCII":                      {"stdout-utf8", "on _errand.example/unknown; never reply", ""},
		"a turn that is over at once":       {"exit-on-eof-in-turn", "on session/prompt; text pong", ""},
		"a turn that is over at once, TERM": {"exit-on-sigterm-in-turn", "on session/prompt; text pong", ""},
		"no process to leave":               {"nothing-left", "", ""},
		"an empty plan":                     {"update-plan", `on session/prompt; update {"sessionUpdate": "plan", "entries": []}`, ""},
		"no commands":                       {"update-commands", `on session/prompt; update {"sessionUpdate": "available_commands_update", "availableCommands": []}`, ""},
		"no options":                        {"update-config", `on session/prompt; update {"sessionUpdate": "config_option_update", "configOptions": []}`, ""},
		"no title":                          {"update-session-info", `on session/prompt; update {"sessionUpdate": "session_info_update"}`, ""},
		"no values":                         {"update-values", `on session/prompt; update {"sessionUpdate": "tool_call", "toolCallId": "a-$n", "title": "A"}; update {"sessionUpdate": "plan", "entries": []}`, ""},
		"one option":                        {"permission-option-ids", ask + "option yes allow_once Yes\n  end", ""},
		"options that are none":             {"permission-options", `on session/prompt; request session/request_permission {"sessionId": "$session", "toolCall": {"toolCallId": "a"}}`, ""},
		"kinds that are none":               {"permission-option-kinds", `on session/prompt; request session/request_permission {"sessionId": "$session", "toolCall": {"toolCallId": "a"}, "options": [{"optionId": "a", "name": "A"}]}`, ""},
		"a call that is none":               {"permission-announced", `on session/prompt; request session/request_permission {"sessionId": "$session", "toolCall": {}, "options": []}`, ""},
		"does nothing that shows, awaited":  {"permission-awaited", ask + yes, ""},
		"does nothing that shows, rejected": {"permission-rejected", ask + yes, ""},
		"does nothing that shows, an error": {"permission-error", ask + yes, ""},
		"ends by itself":                    {"cancel-soon", "on session/prompt \"Count\"; text 1; wait 300ms\non session/cancel; wait forever", ""},
		"rejects itself":                    {"client-fs-not-advertised", "on session/prompt \"Write a file\"; tool \"w-$n\" W kind=edit status=failed", ""},
		"has no shell":                      {"client-terminal-not-advertised", "on session/prompt \"Write a file\"; tool \"w-$n\" W kind=edit status=completed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := tryScript(t, tt.src, &Options{Only: []string{tt.rule}, AuthMethod: tt.auth})
			if f := finding(t, report, tt.rule); f.Verdict != NotApplicable {
				t.Error(explain(f))
			}
		})
	}
}
