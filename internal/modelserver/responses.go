package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// responses is OpenAI's responses API.
type responses struct{}

func (responses) read(_ *http.Request, body []byte) (question, bool, error) {
	type item struct {
		Type, Role string
		Content    contents
		Output     json.RawMessage
	}
	var in struct {
		Model  string
		Stream bool
		Input  json.RawMessage
		Tools  []struct {
			Type, Name string
			Parameters schema
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, false, err
	}
	q := question{model: in.Model}
	var items []item
	if json.Unmarshal(in.Input, &items) != nil { // a plain text
		if err := json.Unmarshal(in.Input, &q.prompt); err != nil {
			return question{}, false, err
		}
	}
	for _, i := range items {
		switch {
		case i.Role == "user":
			q.prompt, q.result = i.Content.text(), ""
		case strings.HasSuffix(i.Type, "_call_output"):
			q.result = orNothing(string(i.Output))
		}
	}
	for _, t := range in.Tools {
		if t.Type == "function" || t.Type == "custom" {
			q.tools = append(q.tools, tool{name: t.Name, schema: t.Parameters, free: t.Type == "custom"})
		}
	}
	return q, in.Stream, nil
}

func (responses) fail(status int, message string) any { return chat{}.fail(status, message) }

// item is the one thing that an answer has.
func (responses) item(a answer) object {
	switch {
	case a.call != nil && a.call.free:
		return object{"type": "custom_tool_call", "id": a.id("ctc_"), "status": "completed", "call_id": a.id("call_"), "name": a.call.tool, "input": a.call.text}
	case a.call != nil:
		return object{"type": "function_call", "id": a.id("fc_"), "status": "completed", "call_id": a.id("call_"), "name": a.call.tool, "arguments": a.call.arguments()}
	}
	return object{
		"type": "message", "id": a.id("msg_"), "status": "completed", "role": "assistant",
		"content": []object{{"type": "output_text", "text": a.text(), "annotations": []object{}}},
	}
}

func (responses) response(a answer, status string, output []object) object {
	return object{
		"id": a.id("resp_"), "object": "response", "created_at": 1, "model": a.model, "status": status, "output": output,
		"usage": object{
			"input_tokens": tokens, "output_tokens": tokens, "total_tokens": 2 * tokens,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
		},
	}
}

func (d responses) whole(a answer) any {
	return d.response(a, "completed", []object{d.item(a)})
}

func (d responses) stream(e *events, a answer) {
	number := 0
	send := func(name string, data object) {
		data["sequence_number"] = number
		number++
		e.named(name, data)
	}
	send("response.created", object{"response": d.response(a, "in_progress", []object{})})
	begun := d.item(a)
	begun["status"] = "in_progress"
	if a.call == nil {
		begun["content"] = []object{}
	}
	send("response.output_item.added", object{"output_index": 0, "item": begun})
	delta := func(word string) {
		send("response.output_text.delta", object{"item_id": a.id("msg_"), "output_index": 0, "content_index": 0, "delta": word})
	}
	if !e.words(a, delta) {
		return
	}
	send("response.output_item.done", object{"output_index": 0, "item": d.item(a)})
	send("response.completed", object{"response": d.response(a, "completed", []object{d.item(a)})})
}
