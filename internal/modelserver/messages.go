package modelserver

import (
	"encoding/json"
	"net/http"
)

// messages is Anthropic's messages API.
type messages struct{}

func (messages) read(_ *http.Request, body []byte) (question, bool, error) {
	var in struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role    string
			Content contents
		}
		Tools []struct {
			Name        string
			InputSchema schema `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, false, err
	}
	q := question{model: in.Model}
	for _, m := range in.Messages {
		if m.Role != "user" {
			continue
		}
		result := ""
		for _, p := range m.Content {
			if p.Type == "tool_result" {
				var inner contents
				if len(p.Content) > 0 && json.Unmarshal(p.Content, &inner) != nil {
					inner = contents{{Text: string(p.Content)}}
				}
				result += orNothing(inner.text())
			}
		}
		if q.result = result; result == "" {
			q.prompt = m.Content.text()
		}
	}
	for _, t := range in.Tools {
		q.tools = append(q.tools, tool{name: t.Name, schema: t.InputSchema})
	}
	return q, in.Stream, nil
}

func (messages) fail(status int, message string) any {
	kind := "api_error"
	if status == http.StatusUnauthorized {
		kind = "authentication_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

// blocks are the content of an answer, empty to be filled by the stream or whole.
func (messages) block(a answer, whole bool) object {
	switch {
	case a.call != nil && whole:
		return object{"type": "tool_use", "id": a.id("toolu_"), "name": a.call.tool, "input": a.call.args}
	case a.call != nil:
		return object{"type": "tool_use", "id": a.id("toolu_"), "name": a.call.tool, "input": object{}}
	case whole:
		return object{"type": "text", "text": a.text()}
	}
	return object{"type": "text", "text": ""}
}

func (messages) reason(a answer) string {
	if a.call != nil {
		return "tool_use"
	}
	return "end_turn"
}

func (messages) message(a answer, content []object, reason any) object {
	return object{
		"id": a.id("msg_"), "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": reason, "stop_sequence": nil,
		"usage": object{"input_tokens": tokens, "output_tokens": tokens},
	}
}

func (d messages) whole(a answer) any {
	return d.message(a, []object{d.block(a, true)}, d.reason(a))
}

func (d messages) stream(e *events, a answer) {
	e.named("message_start", object{"message": d.message(a, []object{}, nil)})
	e.named("content_block_start", object{"index": 0, "content_block": d.block(a, false)})
	delta := func(delta object) { e.named("content_block_delta", object{"index": 0, "delta": delta}) }
	if a.call != nil {
		delta(object{"type": "input_json_delta", "partial_json": a.call.arguments()})
	}
	if !e.words(a, func(word string) { delta(object{"type": "text_delta", "text": word}) }) {
		return
	}
	e.named("content_block_stop", object{"index": 0})
	e.named("message_delta", object{
		"delta": object{"stop_reason": d.reason(a), "stop_sequence": nil}, "usage": object{"output_tokens": tokens},
	})
	e.named("message_stop", object{})
}
