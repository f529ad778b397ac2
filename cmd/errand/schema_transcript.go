package main

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/errand-acp/errand/client/transcript"
)

// transcriptSchema is that of a line of a transcript: a header, the end, or what somebody
// wrote, which are told apart by what they have.
func transcriptSchema() (*jsonschema.Schema, error) {
	peer, err := schemaOf[transcript.Peer]("")
	if err != nil {
		return nil, err
	}
	end, err := schemaOf[transcript.End]("")
	if err != nil {
		return nil, err
	}
	peer.Schema, end.Schema = "", ""
	end.Description = "How the agent's process ended. All of it is empty where it could not be started."
	end.Properties["rung"] = enum(append(rungs[:len(rungs):len(rungs)], ""))

	ms := &jsonschema.Schema{Type: "number", Description: "The time since startedAt, in milliseconds; missing where it is 0 or was taken away."}
	text := &jsonschema.Schema{Type: "string"}
	version := any(transcript.Version)
	header := &jsonschema.Schema{
		Title: "The beginning of a conversation", Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"transcript": {Description: "The version of the format.", Const: &version},
			"startedAt":  {Type: "string", Format: "date-time"},
			"runId":      text, "client": peer, "dir": text,
			"command":    {Type: "array", Items: text},
			"normalized": {Type: "array", Items: text, Description: "The names that rules have put into the conversation; missing in a recording."},
		},
		Required: []string{"transcript", "runId", "client", "command", "dir"},
	}
	last := &jsonschema.Schema{
		Title: "The end of a conversation", Type: "object",
		Properties: map[string]*jsonschema.Schema{"ms": ms, "end": end},
		Required:   []string{"end"},
	}
	minBytes := 1.0
	entry := &jsonschema.Schema{
		Title: "What one of them wrote", Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"ms":    ms,
			"from":  enum([]transcript.From{transcript.FromClient, transcript.FromAgent, transcript.FromStderr}),
			"frame": {Types: []string{"object", "array"}, Description: "A JSON-RPC frame, or any other JSON object or array, as it was on the wire."},
			"text":  {Type: "string", Description: "A line that is no frame."},
			"bytes": {Type: "integer", Minimum: &minBytes, Description: "How long the line was of which text has only the beginning."},
		},
		Required: []string{"from"},
		OneOf:    []*jsonschema.Schema{{Required: []string{"frame"}}, {Required: []string{"text"}}},
	}
	entry.DependentRequired = map[string][]string{"bytes": {"text"}}
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "A line of a transcript", Type: "object",
		If:   &jsonschema.Schema{Required: []string{"transcript"}},
		Then: header,
		Else: &jsonschema.Schema{If: &jsonschema.Schema{Required: []string{"end"}}, Then: last, Else: entry},
	}, nil
}
