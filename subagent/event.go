package subagent

import (
	"encoding/json"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// EventType says what an Event tells.
type EventType string

// The types of events, in the order in which a run's can come: one start, any
// number of the middle three, one end.
const (
	EventStart      EventType = "start"
	EventUpdate     EventType = "update"
	EventPermission EventType = "permission"
	EventWarning    EventType = "warning"
	EventEnd        EventType = "end"
)

// Event is one thing that happened in a run. Its JSON, one object a line, is what
// `errand run --events` prints, and a contract.
type Event struct {
	Type  EventType `json:"type"`
	RunID string    `json:"runId"`
	Time  time.Time `json:"time"`

	// Start is set in a start event.
	Start *Start `json:"start,omitempty"`
	// SessionID and Update are set in an update event: the ACP update as it came.
	SessionID string          `json:"sessionId,omitempty"`
	Update    json.RawMessage `json:"update,omitempty"`
	// Permission is set in a permission event.
	Permission *permission.Record `json:"permission,omitempty"`
	// Warning is set in a warning event.
	Warning string `json:"warning,omitempty"`
	// Result is set in an end event: the outcome as it settled, without what is known
	// only after Close. (The line that `errand run --events` prints has the final
	// result, and is the only one where the run did not start.)
	Result *Result `json:"result,omitempty"`
}

// Start is what is known of a run when its session exists.
type Start struct {
	Provider        string                `json:"provider"`
	SessionID       *string               `json:"sessionId"`
	Dir             string                `json:"dir"`
	Labels          map[string]string     `json:"labels"`
	ProtocolVersion *int                  `json:"protocolVersion"`
	Client          client.Implementation `json:"client"`
	Agent           Agent                 `json:"agent"`
	Model           *string               `json:"model"`
	Mode            *string               `json:"mode"`
	WithheldEnv     []string              `json:"withheldEnv"`
}
