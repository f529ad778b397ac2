package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// delegateTool is a tool for a model: it hands a task to another agent. This file is all
// there is to it and needs no other one of this program, so that it can be copied.
type delegateTool struct {
	agents map[string]client.Command // by the names that the model is told
	limits *subagent.Limits          // of all calls together
	kill   context.Context           // ends when the agents have to be gone at once
}

// caller is on whose behalf the tool is called.
type caller struct {
	dir    string              // of the session that delegates: the agent works there too
	policy permission.Policy   // answers what the agent asks
	update func(client.Update) // is told what the agent does, as it does it
}

// toolDefinition is what a model is told of a tool. The APIs of models, and MCP, have these
// three by names that differ a little: inputSchema, input_schema, parameters.
type toolDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func (t *delegateTool) definition() toolDefinition {
	names, _ := json.Marshal(t.names())
	return toolDefinition{
		Name: "delegate",
		Description: "Hand a task to another agent, which works in the same directory and knows nothing of this conversation: " +
			"say in the prompt all that it needs. Returns its final answer. Call it several times at once for tasks that do not need each other.",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"agent": {"type": "string", "enum": ` + string(names) + `, "description": "Who is to do it."},
				"prompt": {"type": "string", "minLength": 1, "description": "The task, whole."},
				"maxDepth": {"type": "integer", "minimum": 0, "description": "How many levels of agents it may delegate to itself; 0 is none. Leave it out unless you have a reason."}
			},
			"required": ["agent", "prompt"],
			"additionalProperties": false
		}`),
	}
}

func (t *delegateTool) names() []string { return slices.Sorted(maps.Keys(t.agents)) }

// delegateInput is the input of a call, as the schema has it.
type delegateInput struct {
	Agent    string `json:"agent"`
	Prompt   string `json:"prompt"`
	MaxDepth *int   `json:"maxDepth,omitempty"`
}

// call is the tool's handler. It returns when the agent's process has ended. Whatever
// becomes of it the answer is for the model, and says in plain words why there is none; ok
// is whether the agent completed its task.
func (t *delegateTool) call(ctx context.Context, input json.RawMessage, from caller) (answer string, ok bool) {
	var in delegateInput
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return "The input does not fit the schema of the tool: " + err.Error(), false
	}
	cmd, ok := t.agents[in.Agent]
	if !ok {
		return fmt.Sprintf("There is no agent %q. There are: %s.", in.Agent, strings.Join(t.names(), ", ")), false
	}
	// A provider for each call, because what its agent asks is for this caller.
	agent, err := subagent.NewACP(in.Agent, cmd, &subagent.ACPOptions{Permission: from.policy, Kill: t.kill})
	if err != nil {
		return notStarted(err), false
	}
	run, err := t.limits.Provider(agent).Start(ctx, subagent.Request{
		Prompt: subagent.Text(in.Prompt), ParentDir: from.dir, MaxDepth: in.MaxDepth,
	})
	if err != nil {
		return notStarted(err), false
	}
	defer run.Close() // if update panics
	for u := range run.Updates() {
		from.update(u)
	}
	res := run.Close()
	switch {
	case !res.Stop.Success():
		return strings.TrimSpace(fmt.Sprintf("The agent did not complete the task: %v. Until then it had said:\n%s", res.Err(), res.Output)), false
	case res.Output == "":
		return "The agent has ended and said nothing.", true
	}
	return res.Output, true
}

// notStarted tells a model why nothing was started, and what it can do about it.
func notStarted(err error) string {
	e, ok := errors.AsType[*subagent.Error](err)
	if !ok {
		return "The task was not delegated: " + err.Error()
	}
	text := "The task was not delegated: " + strings.TrimPrefix(e.Message, "not started: ") + "."
	if e.Kind == client.KindLimit {
		text += " Do it without another agent, or leave it undone and say so."
	}
	return text
}
