package replay

import (
	"strings"
	"testing"
)

func TestLenient(t *testing.T) {
	twelve := strings.Replace(prompt3, "> 3", "> 12", 1)
	tests := []struct {
		name, recorded, live string
	}{
		{
			"anything goes that has the method",
			opening + prompt3 + "< " + update("a") + `< 3 = {"stopReason":"end_turn"}
				end 3 eof`,
			`> 10 initialize {"protocolVersion":1,"clientCapabilities":{"terminal":true}}
				< 10 = {"protocolVersion":1}
				> 11 session/new {"cwd":"/rec","mcpServers":[{}]}
				< 11 = {"sessionId":"s"}
				> 12 session/prompt {"sessionId":"s","prompt":[]}
				< ` + update("a") + `< 12 = {"stopReason":"end_turn"}
				eof
				end 3
				stderr `,
		},
		{
			"what was not recorded",
			opening + prompt3 + `< 3 = {}
				end 0 eof`,
			hello + `> 12 session/set_mode {"sessionId":"s"}
				< 12 ! {"code":-32601,"message":"errand replay: the recording has no session/set_mode"}
				> vendor/note {}
				> 99 = {"answer":"to nothing"}
				> session/cancel {"sessionId":"s"}
				> 13 session/prompt {"sessionId":"s"}
				< 13 = {}
				> 14 session/prompt {"sessionId":"s"}
				< 14 ! {"code":-32603,"message":"errand replay: the recording has no further turn"}
				> 15 session/new {}
				< 15 ! {"code":-32603,"message":"errand replay: the recording has no further session/new"}
				> ~garbage
				< null ! {"code":-32700,"message":"errand replay: that is no JSON-RPC message"}
				eof
				end 0`,
		},
		{
			"what the parent leaves out, and sends later",
			`> 1 initialize {}
				< 1 = {}
				> 2 authenticate {}
				< 2 = {"ok":true}
				> 3 session/new {"cwd":"/rec"}
				< 3 = {"sessionId":"s"}
				> 4 session/set_mode {"sessionId":"s","modeId":"m"}
				< ` + update("mode") + `< 4 = {"mode":"m"}
				< ` + update("commands") + `> 5 session/prompt {"sessionId":"s"}
				< 5 = {}
				end 0 eof`,
			`> 1 initialize {}
				< 1 = {}
				> 3 session/new {"cwd":"/rec"}
				< 3 = {"sessionId":"s"}
				> 5 session/prompt {"sessionId":"s"}
				< ` + update("commands") + `< 5 = {}
				> 6 session/set_mode {"sessionId":"s","modeId":"m"}
				< 6 = {"mode":"m"}
				> "z" authenticate {}
				< "z" = {"ok":true}
				eof
				end 0`,
		},
		{
			"any answer to its questions",
			opening + prompt3 + askAllow + `> 7 = {"outcome":"yes"}
				< ` + update("done") + `< 3 = {}
				end 0 eof`,
			hello + twelve + askAllow + `> 7 ! {"code":1,"message":"no"}
				< ` + update("done") + `< 12 = {}
				eof
				end 0`,
		},
		{
			"a cancel that was not recorded ends the turn",
			opening + prompt3 + askAllow + `> 7 = {"outcome":"yes"}
				< ` + update("done") + `< 3 = {"stopReason":"end_turn"}
				< ` + update("title") + `> 4 session/prompt {"sessionId":"s","prompt":2}
				< 4 = {"second":true}
				end 0 eof`,
			hello + twelve + askAllow + `> session/cancel {"sessionId":"s"}
				< 12 = {"stopReason":"cancelled"}
				< ` + update("title") + `> 7 = {"outcome":"cancelled"}
				> 13 session/prompt {"sessionId":"s"}
				< 13 = {"second":true}
				eof
				end 0`,
		},
		{
			"a cancel of another session ends nothing",
			opening + prompt3 + askAllow + `> 7 = {}
				< 3 = {}
				end 0 eof`,
			hello + twelve + askAllow + `> session/cancel {"sessionId":"other"}
				> 7 = {}
				< 12 = {}
				eof
				end 0`,
		},
		{
			"a turn that was never answered, cancelled",
			opening + prompt3 + "< " + update("a") + `> 4 session/prompt {"sessionId":"s","prompt":2}
				< 4 = {"second":true}
				end SIGKILL sigkill`,
			hello + twelve + "< " + update("a") + `> session/cancel {"sessionId":"s"}
				< 12 = {"stopReason":"cancelled"}
				> 13 session/prompt {"sessionId":"s"}
				< 13 = {"second":true}
				eof
				stop
				end 137`,
		},
		{
			"a cancel that was recorded is waited for",
			opening + prompt3 + "< " + update("a") + `> session/cancel {"sessionId":"s"}
				< ` + update("late") + `< 3 = {"stopReason":"end_turn"}
				end 0 eof`,
			hello + twelve + "< " + update("a") + `> vendor/note {}
				> session/cancel {"sessionId":"s"}
				< ` + update("late") + `< 12 = {"stopReason":"end_turn"}
				eof
				end 0`,
		},
		{
			"what came in the middle of the turn, and does not now",
			opening + prompt3 + `> 4 session/set_mode {"sessionId":"s"}
				> vendor/note {}
				< ` + update("a") + `< 4 = {"mode":1}
				< ` + update("b") + `< 3 = {}
				end 0 eof`,
			hello + twelve + "< " + update("a") + "< " + update("b") + `< 12 = {}
				> 13 session/set_mode {"sessionId":"s"}
				< 13 = {"mode":1}
				eof
				end 0`,
		},
		{
			"a session of another name",
			`> 1 session/load {"sessionId":"recorded","cwd":"/rec"}
				< session/update {"sessionId":"recorded","update":"history"}
				< 1 = {}
				> 2 session/prompt {"sessionId":"recorded"}
				< session/update {"sessionId":"recorded","update":"a"}
				< 7 session/request_permission {"sessionId":"recorded"}
				> 7 = {}
				< 2 = {}
				end 0 eof`,
			`> 1 session/load {"sessionId":"mine","cwd":"/rec"}
				< session/update {"sessionId":"mine","update":"history"}
				< 1 = {}
				> 2 session/prompt {"sessionId":"mine"}
				< session/update {"sessionId":"mine","update":"a"}
				< 7 session/request_permission {"sessionId":"mine"}
				> session/cancel {"sessionId":"mine"}
				< 2 = {"stopReason":"cancelled"}
				eof
				end 0`,
		},
		{
			"two sessions: each has its own turns",
			`> 1 session/new {"cwd":"/a"}
				< 1 = {"sessionId":"A"}
				> 2 session/new {"cwd":"/b"}
				< 2 = {"sessionId":"B"}
				> 3 session/prompt {"sessionId":"A"}
				< 3 = {"from":"A"}
				> 4 session/prompt {"sessionId":"B"}
				< 4 = {"from":"B"}
				end 0 eof`,
			`> 1 session/new {"cwd":"/a"}
				< 1 = {"sessionId":"A"}
				> 2 session/new {"cwd":"/b"}
				< 2 = {"sessionId":"B"}
				> 3 session/prompt {"sessionId":"B"}
				< 3 = {"from":"B"}
				> 4 session/prompt {"sessionId":"A"}
				< 4 = {"from":"A"}
				eof
				end 0`,
		},
		{
			"a crash in a turn that was cancelled before",
			opening + prompt3 + askAllow + `> 7 = {}
				2 panic: oh
				end 2 exit`,
			hello + twelve + askAllow + `> session/cancel {"sessionId":"s"}
				< 12 = {"stopReason":"cancelled"}
				eof
				end 0
				stderr `,
		},
		{
			"the end of stdin before everything was said",
			opening + prompt3 + `< 3 = {}
				end 5 eof`,
			"eof\nend 5\nstderr ",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			serve(t, recording(t, tt.recorded), Options{Lenient: true}).converse(tt.live)
		})
	}
}
