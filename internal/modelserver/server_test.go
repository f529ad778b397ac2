package modelserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/modelserver"
)

// api is one API as a client uses it: {tools} and {turns} of a body are filled in.
type api struct {
	name          string
	path, streams string // the latter where the path is another one
	key           string // the header
	body          string
	tool          string // NAME and SCHEMA are filled in
	user, result  string // TEXT is filled in
	answer        string // where the text is in an answer
	id            string // where the id of a call is
	call, args    string // where the name and the arguments of a call are
	delta         string // where a piece of text is in an event
}

var apis = []api{
	{
		name: "chat", path: "/v1/chat/completions", key: "Authorization",
		body:   `{"model":"m","stream":STREAM,"messages":[{"role":"system","content":"Write a file /no with the text no"},TURNS],"tools":[TOOLS]}`,
		tool:   `{"type":"function","function":{"name":"NAME","parameters":SCHEMA}}`,
		user:   `{"role":"user","content":[{"type":"text","text":"TEXT"}]}`,
		result: `{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","tool_call_id":"call_1","content":"TEXT"}`,
		id:     "choices.0.message.tool_calls.0.id",
		answer: "choices.0.message.content", call: "choices.0.message.tool_calls.0.function.name", args: "choices.0.message.tool_calls.0.function.arguments",
		delta: "choices.0.delta.content",
	},
	{
		name: "gemini", path: "/v1beta/models/m:generateContent", streams: "/v1beta/models/m:streamGenerateContent?alt=sse", key: "x-goog-api-key",
		body:   `{"contents":[TURNS],"tools":[{"functionDeclarations":[TOOLS]}]}`,
		tool:   `{"name":"NAME","parametersJsonSchema":SCHEMA}`,
		user:   `{"role":"user","parts":[{"text":"TEXT"}]}`,
		result: `{"role":"model","parts":[{"functionCall":{"name":"x"}}]},{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"output":"TEXT"}}}]}`,
		id:     "candidates.0.content.parts.0.functionCall.id",
		answer: "candidates.0.content.parts.0.text", call: "candidates.0.content.parts.0.functionCall.name", args: "candidates.0.content.parts.0.functionCall.args",
		delta: "candidates.0.content.parts.0.text",
	},
	{
		name: "messages", path: "/v1/messages", key: "x-api-key",
		body:   `{"model":"m","stream":STREAM,"messages":[TURNS],"tools":[TOOLS]}`,
		tool:   `{"name":"NAME","input_schema":SCHEMA}`,
		user:   `{"role":"user","content":"TEXT"}`,
		result: `{"role":"assistant","content":[{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"TEXT"}]}]}`,
		id:     "content.0.id",
		answer: "content.0.text", call: "content.0.name", args: "content.0.input",
		delta: "delta.text",
	},
	{
		name: "responses", path: "/v1/responses", key: "Authorization",
		body:   `{"model":"m","stream":STREAM,"input":[TURNS],"tools":[TOOLS]}`,
		tool:   `{"type":"function","name":"NAME","parameters":SCHEMA}`,
		user:   `{"type":"message","role":"user","content":[{"type":"input_text","text":"TEXT"}]}`,
		result: `{"type":"function_call","call_id":"call_1"},{"type":"function_call_output","call_id":"call_1","output":"TEXT"}`,
		id:     "output.0.call_id",
		answer: "output.0.content.0.text", call: "output.0.name", args: "output.0.arguments",
		delta: "delta",
	},
}

const (
	writeSchema = `{"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"},"mode":{"enum":["new","old"]},"why":{"type":"string"}},"required":["file_path","content","mode"]}`
	runSchema   = `{"type":"OBJECT","properties":{"command":{"type":"STRING"}},"required":["command"]}`
)

// ask posts the turns with two tools on offer.
func (a api) ask(t *testing.T, s *modelserver.Server, key string, stream bool, turns ...string) *http.Response {
	t.Helper()
	tools := strings.NewReplacer("NAME", "Read_File", "SCHEMA", `{"type":"object"}`).Replace(a.tool) + "," +
		strings.NewReplacer("NAME", "write_file", "SCHEMA", writeSchema).Replace(a.tool) + "," +
		strings.NewReplacer("NAME", "run_shell_command", "SCHEMA", runSchema).Replace(a.tool)
	body := strings.NewReplacer("STREAM", fmt.Sprint(stream), "TURNS", strings.Join(turns, ","), "TOOLS", tools).Replace(a.body)
	path := a.path
	if stream && a.streams != "" {
		path = a.streams
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if a.key == "Authorization" {
		key = "Bearer " + key
	}
	request.Header.Set(a.key, key)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (a api) says(text string) string { return strings.ReplaceAll(a.user, "TEXT", text) }

func start(t *testing.T) *modelserver.Server {
	t.Helper()
	s, err := modelserver.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decode(t *testing.T, r io.Reader) any {
	t.Helper()
	var v any
	if err := json.NewDecoder(r).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// at is what v has at a path of names and indexes, nil for nothing.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			if len(in) == 0 {
				return nil
			}
			v = in[0]
		default:
			return nil
		}
	}
	return v
}

func TestAnswers(t *testing.T) {
	s := start(t)
	for _, a := range apis {
		whole := func(turns ...string) any {
			t.Helper()
			response := a.ask(t, s, modelserver.Key, false, turns...)
			check.Equal(t, a.name+": status", response.StatusCode, http.StatusOK)
			return decode(t, response.Body)
		}
		check.Equal(t, a.name+": text", at(whole(a.says("Hello")), a.answer), any(modelserver.Text))

		for prompt, want := range map[string]map[string]any{
			"Write a file /tmp/a.txt with the text HELLO.": {"name": "write_file", "args": map[string]any{"file_path": "/tmp/a.txt", "content": "HELLO", "mode": "new"}},
			"Please run the command `ls -l /tmp` now":      {"name": "run_shell_command", "args": map[string]any{"command": "ls -l /tmp"}},
		} {
			got := whole(a.says("Fail with 500"), a.says(prompt))
			args := at(got, a.args)
			if text, ok := args.(string); ok {
				args = decode(t, strings.NewReader(text))
			}
			if diff := cmp.Diff(want, map[string]any{"name": at(got, a.call), "args": args}); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", a.name, prompt, diff)
			}
		}

		done := whole(a.says("Write a file /tmp/a.txt with the text HELLO."), strings.ReplaceAll(a.result, "TEXT", "file written"))
		text, _ := at(done, a.answer).(string)
		check.Has(t, text, "The tool said: ", "file written")
		write := a.says("Write a file /tmp/a.txt with the text HELLO.")
		first, _ := at(whole(write), a.id).(string)
		second, _ := at(whole(write), a.id).(string)
		if first == "" || second == "" || first == second {
			t.Errorf("%s: two calls have the ids %q and %q", a.name, first, second)
		}
		check.Equal(t, a.name+": a prompt after a result", at(whole(a.says("Hello"), strings.ReplaceAll(a.result, "TEXT", "x"), a.says("Hello")), a.answer), any(modelserver.Text))
	}
}

func TestStreams(t *testing.T) {
	s := start(t)
	for _, a := range apis {
		text, pieces := "", 0
		for _, event := range events(t, a.ask(t, s, modelserver.Key, true, a.says("Hello")).Body) {
			if piece, ok := at(event, a.delta).(string); ok && piece != "" {
				text += piece
				pieces++
			}
		}
		check.Equal(t, a.name+": text", text, modelserver.Text)
		check.Equal(t, a.name+": pieces", pieces, len(strings.Fields(modelserver.Text)))

		all, err := io.ReadAll(a.ask(t, s, modelserver.Key, true, a.says("Write a file /tmp/a.txt with the text HELLO.")).Body)
		if err != nil {
			t.Fatal(err)
		}
		check.Has(t, string(all), "write_file", "/tmp/a.txt", "HELLO")
	}
}

// events are the data of a stream, but for the mark of its end.
func events(t *testing.T, r io.Reader) []any {
	t.Helper()
	var list []any
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "[DONE]" {
			list = append(list, decode(t, strings.NewReader(data)))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestFailures(t *testing.T) {
	s := start(t)
	for _, a := range apis {
		for _, stream := range []bool{false, true} {
			for _, c := range []struct {
				key, prompt string
				status      int
			}{
				{"another", "Hello", 401},
				{modelserver.Key, "Fail with 401.", 401},
				{modelserver.Key, "Please fail with 500", 500},
			} {
				response := a.ask(t, s, c.key, stream, a.says(c.prompt))
				check.Equal(t, a.name+": status of "+c.prompt, response.StatusCode, c.status)
				if message, _ := at(decode(t, response.Body), "error.message").(string); message == "" {
					t.Errorf("%s: no message in the error of %q", a.name, c.prompt)
				}
			}
		}
		response, err := client.Post(s.URL()+a.path, "application/json", strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		check.Equal(t, a.name+": status of what is no JSON", response.StatusCode, http.StatusBadRequest)
	}
	response, err := client.Get(s.URL() + "/v1/elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	check.Equal(t, "status elsewhere", response.StatusCode, http.StatusNotFound)
}

// A slow answer comes word by word, and ends with the server's context.
func TestSlowEndsWithTheContext(t *testing.T) {
	for _, a := range apis {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := modelserver.Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		body := bufio.NewReader(a.ask(t, s, modelserver.Key, true, a.says("Count slowly.")).Body)
		for line := ""; !strings.Contains(line, `"3 "`); {
			if line, err = body.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		rest, _ := io.ReadAll(body)
		check.Lacks(t, string(rest), `"600 "`)
		<-s.Done()
		if response, err := client.Get(s.URL()); err == nil {
			response.Body.Close()
			t.Errorf("%s: it still listens", a.name)
		}
	}
}

func TestRequests(t *testing.T) {
	s := start(t)
	a := apis[0]
	a.ask(t, s, modelserver.Key, false, a.says("Write a file /a with the text B"))
	a.ask(t, s, "another", false, a.says("Hello"), strings.ReplaceAll(a.result, "TEXT", "done"))
	tools := []string{"Read_File", "write_file", "run_shell_command"}
	want := []modelserver.Request{
		{Path: a.path, Prompt: "Write a file /a with the text B\n", Tools: tools, Called: "write_file", Status: 200},
		{Path: a.path, Prompt: "Hello\n", Result: "done\n", Tools: tools, Status: 401},
	}
	if diff := cmp.Diff(want, s.Requests()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
