package subagent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
)

// SchemaVersion is the version of the result's JSON. Fields may be added within a
// version; none is renamed or removed.
const SchemaVersion = 1

// Result is what came of a run. Its JSON is a contract: what does not apply is null
// or empty, never left out, and a reader ignores what it does not know. Output,
// Messages and the updates are the agent's own words, and ids have to match what it
// said: they stand as they came. In everything else an agent wrote, secrets of its
// environment are replaced.
type Result struct {
	SchemaVersion int `json:"schemaVersion"`
	// RunID is unique in the process that started the run; SessionID is the agent's,
	// null where none was made.
	RunID     string  `json:"runId"`
	Provider  string  `json:"provider"`
	SessionID *string `json:"sessionId"`
	// Dir is the directory of the process and the session, absolute and canonical.
	Dir       string            `json:"dir"`
	StartedAt time.Time         `json:"startedAt"`
	Labels    map[string]string `json:"labels"`
	// Meta is the _meta of the agent's answer to the prompt; null without one.
	Meta map[string]any `json:"meta"`

	// ProtocolVersion is what was agreed on; null where it did not come to that.
	ProtocolVersion *int                  `json:"protocolVersion"`
	Client          client.Implementation `json:"client"`
	Agent           Agent                 `json:"agent"`
	// Model and Mode are what the agent said it works with; null where it did not.
	Model *string `json:"model"`
	Mode  *string `json:"mode"`

	// Stop is the outcome: only completed is success.
	Stop stopreason.Outcome `json:"stop"`
	// StopReason is the agent's own word for it, as it came (JSON text where it was
	// not a string); null where it gave none.
	StopReason *string `json:"stopReason"`

	// Output is the final answer: the last message of the agent that is not empty.
	Output string `json:"output"`
	// Messages are all of them, in order.
	Messages []Message `json:"messages"`
	// Truncated is set where text may be missing: there was more than is kept (16 MiB
	// by default), or an update was larger than is taken.
	Truncated bool `json:"truncated"`
	// Empty is set where the agent said nothing at all.
	Empty bool `json:"empty"`
	// Structured is the answer as JSON where a schema was asked for.
	Structured json.RawMessage `json:"structured"`

	ToolCalls   []ToolCall          `json:"toolCalls"`
	Permissions []permission.Record `json:"permissions"`
	// Plan is the agent's last plan; null without one.
	Plan []PlanEntry `json:"plan"`
	// Usage is what the agent said it used, as far as it could be read; null where
	// it said nothing.
	Usage *Usage `json:"usage"`
	// Files and Commands list what the agent read, wrote and ran through us, or wanted to,
	// Patch what an isolated run changed; null where the run had no such service. What an
	// agent does by itself is in none of them.
	Files    []client.FileRecord    `json:"files"`
	Commands []client.CommandRecord `json:"commands"`
	Patch    *string                `json:"patch"`
	// Changes lists the files that Patch changes, and Worktree says what of; null where the
	// run was not in a work tree of its own. Patch and Changes are there after Close.
	Changes  []Change      `json:"changes"`
	Worktree *WorktreeInfo `json:"worktree"`

	// Error is why the run did not complete; null where there is nothing to say
	// beyond Stop.
	Error *Error `json:"error"`

	// Exit is how the process ended; null before Close and where there was none.
	Exit            *client.Exit `json:"exit"`
	StderrTail      string       `json:"stderrTail"`
	StderrTruncated bool         `json:"stderrTruncated"`
	Noise           Noise        `json:"noise"`
	Counts          Counts       `json:"counts"`
	// WithheldEnv names the variables that were held back from the process.
	WithheldEnv []string `json:"withheldEnv"`
	Warnings    []string `json:"warnings"`

	// Attempts are what was tried where there was something to fall back to, the last one
	// being this run. It is null otherwise, as is ContinuedFrom in a run of its own.
	Attempts      []Attempt `json:"attempts"`
	ContinuedFrom *string   `json:"continuedFrom"`
	// Prewarmed is set where the agent was ready before it was asked: a spare of a Pool.
	Prewarmed bool `json:"prewarmed"`

	Timing Timing `json:"timing"`
}

// Agent is the program that ran.
type Agent struct {
	// Name and Version are what the agent calls itself; null where it did not say.
	Name    *string `json:"name"`
	Version *string `json:"version"`
	// Command is the program and its arguments as configured, Path the file that ran,
	// both redacted. Empty and null where the provider starts no process.
	Command []string `json:"command"`
	Path    *string  `json:"path"`
}

// Message is one message of the agent. ID is null where it gave none.
type Message struct {
	ID   *string `json:"id"`
	Text string  `json:"text"`
}

// ToolCall is a tool call of the agent as it stood at the end. Kind and Title are
// null where the agent never said.
type ToolCall struct {
	ID    string  `json:"id"`
	Title *string `json:"title"`
	Kind  *string `json:"kind"`
	// Status is the agent's last word: pending, in_progress, completed or failed. A
	// call still open at the end is "cancelled" where we cancelled the turn and
	// "unknown" otherwise: a cancel is not a rollback, and the call may have done
	// something.
	Status string `json:"status"`
	// Permitted is what was answered when the agent asked: true where every question about
	// the call was allowed, null where it never asked, asked when the call had ended, or
	// made a call of another kind of it after it had been allowed.
	Permitted *bool `json:"permitted"`
}

// PlanEntry is one entry of a plan.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// Usage is what a turn used, in tokens. A field is null where the agent did not say
// or what it said is no number.
type Usage struct {
	InputTokens       *float64 `json:"inputTokens"`
	OutputTokens      *float64 `json:"outputTokens"`
	TotalTokens       *float64 `json:"totalTokens"`
	ThoughtTokens     *float64 `json:"thoughtTokens"`
	CachedReadTokens  *float64 `json:"cachedReadTokens"`
	CachedWriteTokens *float64 `json:"cachedWriteTokens"`
	// ContextUsed and ContextSize are the session's context window.
	ContextUsed *float64 `json:"contextUsed"`
	ContextSize *float64 `json:"contextSize"`
	// Cost is the session's so far.
	Cost *Cost `json:"cost"`
}

// Cost is an amount in a currency (ISO 4217).
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Noise is what the agent wrote to stdout that was no frame.
type Noise struct {
	Lines int      `json:"lines"`
	First []string `json:"first"`
}

// Counts are the session updates of a run.
type Counts struct {
	Updates int `json:"updates"` // of this session, those below included except foreign and dropped
	Unknown int `json:"unknown"` // of a kind we do not know, or of none
	Foreign int `json:"foreign"` // for another session
	Late    int `json:"late"`    // after the turn had ended
	Dropped int `json:"dropped"` // over the size limit
}

// Timing is how long the parts took, in milliseconds.
type Timing struct {
	StartMs  float64 `json:"startMs"`  // from Start until the session existed
	PromptMs float64 `json:"promptMs"` // from there until the turn ended
	CloseMs  float64 `json:"closeMs"`  // the shutdown; 0 before Close
	TotalMs  float64 `json:"totalMs"`  // all three
}

// Err returns nil if the run completed, and otherwise an error that says how it
// ended: Error if there is one, else one made from Stop.
func (r *Result) Err() error {
	if r.Error != nil {
		return r.Error
	}
	if r.Stop.Success() {
		return nil
	}
	return &StopError{Stop: r.Stop}
}

// StopError is the error of a run that ended otherwise than completed without
// anything having failed: it was cancelled, refused, or cut short.
type StopError struct {
	Stop stopreason.Outcome
}

func (e *StopError) Error() string { return "the run ended as " + string(e.Stop) }

// Is makes an aborted run answer errors.Is for context.Canceled.
func (e *StopError) Is(target error) bool {
	return target == context.Canceled && e.Stop == stopreason.Aborted
}
