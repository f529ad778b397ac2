package client_test

import (
	"strings"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
)

// What a crash leaves on stderr is told by the line that says what happened, and not by
// the trace below it. The dumps are as the languages write them.
func TestReason(t *testing.T) {
	const registers = "\ngoroutine 1 gp=0x29fb0d8761e0 m=0 mp=0x5572a0 [running]:\ninternal/runtime/syscall/linux.Syscall6()\n" +
		"\t/go/src/internal/runtime/syscall/asm_linux_amd64.s:36 +0xe fp=0x29fb0d8a9d38 sp=0x29fb0d8a9d30 pc=0x40816e\n" +
		"main.main()\n\t/src/main.go:7 +0x74\n\nrax    0x0\nrip    0x40816e\ncs     0x33\nfs     0x0\ngs     0x0\n"
	const trace = "\ngoroutine 1 [running]:\nmain.(*T).f(...)\n\t/src/main.go:4\npanic({0x492ec0?, 0x4b3f58?})\n\t/go/src/runtime/panic.go:860 +0x13a\ncreated by main.main in goroutine 1\n\t/src/main.go:5 +0x74\n"
	const frames = "    at Object.<anonymous> (/x/agent.js:3:9)\n    at node:internal/main/run_main_module:28:49"
	for _, tt := range []struct{ name, stderr, want string }{
		{"Go, a signal", "starting\nSIGSEGV: segmentation violation\nPC=0x40816e m=0 sigcode=0 addr=0x10a1\n" + registers, `says "SIGSEGV: segmentation violation"`},
		{"Go, a signal in C", "SIGABRT: abort\nPC=0x7f m=0 sigcode=18446744073709551610\nsignal arrived during cgo execution\n" + registers, `says "SIGABRT: abort signal arrived during cgo execution"`},
		{"Go, the head is cut off", "signal arrived during cgo execution\n" + registers, `says "signal arrived during cgo execution"`},
		{"Go, nil", "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x489454]\n" + trace,
			`says "panic: runtime error: invalid memory address or nil pointer dereference [signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x489454]"`},
		{"Go, a deadlock", "fatal error: all goroutines are asleep - deadlock!\n" + trace + "exit status 2\n", `says "fatal error: all goroutines are asleep - deadlock!"`},
		{"Go, twice", "panic: first\n\tpanic: second\n" + trace, `says "panic: first panic: second"`},
		{"Go, many goroutines", "panic: boom\n" + strings.Repeat(trace, 100), `says "panic: boom"`},
		{"Go, logged and survived", "panic: boom\n" + trace + "agent: lost its database\n", `says "panic: boom" and ends with "agent: lost its database"`},
		{"Rust", "\nthread 'main' panicked at src/main.rs:2:5:\nboom\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
			`says "thread 'main' panicked at src/main.rs:2:5: boom"`},
		{"Rust with a trace", "thread 'tokio-runtime-worker' (11654) panicked at src/main.rs:2:5:\nboom\nstack backtrace:\n   0: std::panicking::begin_panic::<&str>\n             at /rustc/5980/library/std/src/panicking.rs:761:5\nnote: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n",
			`says "thread 'tokio-runtime-worker' (11654) panicked at src/main.rs:2:5: boom"`},
		{"Rust as it was", "thread 'main' panicked at 'boom', src/main.rs:2:5\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
			`says "thread 'main' panicked at 'boom', src/main.rs:2:5"`},
		{"Rust, anyhow", "Error: cannot load the configuration\n\nCaused by:\n    No such file or directory (os error 2)\n",
			`says "Error: cannot load the configuration" and ends with "No such file or directory (os error 2)"`},
		{"Rust, the stack", "\nthread 'main' has overflowed its stack\nfatal runtime error: stack overflow, aborting\n", `ends with "fatal runtime error: stack overflow, aborting"`},
		{"Python", "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\n    ~^^\njson.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n",
			`ends with "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"`},
		{"Python, chained", "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'x'\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File \"a.py\", line 6, in <module>\nmine.Boom: first\nsecond\nsys:1: RuntimeWarning: coroutine 'f' was never awaited\n",
			`says "mine.Boom: first" and ends with "sys:1: RuntimeWarning: coroutine 'f' was never awaited"`},
		{"Python, without words", "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\nKeyboardInterrupt\n", `ends with "KeyboardInterrupt"`},
		{"Python, a group", "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 1, in <module>\n  | ExceptionGroup: all (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"a.py\", line 2\n    | mine.Boom: it\n    +------------------------------------\n",
			`says "mine.Boom: it"`},
		{"Python, the interpreter", "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n  File \"a.py\", line 1 in <module>\n", `says "Fatal Python error: Segmentation fault"`},
		{"Java", "Exception in thread \"main\" java.lang.IllegalStateException: cannot start\n\tat M.main(M.java:1)\nCaused by: java.lang.NullPointerException: it is null\n\tat M.main(M.java:1)\n\t... 12 more\n",
			`says "Exception in thread \"main\" java.lang.IllegalStateException: cannot start" and ends with "Caused by: java.lang.NullPointerException: it is null"`},
		{"Java, without a cause", "Exception in thread \"main\" java.lang.StackOverflowError\n\tat M.f(M.java:1)\n\tat M.f(M.java:1)\n", `says "Exception in thread \"main\" java.lang.StackOverflowError"`},
		{"Node", "/x/agent.js:3\n  throw new Error('boom')\n  ^\n\nError: boom\n" + frames + "\n\nNode.js v22.1.0\n", `says "Error: boom"`},
		{"Node, with properties", "/x/agent.js:3\n  throw e\n  ^\n\nError: boom\n" + frames + " {\n  code: 'X',\n  list: [ 1, 2 ],\n  error: null,\n  at: {\n    a: [\n      1\n    ]\n  }\n}\n\nNode.js v22.1.0\n", `says "Error: boom"`},
		{"Node, a cause", "node:internal/deps/undici/undici:14976\n            ^\n\nTypeError: fetch failed\n" + frames + " {\n  [cause]: Error: getaddrinfo ENOTFOUND nope.invalid\n      at x (node:dns:122:26) {\n    errno: -3008\n  }\n}\n\nNode.js v20.20.2\n",
			`says "TypeError: fetch failed [cause]: Error: getaddrinfo ENOTFOUND nope.invalid"`},
		{"Node, no error", "/x/agent.js:3\nthrow \"out of luck\"\n^\nout of luck\n(Use `node --trace-uncaught ...` to show where the exception was thrown)\n\nNode.js v20.20.2\n", `says "out of luck"`},
		{"Node, its memory", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n\n 1: 0xb8 node::Abort() [node]\n 2: 0xa4  [node]\n", `says "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"`},
		{"npx", "npm error code E404\nnpm error 404 'x@*' is not in this registry.\nnpm error A complete log of this run can be found in: /home/ada/.npm/_logs/x.log\n", `says "npm error 404 'x@*' is not in this registry."`},
		{"C++", "terminate called after throwing an instance of 'std::runtime_error'\n  what():  boom\n", `says "terminate called after throwing an instance of 'std::runtime_error' what():  boom"`},
		{"a sanitizer", "====\n==7==ERROR: AddressSanitizer: attempting double-free on 0x60\n    #0 0x7f in free x.cpp:52\n==7==ABORTING\n", `says "==7==ERROR: AddressSanitizer: attempting double-free on 0x60"`},
		{"C#", "Unhandled exception. System.InvalidOperationException: boom\n   at Program.Main() in /x/Program.cs:line 3\n", `says "Unhandled exception. System.InvalidOperationException: boom"`},
		{"Ruby", "a.rb:1:in `<main>': boom (RuntimeError)\n\tfrom a.rb:7:in `f'\n", "says \"a.rb:1:in `<main>': boom (RuntimeError)\""},
		{"Windows' lines", "Error: boom\r\n    at f (y:1:1)\r\n", `says "Error: boom"`},
		{"a usage", "Usage: agent [FILE]\n\n  -x int\n        how many\n", `says "Usage: agent [FILE]" and ends with "how many"`},
		{"the usage of Go", "flag provided but not defined: -acp\nUsage of agent:\n  -x int\n", `says "Usage of agent: -x int"`},
		{"one line", "boom\n", `ends with "boom"`},
		{"nothing but a trace", "\tat M.f(M.java:1)\n\tat M.g(M.java:1)\n", `ends with "at M.g(M.java:1)"`},
		{"printed JSON", "{\n  \"message\": \"boom\"\n}\n", `says "\"message\": \"boom\""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &client.Error{Kind: client.KindExit, Step: client.StepPrompt, Message: "m", StderrTail: tt.stderr}
			_, got, _ := strings.Cut(e.Detail(), "m; its stderr ")
			if got, _, _ = strings.Cut(got, "; "); got != tt.want {
				t.Errorf("its stderr %s\nwant       %s", got, tt.want)
			}
		})
	}
}

// What the agent has answered is not quoted of its stderr again.
func TestReasonOnce(t *testing.T) {
	long := "agent: the answer differs at " + strings.Repeat("a long way, ", 40) + "x"
	for _, tt := range []struct{ message, stderr, want string }{
		{"it says: agent: no such model", "agent: no such model\n", ""},
		{"it says: agent: no such model", "thinking\nagent: no  such model\n\n", ""},
		{"it says: " + long, long + "\n", ""},
		{"it says: boom", "panic: boom\n", `; its stderr ends with "panic: boom"`},
		{"it says: agent: lost it", "panic: boom\ngoroutine 1 [running]:\nagent: lost it\n", `; its stderr says "panic: boom"`},
		{"it says: panic: boom", "panic: boom\ngoroutine 1 [running]:\nagent: lost it\n", `; its stderr ends with "agent: lost it"`},
	} {
		e := &client.Error{Kind: client.KindAgent, Step: client.StepPrompt, Message: tt.message, StderrTail: tt.stderr}
		check.Equal(t, "detail", e.Detail(), tt.message+tt.want)
	}
}

// A run of one character says nothing by its length.
func TestRunsAreShortened(t *testing.T) {
	run := strings.Repeat("\x00", 500)
	e := &client.Error{
		Kind: client.KindExit, Step: client.StepInitialize, Message: "m",
		StderrTail: "a" + run + "b\n", Noise: client.Noise{Lines: 1, First: []string{run + "é" + strings.Repeat("é", 99)}},
	}
	text := e.Error()
	check.Has(t, text, `"a\x00\x00\x00\x00… (500 times)b"`, "éééé… (100 times)")
	if len(text) > 300 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	e.StderrTail, e.Noise.First = strings.Repeat("-", 16)+"\n", nil
	check.Has(t, e.Error(), `ends with "----------------"`)
}
