package transcript_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/check"
)

// read reads a transcript without its header.
func read(t testing.TB, lines ...string) *transcript.Transcript {
	t.Helper()
	head := `{"transcript":1,"startedAt":"2026-01-02T15:04:05.123Z","runId":"RUN-0123456789","client":{"name":"errand","version":"v0.3.1"},"command":["/opt/a/agent","--dir=/tmp/x1"],"dir":"/tmp/x1"}`
	all, err := transcript.Read(strings.NewReader(head + "\n" + strings.Join(lines, "\n") + "\n"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	return all[0]
}

// written are the lines of a transcript.
func written(t *transcript.Transcript) []string {
	var b bytes.Buffer
	t.WriteTo(&b)
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func client(frame string) string { return `{"from":"client","frame":` + frame + `}` }
func agent(frame string) string  { return `{"from":"agent","frame":` + frame + `}` }
func stderr(text string) string  { return `{"from":"stderr","text":"` + text + `"}` }

func TestNormalize(t *testing.T) {
	const header = `{"transcript":1,"startedAt":"2026-01-02T15:04:05.123Z","runId":"RUN-0123456789","client":{"name":"errand","version":"v0.3.1"},"command":["/opt/a/agent","--dir=/tmp/x1"],"dir":"/tmp/x1"}`
	tests := []struct {
		name     string
		rules    []transcript.Rule
		header   string
		says     string // that it is normalized
		in, want []string
	}{
		{
			name: "no rule",
			in:   []string{agent(`{ "a" : [1.50, "<&>", "\u00e9\u001b"] }`), `{"ms":1.5,"end":{"code":0,"signal":null,"rung":"eof"}}`},
			want: []string{agent(`{"a":[1.50,"<&>","é\u001b"]}`), `{"ms":1.5,"end":{"code":0,"signal":null,"rung":"eof"}}`},
		},
		{
			name: "ids of requests", rules: []transcript.Rule{transcript.IDs()}, header: strings.Replace(header, "RUN-0123456789", "$run", 1), says: `["ids"]`,
			in: []string{
				client(`{"id":7,"method":"initialize"}`), agent(`{"id":7,"result":{}}`),
				agent(`{"id":"7","method":"fs/read_text_file"}`), client(`{"id":"7","result":{"n":7}}`),
				client(`{"id":9,"method":"session/prompt"}`), agent(`[{"id":0,"method":"x"},{"id":"u-1","method":"y"}]`),
				client(`{"method":"$/cancel_request","params":{"requestId":9}}`), agent(`{"method":"$/cancel_request","params":{"requestId":"u-1"}}`),
				client(`{"id":"u-1","error":{"code":7}}`), agent(`{"id":null,"error":{}}`), agent(`{"id":99,"result":{}}`), agent(`{"id":9,"result":{}}`),
			},
			want: []string{
				client(`{"id":"$client-1","method":"initialize"}`), agent(`{"id":"$client-1","result":{}}`),
				agent(`{"id":"$agent-1","method":"fs/read_text_file"}`), client(`{"id":"$agent-1","result":{"n":7}}`),
				client(`{"id":"$client-2","method":"session/prompt"}`), agent(`[{"id":"$agent-2","method":"x"},{"id":"$agent-3","method":"y"}]`),
				client(`{"method":"$/cancel_request","params":{"requestId":"$client-2"}}`), agent(`{"method":"$/cancel_request","params":{"requestId":"$agent-3"}}`),
				client(`{"id":"$agent-3","error":{"code":7}}`), agent(`{"id":null,"error":{}}`), agent(`{"id":99,"result":{}}`), agent(`{"id":"$client-2","result":{}}`),
			},
		},
		{
			name: "other ids", rules: []transcript.Rule{transcript.IDs()}, header: strings.Replace(header, "RUN-0123456789", "$run", 1), says: `["ids"]`,
			in: []string{
				agent(`{"result":{"sessionId":"0192f-abc"}}`),
				client(`{"method":"m","params":{"sessionId":"0192f-abc","_meta":{"again":["0192f-abc"]}}}`),
				agent(`{"params":{"sessionId":"0192f-abc","update":{"toolCallId":"edit","kind":"edit","title":"edit","rawInput":{"t":"see 0192f-abc."}}}}`),
				agent(`{"params":{"sessionId":"other","update":{"messageId":"m","terminalId":"t9","text":"0192f-abcd x0192f-abc m"}}}`),
				stderr("session 0192f-abc of RUN-0123456789; edit"),
			},
			want: []string{
				agent(`{"result":{"sessionId":"$session-1"}}`),
				client(`{"method":"m","params":{"sessionId":"$session-1","_meta":{"again":["$session-1"]}}}`),
				agent(`{"params":{"sessionId":"$session-1","update":{"toolCallId":"$call-1","kind":"edit","title":"$call-1","rawInput":{"t":"see $session-1."}}}}`),
				agent(`{"params":{"sessionId":"$session-2","update":{"messageId":"$message-1","terminalId":"$terminal-1","text":"0192f-abcd x0192f-abc m"}}}`),
				stderr("session $session-1 of $run; edit"),
			},
		},
		{
			name: "times", rules: []transcript.Rule{transcript.Times()}, header: strings.Replace(header, `"startedAt":"2026-01-02T15:04:05.123Z",`, "", 1), says: `["times"]`,
			in: []string{
				`{"ms":12.5,"from":"agent","frame":{"at":"2026-01-02T15:04:05Z","on":"2026-01-02","t":"x 2026-01-02 15:04:05.1+02:00 y"}}`,
				`{"ms":13,"from":"stderr","text":"2026-01-02T15:04:05,123 INFO"}`, `{"ms":14,"end":{"code":0,"signal":null,"rung":"eof"}}`,
			},
			want: []string{
				agent(`{"at":"$time","on":"2026-01-02","t":"x $time y"}`), stderr("$time INFO"), `{"end":{"code":0,"signal":null,"rung":"eof"}}`,
			},
		},
		{
			name: "a path", rules: []transcript.Rule{transcript.Path("/tmp/x1/", "$DIR")}, header: strings.ReplaceAll(header, "/tmp/x1", "$DIR"), says: `["$DIR"]`,
			in: []string{
				client(`{"cwd":"/tmp/x1","/tmp/x1":1}`), agent(`{"t":"in /tmp/x1/a.go, /tmp/x10, /tmp/x1.bak, /tmp/x1-b, a/tmp/x1 and (/tmp/x1). file:///tmp/x1/b"}`),
				stderr("cd /tmp/x1"),
			},
			want: []string{
				client(`{"cwd":"$DIR","$DIR":1}`), agent(`{"t":"in $DIR/a.go, /tmp/x10, /tmp/x1.bak, /tmp/x1-b, a/tmp/x1 and ($DIR). file://$DIR/b"}`),
				stderr("cd $DIR"),
			},
		},
		{
			name: "a path with a space", rules: []transcript.Rule{transcript.Path("/tmp/my dir", "$DIR")}, says: `["$DIR"]`,
			in:   []string{client(`{"cwd":"/tmp/my dir","uri":"file:///tmp/my%20dir/a"}`)},
			want: []string{client(`{"cwd":"$DIR","uri":"file://$DIR/a"}`)},
		},
		{
			name: "a path in its own name", rules: []transcript.Rule{transcript.Path("/tmp/x1", "/tmp/x1/y")}, header: strings.ReplaceAll(header, "/tmp/x1", "/tmp/x1/y"), says: `["/tmp/x1/y"]`,
			in:   []string{stderr("/tmp/x1 /tmp/x1/a /tmp/x1/yz /tmp/x1/y /tmp/x1/y/b /tmp/x1")},
			want: []string{stderr("/tmp/x1/y /tmp/x1/y/a /tmp/x1/y/yz /tmp/x1/y /tmp/x1/y/b /tmp/x1/y")},
		},
		{
			name: "names of members", rules: []transcript.Rule{transcript.IDs(), transcript.Path("/tmp/x1", "$DIR")},
			header: strings.ReplaceAll(strings.Replace(header, "RUN-0123456789", "$run", 1), "/tmp/x1", "$DIR"), says: `["$DIR","ids"]`,
			in: []string{
				agent(`{"params":{"toolCallId":"call_abc12345","rawInput":{"changes":{"/tmp/x1/a.go":{"type":"add"}},"byCall":{"call_abc12345":1,"of call_abc12345":[{"call_abc12345":2}]}}}}`),
				agent(`{"params":{"toolCallId":"content","content":{"text":"content","_meta":1}}}`),
			},
			want: []string{
				agent(`{"params":{"toolCallId":"$call-1","rawInput":{"changes":{"$DIR/a.go":{"type":"add"}},"byCall":{"$call-1":1,"of $call-1":[{"$call-1":2}]}}}}`),
				agent(`{"params":{"toolCallId":"$call-2","content":{"text":"$call-2","_meta":1}}}`),
			},
		},
		{
			name: "members that would have one name", rules: []transcript.Rule{transcript.Path("/tmp/x1", "$DIR"), transcript.Path("/tmp/x2", "$DIR")},
			header: strings.ReplaceAll(header, "/tmp/x1", "$DIR"), says: `["$DIR"]`,
			in:   []string{agent(`{"params":{"/tmp/x1/a":1,"/tmp/x2/a":2,"/tmp/x2/b":3}}`)},
			want: []string{agent(`{"params":{"$DIR/a":1,"/tmp/x2/a":2,"$DIR/b":3}}`)},
		},
		{
			name: "members that would have one name, in any order", rules: []transcript.Rule{transcript.Times()}, says: `["times"]`,
			header: strings.Replace(header, `"startedAt":"2026-01-02T15:04:05.123Z",`, "", 1),
			in: []string{
				agent(`{"params":{"2026-01-02 03:04:05":1,"2026-01-02 03:04:06":2}}`), agent(`{"params":{"2026-01-02 03:04:06":2,"2026-01-02 03:04:05":1}}`),
				agent(`{"params":{"2026-01-02 03:04:05":1,"2026-01-02 03:04:05":2}}`),
			},
			want: []string{
				agent(`{"params":{"$time":1,"2026-01-02 03:04:06":2}}`), agent(`{"params":{"2026-01-02 03:04:06":2,"$time":1}}`),
				agent(`{"params":{"$time":1,"$time":2}}`),
			},
		},
		{
			name: "no path", rules: []transcript.Rule{transcript.Path("", "$DIR"), transcript.Path("/", "$ROOT")},
			in: []string{client(`{"cwd":"/"}`)}, want: []string{client(`{"cwd":"/"}`)},
		},
		{
			name: "fields", rules: []transcript.Rule{
				transcript.Field("session/prompt", "params._meta", "$X"), transcript.Field("session/prompt", "result.usage.tokens", "$N"),
				transcript.Field("session/new", "result.modes.*.name", "$M"), transcript.NoField("*", "params.trace"),
			}, says: `["$M","$N","$X"]`,
			in: []string{
				client(`{"id":1,"method":"session/new","params":{"_meta":1,"trace":1}}`), agent(`{"id":1,"result":{"modes":[{"name":"a"},{"id":"b"},{"name":{}}]}}`),
				client(`{"id":2,"method":"session/prompt","params":{"_meta":{"a":1},"trace":1,"b":2,"trace":3}}`), agent(`{"id":2,"method":"session/prompt","params":{}}`),
				agent(`{"id":2,"result":{"usage":{"tokens":12}}}`),
			},
			want: []string{
				client(`{"id":1,"method":"session/new","params":{"_meta":1}}`), agent(`{"id":1,"result":{"modes":[{"name":"$M"},{"id":"b"},{"name":"$M"}]}}`),
				client(`{"id":2,"method":"session/prompt","params":{"_meta":"$X","b":2}}`), agent(`{"id":2,"method":"session/prompt","params":{}}`),
				agent(`{"id":2,"result":{"usage":{"tokens":"$N"}}}`),
			},
		},
		{
			name: "versions and the command", rules: []transcript.Rule{transcript.Versions(), transcript.Command("agent")},
			header: `{"transcript":1,"startedAt":"2026-01-02T15:04:05.123Z","runId":"RUN-0123456789","client":{"name":"errand","version":"$version"},"command":["agent"],"dir":"/tmp/x1"}`,
			says:   `["versions"]`,
			in: []string{
				client(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"errand","version":"v0.3.1"}}}`),
				agent(`{"id":1,"result":{"agentInfo":{"version":"9"}}}`),
			},
			want: []string{
				client(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"errand","version":"$version"}}}`),
				agent(`{"id":1,"result":{"agentInfo":{"version":"$version"}}}`),
			},
		},
		{
			name: "chunks, in the order that needs two rounds", rules: []transcript.Rule{transcript.Merge(), transcript.Without(transcript.FromStderr)},
			in: []string{
				chunk("agent_message_chunk", "a"), chunk("agent_message_chunk", "b"), stderr("x"), chunk("agent_message_chunk", "c"),
				chunk("agent_thought_chunk", "d"), chunk("agent_message_chunk", "e"), agent(`{"id":1,"result":{}}`), chunk("agent_message_chunk", "f"),
				`{"end":{"code":0,"signal":null,"rung":"eof"}}`,
			},
			want: []string{
				chunk("agent_message_chunk", "abc"), chunk("agent_thought_chunk", "d"), chunk("agent_message_chunk", "e"),
				agent(`{"id":1,"result":{}}`), chunk("agent_message_chunk", "f"), `{"end":{"code":0,"signal":null,"rung":"eof"}}`,
			},
		},
		{
			name: "what is numbered after something was taken away", rules: []transcript.Rule{transcript.IDs(), transcript.NoField("m", "params.a")}, header: strings.Replace(header, "RUN-0123456789", "$run", 1), says: `["ids"]`,
			in:   []string{client(`{"method":"m","params":{"a":{"sessionId":"one"},"sessionId":"two"}}`)},
			want: []string{client(`{"method":"m","params":{"sessionId":"$session-1"}}`)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := read(t, tt.in...)
			before := written(in)
			once := in.Normalize(tt.rules...)
			if tt.header == "" {
				tt.header = header
			}
			if tt.says != "" {
				tt.header = strings.TrimSuffix(tt.header, "}") + `,"normalized":` + tt.says + "}"
			}
			if diff := cmp.Diff(append([]string{tt.header}, tt.want...), written(once)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(once, once.Normalize(tt.rules...)); diff != "" {
				t.Errorf("normalized again (-once +twice):\n%s", diff)
			}
			if diff := cmp.Diff(before, written(in)); diff != "" {
				t.Errorf("it changed what it was given (-before +after):\n%s", diff)
			}
		})
	}
}

func chunk(kind, text string) string {
	return agent(`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"` + kind + `","content":{"type":"text","text":"` + text + `"}}}}`)
}

// A transcript that somebody has made may have anything in it.
func TestNormalizeAnything(t *testing.T) {
	in := &transcript.Transcript{Entries: []transcript.Entry{
		{From: transcript.FromAgent, Frame: json.RawMessage(`{"a":[1,`)}, {From: transcript.FromAgent, Frame: json.RawMessage(`12`)}, {},
	}}
	once := in.Normalize(transcript.Rule{}, transcript.IDs(), transcript.Times(), transcript.Merge(), transcript.Field("*", "a", "b"))
	in.Header.Normalized = []string{"b", "ids", "times"}
	if diff := cmp.Diff(in, once); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Which names stand for something is known from all the rules that were applied, whenever
// that was, and read again.
func TestNormalizedBy(t *testing.T) {
	in := read(t, agent(`{}`))
	once := in.Normalize(transcript.Path("/a", "$B"), transcript.IDs()).Normalize(transcript.Field("*", "x", "$A\x1b"), transcript.IDs(), transcript.Merge())
	all, err := transcript.Read(strings.NewReader(strings.Join(written(once), "\n")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"$A\x1b", "$B", "ids"}, all[0].Header.Normalized); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if in.Header.Normalized != nil {
		t.Errorf("it changed what it was given: %q", in.Header.Normalized)
	}
}

func TestRuleNames(t *testing.T) {
	var got []string
	for _, r := range []transcript.Rule{
		transcript.IDs(), transcript.Times(), transcript.Versions(), transcript.Merge(), transcript.Path("/a", "$DIR"), transcript.Command("a", "b"),
		transcript.Field("*", "params.x", "$X"), transcript.NoField("m", "result"), transcript.Without(transcript.FromStderr),
	} {
		got = append(got, r.String())
	}
	want := []string{
		"IDs()", "Times()", "Versions()", "Merge()", `Path("/a", "$DIR")`, `Command("a", "b")`,
		`Field("*", "params.x", "$X")`, `NoField("m", "result")`, `Without("stderr")`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever was recorded, normalizing it again changes nothing, and it can be read.
func FuzzNormalize(f *testing.F) {
	f.Add(client(`{"id":1,"method":"session/new","params":{"cwd":"/tmp/x1"}}`) + "\n" + agent(`{"id":1,"result":{"sessionId":"0192f-abc"}}`) + "\n" + stderr("0192f-abc 2026-01-02T15:04:05Z"))
	f.Add(chunk("agent_message_chunk", "a") + "\n" + chunk("agent_message_chunk", "b"))
	f.Add(agent(`[{"id":"$agent-2","method":"x"},{"toolCallId":"$session-1","a":"$session-1"}]`))
	f.Fuzz(func(t *testing.T, text string) {
		check.Cost(t, 20*len(text))
		all, err := transcript.Read(strings.NewReader(`{"transcript":1,"dir":"/tmp/x1"}` + "\n" + text))
		if err != nil {
			return
		}
		rules := []transcript.Rule{
			transcript.Times(), transcript.Path("/tmp/x1", "$DIR"), transcript.IDs(), transcript.Versions(), transcript.Command("agent"),
			transcript.Field("session/new", "params.mcpServers", "$MCP"), transcript.NoField("*", "params._meta"), transcript.Merge(), transcript.Without(transcript.FromStderr),
		}
		for _, in := range all {
			once := in.Normalize(rules...)
			if diff := cmp.Diff(written(once), written(once.Normalize(rules...))); diff != "" {
				t.Errorf("normalized again (-once +twice):\n%s", diff)
			}
			if _, err := transcript.Read(strings.NewReader(strings.Join(written(once), "\n"))); err != nil {
				t.Error(err)
			}
		}
	})
}
