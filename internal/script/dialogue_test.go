package script

import "testing"

// Each dialogue is held with the agent in this process and with a process of its own.
var dialogues = []struct{ name, script, dialogue string }{
	{"honest by default", ``, `
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"authMethods":[],"agentInfo":{"name":"scripted-agent","version":"1"},"agentCapabilities":{"auth":{},"mcpCapabilities":{},"promptCapabilities":{},"sessionCapabilities":{}}}}
		> {"jsonrpc":"2.0","id":"a","method":"authenticate","params":{"methodId":"key"}}
		< {"jsonrpc":"2.0","id":"a","result":{}}
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"DIR","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"session-1"}}
		> {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"DIR","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":2,"result":{"sessionId":"session-2"}}
		> prompt 3 hi
		< stop 3 end_turn
		> {"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"x","cwd":"DIR","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"Method not found","data":{"method":"session/load"}}}
		> {"jsonrpc":"2.0","id":5,"method":"_vendor/x"}
		< {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"Method not found","data":{"method":"_vendor/x"}}}
		> {"jsonrpc":"2.0","id":6,"method":"session/new","params":{"cwd":"DIR"}}
		<< -32602
		> {"jsonrpc":"2.0","method":"_vendor/notification"}
		> no JSON
		>
		> cancel
		> prompt 7 again
		< stop 7 end_turn
		eof
		ended 0`},
	{"works only in directories that there are", "on session/new\n require cwd", `
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"DIR","mcpServers":[]}}
		<< "sessionId"
		> {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":".","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"cwd is no absolute path"}}
		> {"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"DIR/nowhere","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"cwd is no directory"}}
		eof
		ended 0`},
	{"sections advertise what they are for", "on session/close\non session/load\n text replayed\non session/list\non session/resume", `
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		<< "agentCapabilities":{"auth":{},"loadSession":true,"mcpCapabilities":{},"promptCapabilities":{},"sessionCapabilities":{"close":{},"list":{},"resume":{}}}
		> {"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"session-1","cwd":"DIR","mcpServers":[]}}
		< text replayed
		< {"jsonrpc":"2.0","id":1,"result":{}}
		> {"jsonrpc":"2.0","id":2,"method":"session/close","params":{"sessionId":"session-1"}}
		< {"jsonrpc":"2.0","id":2,"result":{}}
		> {"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}
		< {"jsonrpc":"2.0","id":3,"result":{"sessions":[]}}`},
	{"chunks, then what follows the response", `
		on session/prompt
		  text "one "
		  text "two" message=m1
		  thought hm
		  user echo
		  stop max_tokens {"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}
		  text late
		  exit 3`, `
		hello
		> prompt 2 hi
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one "}}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"two"},"messageId":"m1"}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"echo"}}}}
		< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"max_tokens","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}}
		< text late
		ended 3`},
	{"every other update", `
		on session/prompt
		  plan "[x] read" "[>] write" check
		  tool c1 "Edit a" kind=edit status=pending path=a.txt input={"n":1} old=was new=is
		  tool-update c1 title="Edited" kind=edit status=completed path=/b output={"ok":true} text=done
		  usage used=5 size=10
		  mode code
		  commands "test: run tests" plain
		  update {"sessionUpdate":"new_kind","x":[1,null]}
		  text elsewhere session=other`, `
		hello
		> prompt 2 hi
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"plan","entries":[{"content":"read","priority":"medium","status":"completed"},{"content":"write","priority":"medium","status":"in_progress"},{"content":"check","priority":"medium","status":"pending"}]}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Edit a","kind":"edit","status":"pending","locations":[{"path":"DIR/a.txt"}],"rawInput":{"n":1},"content":[{"type":"diff","path":"DIR/a.txt","oldText":"was","newText":"is"}]}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","title":"Edited","kind":"edit","status":"completed","locations":[{"path":"/b"}],"rawOutput":{"ok":true},"content":[{"type":"content","content":{"type":"text","text":"done"}}]}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"usage_update","used":5,"size":10}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"current_mode_update","currentModeId":"code"}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"test","description":"run tests"},{"name":"plain","description":""}]}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"new_kind","x":[1,null]}}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"elsewhere"}}}}
		< stop 2 end_turn`},
	{"sections by number and by word", `
		on session/prompt
		  text "other $n"
		on session/prompt 2
		  text "second: $prompt"
		on session/prompt "please"
		  text polite`, `
		hello
		> prompt 2 a
		< text other 1
		< stop 2 end_turn
		> prompt 3 b
		< text second: b
		< stop 3 end_turn
		> prompt 4 say please
		< text polite
		< stop 4 end_turn`},
	{"any other method", "on any\n reply {\"got\":\"$method\"}\non _vendor/mine\n answer {\"x\":1}\non session/set_mode\n answer {\"_meta\":{\"m\":1}}\non session/delete", `
		hello
		> {"jsonrpc":"2.0","id":2,"method":"_vendor/x"}
		< {"jsonrpc":"2.0","id":2,"result":{"got":"_vendor/x"}}
		> {"jsonrpc":"2.0","id":3,"method":"_vendor/mine"}
		< {"jsonrpc":"2.0","id":3,"result":{"x":1}}
		> {"jsonrpc":"2.0","id":4,"method":"session/set_mode","params":{"sessionId":"session-1","modeId":"m"}}
		< {"jsonrpc":"2.0","id":4,"result":{"_meta":{"m":1}}}
		> {"jsonrpc":"2.0","id":5,"method":"session/delete","params":{"sessionId":"session-1"}}
		< {"jsonrpc":"2.0","id":5,"result":{}}
		> prompt 6 hi
		< stop 6 end_turn`},
	{"the session's own id and fields", `
		on session/new
		  answer {"sessionId":"https://agent/s?1","models":{"currentModelId":"m"}}
		on session/prompt
		  text $session`, `
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"DIR","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"https://agent/s?1","models":{"currentModelId":"m"}}}
		> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"https://agent/s?1","prompt":[]}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"https://agent/s?1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"https://agent/s?1"}}}}
		< stop 2 end_turn`},
	{"errors", "on session/new\n fail -32000 \"Authentication required\" {\"authMethods\":[{\"id\":\"key\"}]}\non initialize\n reply error 401 nope", `
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		< {"jsonrpc":"2.0","id":0,"error":{"code":401,"message":"nope"}}
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"DIR","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required","data":{"authMethods":[{"id":"key"}]}}}`},
	{"replies of every shape", `
		on session/prompt 1
		  reply {"stopReason":"x"} id=999
		  reply {"stopReason":null}
		  reply {"stopReason":"again"}
		on session/prompt 2
		  reply {} id="3"
		on session/prompt 3
		  reply null id=4.0
		on session/prompt 4
		  if $prompt is never
		    never reply
		  end
		on session/prompt 5
		  reply 1
		  stop end_turn`, `
		hello
		> prompt 2 a
		< {"jsonrpc":"2.0","id":999,"result":{"stopReason":"x"}}
		< {"jsonrpc":"2.0","id":2,"result":{"stopReason":null}}
		< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"again"}}
		> prompt 3 a
		< {"jsonrpc":"2.0","id":"3","result":{}}
		> prompt 4 a
		< {"jsonrpc":"2.0","id":4.0,"result":null}
		> prompt 5 a
		< stop 5 end_turn
		> prompt 6 a
		< {"jsonrpc":"2.0","id":6,"result":1}
		eof
		ended 0`},
	{"a request that is never answered, cancelled or not", "on session/prompt 1\n never reply\n text hm\n wait forever\non session/prompt 2\n text next", `
		hello
		> prompt 2 a
		< text hm
		> cancel
		> prompt 3 b
		< text next
		< stop 3 end_turn
		eof
		ended 0`},
	{"permission, allowed", permissionScript, `
		hello
		> prompt 2 a
		< {"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"session-1","toolCall":{"toolCallId":"c1","title":"Write it","kind":"edit","locations":[{"path":"DIR/f"}]},"options":[{"optionId":"a","kind":"allow_always","name":"Always"},{"optionId":"cancelled","kind":"reject_once","name":"No"},{"optionId":"b","kind":"allow_once","name":"Once"}]}}
		> {"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"b"}}}
		< text allowed by b
		< stop 2 end_turn
		> prompt 3 a
		< *
		> {"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}
		< text always
		< stop 3 end_turn
		> prompt 4 a
		< *
		> {"jsonrpc":"2.0","id":3,"result":{"outcome":{"outcome":"selected","optionId":"cancelled"}}}
		< text rejected
		< stop 4 end_turn
		> prompt 5 a
		< *
		> {"jsonrpc":"2.0","id":4,"result":{"outcome":{"outcome":"cancelled"}}}
		< text no decision
		< stop 5 end_turn
		> prompt 6 a
		< *
		> {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"no"}}
		< {"jsonrpc":"2.0","id":6,"error":{"code":-32603,"message":"client failed: -32603"}}
		> prompt 7 a
		< *
		> {"jsonrpc":"2.0","id":6,"result":{"outcome":{"outcome":"selected","optionId":"zzz"}}}
		< text other: zzz
		< stop 7 end_turn`},
	{"permission pending at cancel: the answer is waited for", permissionScript, `
		hello
		> prompt 2 a
		< *
		> cancel
		> {"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"}}}
		< text no decision
		< stop 2 cancelled
		> prompt 3 a
		< *
		> cancel
		> {"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"selected","optionId":"b"}}}
		< stop 3 cancelled`},
	{"permission pending at cancel: left", "on session/prompt\n permission c x cancel=leave\n end\n text asked", `
		hello
		> prompt 2 a
		< {"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"session-1","toolCall":{"toolCallId":"c","title":"x"},"options":[]}}
		> cancel
		< stop 2 cancelled`},
	{"permission pending at cancel: withdrawn", "on session/prompt\n permission c x cancel=withdraw session=child\n end\n text asked", `
		hello
		> prompt 2 a
		< {"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"child","toolCall":{"toolCallId":"c","title":"x"},"options":[]}}
		> cancel
		<< $/cancel_request
		< stop 2 cancelled`},
	{"cancel interrupts a wait", "on session/prompt\n text a\n wait forever\n text b\non session/prompt 2\n repeat forever\n  wait 1ms\n end\non session/prompt 3\n wait file nothing\non session/prompt 4\n wait children\n text none\n request _x\n", `
		hello
		> prompt 2 a
		< text a
		> cancel
		< stop 2 cancelled
		> prompt 3 a
		> cancel
		< stop 3 cancelled
		> prompt 4 a
		> cancel
		< stop 4 cancelled
		> prompt 5 a
		< text none
		< {"jsonrpc":"2.0","id":"request-1","method":"_x"}
		> cancel
		< stop 5 cancelled`},
	{"cancel is seen to by the section", "on session/prompt\n text a\n wait cancel\n text \"after the cancel\"\n stop end_turn", `
		hello
		> prompt 2 a
		< text a
		> cancel
		< text after the cancel
		< stop 2 end_turn`},
	{"cancel has a section", "on session/cancel\n text noticed\non session/prompt\n text a\n wait forever\n", `
		hello
		> prompt 2 a
		< text a
		> cancel
		< text noticed
		< stop 2 cancelled`},
	{"deaf to cancel", "on session/cancel\n wait forever\non session/prompt 1\n text a\n wait for session/prompt 2\n text b\non session/prompt 2\n wait idle\n", `
		hello
		> prompt 2 a
		< text a
		> cancel
		> prompt 3 b
		< text b
		< stop 2 end_turn
		< stop 3 end_turn`},
	{"the second prompt cancels the first", "on session/prompt 1\n text a\n wait forever\non session/prompt 2\n interrupt\n wait idle\n text b", `
		hello
		> prompt 2 a
		< text a
		> prompt 3 b
		< stop 2 cancelled
		< text b
		< stop 3 end_turn`},
	{"closing a session cancels its turn", "on session/close\non session/prompt\n text a\n wait forever", `
		hello
		> prompt 2 a
		< text a
		> {"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":"other"}}
		< {"jsonrpc":"2.0","id":3,"result":{}}
		> {"jsonrpc":"2.0","id":4,"method":"session/close","params":{"sessionId":"session-1"}}
		< *
		< *
		eof
		ended 0`},
	{"requests to the client", `
		on session/prompt
		  request fs/read_text_file {"sessionId":$session,"path":"$cwd/a"}
		  text "$answer.content"
		  request terminal/create {"n":1} id=77
		  text "$error.code: $error.message"
		  request session/request_permission {"sessionId":"$session","options":null} id=null
		  text "$outcome $option"
		  notify _vendor/progress {"p":0.5}`, `
		hello
		> prompt 2 a
		< {"jsonrpc":"2.0","id":"request-1","method":"fs/read_text_file","params":{"sessionId":"session-1","path":"DIR/a"}}
		> {"jsonrpc":"2.0","id":"request-1","result":{"content":"the text"}}
		< text the text
		< {"jsonrpc":"2.0","id":77,"method":"terminal/create","params":{"n":1}}
		> {"jsonrpc":"2.0","id":77,"error":{"code":-32601,"message":"Method not found"}}
		< text -32601: Method not found
		< {"jsonrpc":"2.0","id":null,"method":"session/request_permission","params":{"sessionId":"session-1","options":null}}
		> {"jsonrpc":"2.0","id":null,"result":{"outcome":{"outcome":"selected","optionId":"o"}}}
		< text selected o
		< {"jsonrpc":"2.0","method":"_vendor/progress","params":{"p":0.5}}
		< stop 2 end_turn`},
	{"bytes", `
		on session/prompt
		  noise "not a frame"
		  send {"level":"info","id":$id,
		        "msg":"of $session"}
		  send [{"a":1}, {"b":2}]
		  send {"a":{"b":1}} pretty
		  raw "half "
		  raw '"a" line'
		  raw "\n"
		  newline "\r\n"
		  text crlf
		  newline ""
		  stop end_turn
		  stdout close
		  text lost`, `
		hello
		> prompt 2 a
		< not a frame
		< {"level":"info","id":2,"msg":"of session-1"}
		< [{"a":1},{"b":2}]
		< {
		<< "a": {
		<< "b": 1
		<< }
		< }
		< half "a" line
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"crlf"}}}}
		< stop 2 end_turn
		eof
		ended 0`},
	{"bytes that are no UTF-8", "on session/prompt\n text \"caf\\xe9!\" message=m\n burst 1 \"\\xff$i\"", `
		hello
		> prompt 2 a
		<< "text":"caf` + "\xe9" + `!"},"messageId":"m"}
		<< "text":"` + "\xff" + `1"}
		< stop 2 end_turn`},
	{"control", `
		set word hello
		on session/prompt
		  repeat 2
		    repeat 2
		      text "$i"
		    end
		  end
		  if "$word world" contains "lo wo"
		    text yes
		  else
		    text no
		  end
		  if $prompt is-not a
		    text no
		  end
		  set word "${word}$$1 $5"
		  text $word
		  burst 3 "n$i,"
		  background
		    wait for _go
		    text background
		  end
		  text before
		  wait background
		  text after`, `
		hello
		> prompt 2 a
		< text 1
		< text 2
		< text 1
		< text 2
		< text yes
		< text hello$1 $5
		< text n1,
		< text n2,
		< text n3,
		< text before
		> {"jsonrpc":"2.0","method":"_go"}
		< text background
		< text after
		< stop 2 end_turn`},
	{"late text runs into the next turn", "on session/prompt 1\n background\n  wait for session/prompt 2\n  text late\n  write said x\n end\non session/prompt 2\n wait file said\n text new", `
		hello
		> prompt 2 a
		< stop 2 end_turn
		> prompt 3 b
		< text late
		< text new
		< stop 3 end_turn`},
	{"the answer can come from the background", "on session/prompt\n background\n  stop refusal\n end\n wait background\n stop end_turn", `
		hello
		> prompt 2 a
		< stop 2 refusal
		eof
		ended 0`},
	{"updates before the session's id is known", "on session/new\n text early", `
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"DIR","mcpServers":[]}}
		< text early
		< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"session-1"}}`},
	{"files", `
		on session/prompt
		  write a.txt "line 1\n"
		  append a.txt "line 2"
		  read a.txt
		  text $answer
		  remove a.txt
		  write big size=3B
		  read big
		  text $answer
		  lock lock
		  lock lock`, `
		hello
		> prompt 2 a
		<< line 1\nline 2\n
		< text xxx
		ended 1`},
	{"eof has a section", "on eof\n write flushed yes\n text bye\n exit 5", `
		hello
		eof
		<< bye
		ended 5`},
	{"the end of input ends it in mid turn", "on session/prompt\n text a\n wait eof\n wait forever", `
		hello
		> prompt 2 a
		< text a
		eof
		ended 0`},
	{"garbage has a section", "on garbage\n send {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}", `
		hello
		> hm
		< {"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}
		>
		< {"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}
		> prompt 2 a
		< stop 2 end_turn`},
	{"start ends it", "on start\n stderr usage\n text early\n exit 2", `
		<< early
		ended 2`},
	{"echo", "echo", `
		> {"jsonrpc":"2.0","id":0,"method":"initialize"}
		< {"jsonrpc":"2.0","id":0,"method":"initialize"}
		> anything
		< anything
		eof
		ended 0`},
	{"reading stops and goes on", "on session/new\n stdin stop\n background\n  wait 50ms\n  stdin resume\n end\non session/prompt\n text heard", `
		hello
		> prompt 2 a
		< text heard
		< stop 2 end_turn
		eof
		ended 0`},
	{"a mistake that shows at work", "on session/prompt\n remove nothing", `
		hello
		> prompt 2 a
		ended 1`},
}

const permissionScript = `
on session/prompt
  permission c1 "Write it" kind=edit path=f
    option a allow_always "Always"
    option cancelled reject_once "No"
    option b allow_once "Once"
    when a
      text always
    when allowed
      text "allowed by $option"
    when "cancelled"
      text rejected
    when cancelled
      text "no decision"
    when error
      fail -32603 "client failed: $error.code"
    when other
      text "other: $option"
  end`

func TestDialogues(t *testing.T) {
	for _, d := range dialogues {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			t.Run("in process", func(t *testing.T) { inProcess(t, d.script).converse(d.dialogue) })
			t.Run("own process", func(t *testing.T) { ownProcess(t, d.script).converse(d.dialogue) })
		})
	}
}
