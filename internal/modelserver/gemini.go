package modelserver

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// gemini is Gemini's generateContent, and streamGenerateContent as server-sent events
// (alt=sse), which is what its clients ask for.
type gemini struct{}

func (gemini) read(r *http.Request, body []byte) (question, bool, error) {
	var in struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
		Tools []struct {
			FunctionDeclarations []struct {
				Name                 string
				Parameters           *schema
				ParametersJSONSchema *schema `json:"parametersJsonSchema"`
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return question{}, false, err
	}
	path := r.URL.Path
	q := question{model: strings.Split(path[strings.LastIndex(path, "/")+1:], ":")[0]}
	for _, content := range in.Contents {
		if content.Role == "model" {
			continue
		}
		text, result := "", ""
		for _, part := range content.Parts {
			if part.Text != "" {
				text += part.Text + "\n"
			}
			if part.FunctionResponse != nil {
				result += string(part.FunctionResponse.Response)
			}
		}
		if result == "" {
			q.prompt, q.result = text, ""
		} else {
			q.result = result
		}
	}
	for _, list := range in.Tools {
		for _, t := range list.FunctionDeclarations {
			q.tools = append(q.tools, tool{name: t.Name, schema: *cmp.Or(t.ParametersJSONSchema, t.Parameters, &schema{})})
		}
	}
	return q, strings.HasSuffix(path, ":streamGenerateContent"), nil
}

func (gemini) fail(status int, message string) any {
	name := map[int]string{http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusBadRequest: "INVALID_ARGUMENT"}[status]
	return object{"error": object{"code": status, "message": message, "status": cmp.Or(name, "INTERNAL")}}
}

// reply is one answer or one piece of it; reason is nil before the last.
func (gemini) reply(a answer, part object, reason any) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": []object{part}}}
	if reason != nil {
		candidate["finishReason"] = reason
	}
	return object{
		"candidates": []object{candidate}, "modelVersion": a.model, "responseId": a.id("response-"),
		"usageMetadata": object{"promptTokenCount": tokens, "candidatesTokenCount": tokens, "totalTokenCount": 2 * tokens},
	}
}

func (gemini) call(a answer) object {
	return object{"functionCall": object{"id": a.id("call-"), "name": a.call.tool, "args": a.call.args}}
}

func (d gemini) whole(a answer) any {
	if a.call != nil {
		return d.reply(a, d.call(a), "STOP")
	}
	return d.reply(a, object{"text": a.text()}, "STOP")
}

func (d gemini) stream(e *events, a answer) {
	if a.call != nil {
		e.send(d.reply(a, d.call(a), "STOP"))
		return
	}
	if e.words(a, func(word string) { e.send(d.reply(a, object{"text": word}, nil)) }) {
		e.send(d.reply(a, object{"text": ""}, "STOP"))
	}
}
