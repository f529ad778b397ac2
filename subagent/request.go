package subagent

import (
	"encoding/json"
	"fmt"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
)

// Request is one task. It round-trips through JSON, except for Events and Transcript.
type Request struct {
	// Prompt is what the agent is asked, as ACP content blocks, sent in their order.
	// It must not be empty. A block that the agent does not accept is an error,
	// never dropped.
	// See https://agentclientprotocol.com/protocol/content.
	Prompt []acp.ContentBlock `json:"prompt"`
	// Dir is the directory the agent works in: absolute, and one that can be
	// entered. Symlinks in it are resolved once. Empty means ParentDir.
	Dir string `json:"dir,omitempty"`
	// ParentDir is the directory of the session that delegates. It is used where
	// neither the provider nor Dir says otherwise; the same rules hold for it. There
	// is no other default: a request without any directory is refused.
	ParentDir string `json:"parentDir,omitempty"`
	// Labels are the caller's own words (tenant, trace, …), returned in the result
	// and in events. They do not reach the agent.
	Labels map[string]string `json:"labels,omitempty"`

	// The rest asks for what not every provider offers: a request that sets one
	// of them is refused by a provider without the Capability named at it.

	// Model and Mode choose among the agent's own (CapabilityModel, CapabilityMode).
	Model string `json:"model,omitempty"`
	Mode  string `json:"mode,omitempty"`
	// OutputSchema is a JSON Schema that the answer must match
	// (CapabilityOutputSchema).
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// MaxDepth is how many levels of delegation the agent may start below itself: 0 is
	// none. nil means as many as the provider and the environment leave, which it can only
	// narrow (CapabilityMaxDepth).
	MaxDepth *int `json:"maxDepth,omitempty"`
	// Tools lists the tools the agent may use; nil means all
	// (CapabilityToolFilter).
	Tools []string `json:"tools,omitzero"`
	// Transcript, if set, gets the conversation with the agent as it happens, as
	// client.Options.Transcript has it (CapabilityTranscript). Each try of a Fallback begins
	// another conversation in it, and a run of a Pool takes no spare, whose start would be
	// missing. What could not be written is told in the result's warnings. Requests whose
	// runs are under way at the same time must not share it.
	Transcript *transcript.Writer `json:"-"`

	// Events, if set, is told what happens, one event at a time and in order: a
	// start, what comes in between, an end. A start that fails has no events. It is
	// called from the run's own goroutines; being slow slows the agent and loses
	// nothing, unless the run is cancelled: what has not been told then may not be. A
	// panic is contained and becomes a warning. It must not wait for the run's end, which
	// waits for it. Close waits for it too, when everything else has ended, but no longer
	// than ten seconds; then it is told of nothing more.
	Events func(Event) `json:"-"`
}

// MarshalJSON writes the request with all that is in its content blocks.
func (r Request) MarshalJSON() ([]byte, error) {
	type plain Request
	out := struct {
		Prompt []json.RawMessage `json:"prompt"`
		plain
	}{plain: plain(r)}
	for i, b := range r.Prompt {
		block, err := client.MarshalBlock(b)
		if err != nil {
			return nil, fmt.Errorf("prompt block %d: %w", i, err)
		}
		out.Prompt = append(out.Prompt, block)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. A content block of a type that ACP does not
// have is an error: it must not become another block.
func (r *Request) UnmarshalJSON(raw []byte) error {
	type plain Request
	in := struct {
		Prompt []json.RawMessage `json:"prompt"`
		*plain
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	r.Prompt = nil
	for i, raw := range in.Prompt {
		var block acp.ContentBlock
		var as struct {
			Type string `json:"type"`
		}
		// Of a type that it does not know the SDK makes whatever it looks like.
		if err := json.Unmarshal(raw, &as); err != nil {
			return fmt.Errorf("prompt block %d: %w", i, err)
		}
		if err := json.Unmarshal(raw, &block); err != nil {
			return fmt.Errorf("prompt block %d: %w", i, err)
		}
		if got := client.BlockType(block); got == "" || got != as.Type {
			return fmt.Errorf("prompt block %d: ACP has no content of the type %.100q", i, as.Type)
		}
		r.Prompt = append(r.Prompt, block)
	}
	return nil
}

// Text is a prompt of one text block.
func Text(text string) []acp.ContentBlock { return []acp.ContentBlock{acp.TextBlock(text)} }

// directory returns the directory to work in as the rules say: the provider's own,
// the request's, the parent's.
func (r *Request) directory(override string) (string, error) {
	for _, dir := range []string{override, r.Dir, r.ParentDir} {
		if dir != "" {
			return client.CheckDir(dir)
		}
	}
	return "", configError("no directory to work in: set Request.Dir, or ParentDir to that of the parent session")
}

// validatePrompt refuses what could not be sent as it is.
func (r *Request) validatePrompt() error {
	if len(r.Prompt) == 0 {
		return configError("the prompt is empty")
	}
	blank := true
	for i, b := range r.Prompt {
		kind := client.BlockType(b)
		if kind == "" {
			return configError("prompt block %d is of no type", i)
		}
		if b.Text == nil || b.Text.Text != "" {
			blank = false
		}
	}
	if blank {
		return configError("the prompt is empty: its text blocks hold no text")
	}
	return nil
}
