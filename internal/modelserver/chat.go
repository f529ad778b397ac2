package modelserver

import (
	"encoding/json"
	"net/http"
)

// chat is OpenAI's chat completions.
type chat struct{}

func (chat) read(_ *http.Request, body []byte) (question, bool, error) {
	var in struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role    string
			Content contents
		}
		Tools []struct {
			Function struct {
				Name       string
				Parameters schema
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, false, err
	}
	q := question{model: in.Model}
	for _, m := range in.Messages {
		switch m.Role {
		case "user":
			q.prompt, q.result = m.Content.text(), ""
		case "tool":
			q.result = orNothing(m.Content.text())
		}
	}
	for _, t := range in.Tools {
		q.tools = append(q.tools, tool{name: t.Function.Name, schema: t.Function.Parameters})
	}
	return q, in.Stream, nil
}

// orNothing is the text of a result, which may be empty but is there.
func orNothing(text string) string {
	if text == "" {
		return "(nothing)"
	}
	return text
}

func (chat) fail(status int, message string) any {
	kind, code := "server_error", "server_error"
	if status == http.StatusUnauthorized {
		kind, code = "invalid_request_error", "invalid_api_key"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

var chatUsage = object{"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": 2 * tokens}

func (chat) call(a answer) []object {
	return []object{{"index": 0, "id": a.id("call_"), "type": "function", "function": object{"name": a.call.tool, "arguments": a.call.arguments()}}}
}

func (d chat) whole(a answer) any {
	message, reason := object{"role": "assistant", "content": a.text()}, "stop"
	if a.call != nil {
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": d.call(a)}, "tool_calls"
	}
	return object{
		"id": a.id("chatcmpl-"), "object": "chat.completion", "created": 1, "model": a.model, "usage": chatUsage,
		"choices": []object{{"index": 0, "message": message, "finish_reason": reason}},
	}
}

func (d chat) stream(e *events, a answer) {
	chunk := func(delta object, reason any) {
		e.send(object{
			"id": a.id("chatcmpl-"), "object": "chat.completion.chunk", "created": 1, "model": a.model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}},
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	reason := "stop"
	if a.call != nil {
		chunk(object{"tool_calls": d.call(a)}, nil)
		reason = "tool_calls"
	}
	if !e.words(a, func(word string) { chunk(object{"content": word}, nil) }) {
		return
	}
	chunk(object{}, reason)
	e.send(object{
		"id": a.id("chatcmpl-"), "object": "chat.completion.chunk", "created": 1, "model": a.model,
		"choices": []object{}, "usage": chatUsage,
	})
	e.raw("data: [DONE]\n\n")
}
