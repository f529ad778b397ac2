package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/acp-go-sdk"
)

// BlockType is the protocol's name for the type of a content block; empty for a block
// that is of none.
// See https://agentclientprotocol.com/protocol/content.
func BlockType(b acp.ContentBlock) string {
	switch {
	case b.Text != nil:
		return "text"
	case b.Image != nil:
		return "image"
	case b.Audio != nil:
		return "audio"
	case b.ResourceLink != nil:
		return "resource_link"
	case b.Resource != nil:
		return "resource"
	}
	return ""
}

// MarshalBlock writes a content block as JSON, with all that is in it: the SDK's own
// encoding leaves annotations and _meta out. A block of no type is an error.
// See https://agentclientprotocol.com/protocol/content.
func MarshalBlock(b acp.ContentBlock) (json.RawMessage, error) {
	var block any
	switch {
	case b.Text != nil:
		v := *b.Text
		v.Type = "text"
		block = v
	case b.Image != nil:
		v := *b.Image
		v.Type = "image"
		block = v
	case b.Audio != nil:
		v := *b.Audio
		v.Type = "audio"
		block = v
	case b.ResourceLink != nil:
		v := *b.ResourceLink
		v.Type = "resource_link"
		block = v
	case b.Resource != nil:
		v := *b.Resource
		v.Type = "resource"
		block = v
	default:
		return nil, errors.New("a content block of no type")
	}
	return json.Marshal(block)
}

// CheckPrompt returns an error of kind capability if the agent does not take one of
// the blocks, of kind config if there is none or one is of no type. Every agent takes
// text and resource links; the rest it says in its promptCapabilities.
// See https://agentclientprotocol.com/protocol/initialization#prompt-capabilities.
func (a *Agent) CheckPrompt(blocks []acp.ContentBlock) error {
	if len(blocks) == 0 {
		return configError("the prompt is empty")
	}
	takes := map[string]bool{
		"text": true, "resource_link": true,
		"image": a.info.Prompt.Image, "audio": a.info.Prompt.Audio, "resource": a.info.Prompt.EmbeddedContext,
	}
	for i, b := range blocks {
		t := BlockType(b)
		if t == "" {
			return configError("prompt block %d is of no type", i)
		}
		if !takes[t] {
			return &Error{
				Kind: KindCapability, Step: StepPrompt,
				Message: fmt.Sprintf("the agent does not take prompt block %d: %s content is not in its promptCapabilities", i, t),
			}
		}
	}
	return nil
}
