package subagent

import (
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
)

// AuditType says what an AuditRecord tells.
type AuditType string

// The types of audit records. The first of a run is its start and the last its end.
const (
	AuditTypeStart      AuditType = "start"
	AuditTypePermission AuditType = "permission"
	AuditTypeToolCall   AuditType = "toolCall"
	AuditTypeFile       AuditType = "file"
	AuditTypeCommand    AuditType = "command"
	AuditTypeEnd        AuditType = "end"
)

// AuditRecord is a line of an Audit. Its JSON is a contract: fields may be added within a
// SchemaVersion, and none is renamed or removed. In everything an agent wrote, the ids too,
// secrets of its environment are replaced. Without Audit.Content it is metadata: what the
// agent said, was asked and wrote into files is not in it, but its titles, paths and
// commands are.
type AuditRecord struct {
	SchemaVersion int `json:"schemaVersion"`
	// Time is when it happened.
	Time time.Time `json:"time"`
	Type AuditType `json:"type"`
	// RunID, SessionID and Turn say what it happened in: the run, its session (null where
	// none was made), and the prompt turn in it, counted from 1. A run has one turn.
	RunID     string  `json:"runId"`
	SessionID *string `json:"sessionId"`
	Turn      int     `json:"turn"`
	// Labels are the request's.
	Labels map[string]string `json:"labels"`
	// Cut is set where the line would have been longer than 64 KiB: texts were shortened,
	// which an ellipsis at their end says, and lists too. Labels never are.
	Cut bool `json:"cut"`

	// One of these is set, the one that Type names.
	Start      *AuditStart           `json:"start,omitempty"`
	Permission *AuditPermission      `json:"permission,omitempty"`
	ToolCall   *AuditToolCall        `json:"toolCall,omitempty"`
	File       *client.FileRecord    `json:"file,omitempty"`
	Command    *client.CommandRecord `json:"command,omitempty"`
	End        *AuditEnd             `json:"end,omitempty"`
}

// AuditStart is told when the session exists, and where the start failed with what was
// known then. Its record has the time when the run was started.
type AuditStart struct {
	Start
	// PolicyDigest names the policy that answers (permission.Rules.Digest); null where it
	// has no name.
	PolicyDigest *string `json:"policyDigest"`
	// Granted is what the agent may do through us.
	Granted AuditGranted `json:"granted"`
}

// AuditGranted is what an agent may do through us, if the policy allows it.
type AuditGranted struct {
	// Files is none, read or write.
	Files     string `json:"files"`
	Terminals bool   `json:"terminals"`
}

// AuditPermission is a question, of the agent's or of ours before we do something for it,
// and its answer. Of the result's record it has all but the contents: without Audit.Content
// rawInput is null, facts.diffs is empty (facts.paths has their files), and
// facts.commands have the names of variables without their values.
type AuditPermission struct {
	permission.Record
	PolicyDigest *string `json:"policyDigest"`
}

// AuditToolCall is a tool call of which something has changed, as it stands then.
type AuditToolCall struct {
	ToolCall
	// Asked is false for a call that runs, or ran, without a question. It is null while
	// the call is pending and a question may still come.
	Asked *bool `json:"asked"`
	// RawInput and Diffs are what the agent said with the change; null without
	// Audit.Content, and where it did not say.
	RawInput any               `json:"rawInput"`
	Diffs    []permission.Diff `json:"diffs"`
}

// AuditEnd is told when the run has been closed, or has failed to start.
type AuditEnd struct {
	// Stop is how the run ended, and StopReason the agent's own word; null where there
	// was none.
	Stop       stopreason.Outcome `json:"stop"`
	StopReason *string            `json:"stopReason"`
	// Error is the result's without its message and data, which hold words of the agent's;
	// null where there is none.
	Error *AuditError `json:"error"`
	// Exit is how the agent's process ended; null where there was none.
	Exit *client.Exit `json:"exit"`
	// Model and Mode are those at the end, null where they are not known; Usage, Counts and
	// Timing are the result's.
	Model  *string `json:"model"`
	Mode   *string `json:"mode"`
	Usage  *Usage  `json:"usage"`
	Counts Counts  `json:"counts"`
	// Totals say how much there was to tell.
	Totals AuditTotals `json:"totals"`
	Timing Timing      `json:"timing"`
}

// AuditError is an Error without words of the agent's.
type AuditError struct {
	Kind      client.ErrorKind `json:"kind"`
	Step      client.Step      `json:"step"`
	Code      *int             `json:"code"`
	Retryable bool             `json:"retryable"`
}

// AuditTotals are how many of each the result has.
type AuditTotals struct {
	// ToolCalls is how many the agent announced, and Unasked those of them without a
	// question.
	ToolCalls int `json:"toolCalls"`
	Unasked   int `json:"unasked"`
	// Allowed, Denied and Cancelled are what the permissions came to, those for what we do
	// for the agent among them.
	Allowed   int `json:"allowed"`
	Denied    int `json:"denied"`
	Cancelled int `json:"cancelled"`
	// Files and Commands are what was done through us, or was to be.
	Files    int `json:"files"`
	Commands int `json:"commands"`
	// Lost is how many lines of this run are known not to be in the audit.
	Lost int `json:"lost"`
}

func auditEnd(res *Result) *AuditEnd {
	end := &AuditEnd{
		Stop: res.Stop, StopReason: res.StopReason, Exit: res.Exit, Model: res.Model, Mode: res.Mode,
		Usage: res.Usage, Counts: res.Counts, Timing: res.Timing,
		Totals: AuditTotals{ToolCalls: len(res.ToolCalls), Files: len(res.Files), Commands: len(res.Commands)},
	}
	if e := res.Error; e != nil {
		end.Error = &AuditError{Kind: e.Kind, Step: e.Step, Code: e.Code, Retryable: e.Retryable}
	}
	for _, call := range res.ToolCalls {
		if call.Permitted == nil {
			end.Totals.Unasked++
		}
	}
	for _, p := range res.Permissions {
		switch p.Decision {
		case permission.Allowed:
			end.Totals.Allowed++
		case permission.Denied:
			end.Totals.Denied++
		default:
			end.Totals.Cancelled++
		}
	}
	return end
}
