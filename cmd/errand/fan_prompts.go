package main

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/errand-acp/errand/subagent"
)

// maxPrompts bounds the file of --prompts, in bytes.
const maxPrompts = 256 << 20

// promptLine is a line of --prompts. What is nil or empty it does not say.
type promptLine struct {
	number     int // of the line, from 1
	prompt     []acp.ContentBlock
	dir, agent *string
	name       string
	labels     map[string]string
	timeout    *string
}

// parsePrompts reads what --prompts takes: a prompt a line, or an object a line where that
// begins with a brace. Blank lines are none. name is the file's, for errors.
func parsePrompts(name string, text []byte) ([]promptLine, error) {
	var lines []promptLine
	var wrong mistakes
	number := 0
	for raw := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		number++
		raw = bytes.TrimRight(raw, "\r\n")
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		line, err := parsePromptLine(raw)
		if err != nil {
			wrong.add(fmt.Errorf("--prompts %s:%d: %w", name, number, err))
			continue
		}
		line.number = number
		lines = append(lines, line)
	}
	if err := wrong.err(); err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("--prompts %s: there is no prompt in it", name)
	}
	return lines, nil
}

func parsePromptLine(raw []byte) (promptLine, error) {
	switch {
	case !utf8.Valid(raw):
		return promptLine{}, errors.New("it is not UTF-8 text")
	case len(raw) > maxPrompt:
		return promptLine{}, fmt.Errorf("it is longer than %d MiB", maxPrompt>>20)
	case bytes.TrimSpace(raw)[0] != '{':
		return promptLine{prompt: subagent.Text(string(raw))}, nil
	}
	var o struct {
		Prompt  jsontext.Value    `json:"prompt"`
		Dir     *string           `json:"dir"`
		Agent   *string           `json:"agent"`
		Labels  map[string]string `json:"labels"`
		Name    string            `json:"name"`
		Timeout *string           `json:"timeout"`
	}
	// A field that is not known may be a condition that would not be heeded.
	if err := json.Unmarshal(raw, &o, json.RejectUnknownMembers(true)); err != nil {
		return promptLine{}, promptError(err)
	}
	for key := range o.Labels {
		if strings.TrimSpace(key) == "" {
			return promptLine{}, errors.New("a label has no name")
		}
	}
	prompt, err := promptBlocks(o.Prompt)
	return promptLine{prompt: prompt, dir: o.Dir, agent: o.Agent, name: o.Name, labels: o.Labels, timeout: o.Timeout}, err
}

// promptError says what is wrong with an object in the words of the file, not of Go.
func promptError(err error) error {
	const fields = "a line that begins with a brace has prompt, dir, agent, labels, name and timeout"
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok || e.JSONPointer == "" {
		return fmt.Errorf("a line that begins with a brace is a JSON object: %w", err)
	}
	field := strings.Join(slices.Collect(e.JSONPointer.Tokens()), ".")
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("there is no field %q: %s", field, fields)
	case field == "labels":
		return errors.New(`labels is no object: write {"KEY": "VALUE"}`)
	case field == "timeout":
		return errors.New(`timeout is no text: write "5s"`)
	}
	return fmt.Errorf("%s is no text: put it in quotes", clip(field, 100))
}

// promptBlocks reads a prompt that is a text or a list of ACP content blocks.
func promptBlocks(raw jsontext.Value) ([]acp.ContentBlock, error) {
	switch raw.Kind() {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			return nil, errors.New("the prompt is empty")
		}
		return subagent.Text(text), nil
	case '[':
		var req subagent.Request
		if err := stdjson.Unmarshal(fmt.Appendf(nil, `{"prompt": %s}`, raw), &req); err != nil {
			return nil, err
		}
		for _, b := range req.Prompt {
			if b.Text == nil || strings.TrimSpace(b.Text.Text) != "" {
				return req.Prompt, nil
			}
		}
		return nil, errors.New("the prompt is empty")
	case 0:
		return nil, errors.New("there is no prompt in it")
	}
	return nil, errors.New("the prompt is neither a text nor a list of content blocks")
}

// promptHead is the first line of a prompt's text, for people to tell it by.
func promptHead(prompt []acp.ContentBlock) string {
	for _, b := range prompt {
		if b.Text != nil {
			head, _, _ := strings.Cut(strings.TrimSpace(b.Text.Text), "\n")
			return strings.TrimSpace(head)
		}
	}
	return ""
}
