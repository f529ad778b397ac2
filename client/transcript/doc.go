// Package transcript is the record of a conversation between a client and an ACP agent:
// its format, how it is written while it happens, read again, shown to people, and made
// comparable from one run to the next.
//
//	f, err := os.Create("talk.ndjson")
//	...
//	w := transcript.NewWriter(f)
//	agent, err := client.Start(ctx, cmd, &client.Options{Transcript: w})
//	...
//	t, err := transcript.ReadFile("talk.ndjson")
//	fmt.Print(t) // 0.512 client -> initialize #1 {"protocolVersion":1,…}
//
// A transcript is lines of JSON, one for each frame, line of stderr and line of stdout
// that is no frame, between a header and an end:
//
//	{"transcript":1,"startedAt":"2026-01-02T15:04:05.123456789Z","runId":"…","client":{"name":"errand","version":"v0.1.0"},"command":["opencode","acp"],"dir":"/abs/project"}
//	{"ms":0.512,"from":"client","frame":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{…}}}
//	{"ms":7.1,"from":"agent","frame":{"jsonrpc":"2.0","id":1,"result":{…}}}
//	{"ms":7.2,"from":"agent","text":"no frame"}
//	{"ms":8,"from":"stderr","text":"a line"}
//	{"ms":9.3,"end":{"code":0,"signal":null,"rung":"eof"}}
//
// Each is written in one piece when it happens, so that what a crash leaves can be read.
// docs/transcripts.md has the format in full. The package starts no goroutine and knows
// of ACP only where [Transcript.Normalize] must.
package transcript
