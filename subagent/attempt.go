package subagent

import "time"

// Attempt is one try of a provider that has others to fall back to, see Fallback.
type Attempt struct {
	Provider string `json:"provider"`
	// RunID is null where it did not come to a run.
	RunID     *string   `json:"runId"`
	StartedAt time.Time `json:"startedAt"`
	// Ms is how long it took until it was given up, and all that it had started had ended;
	// of the last one, until its prompt was on the way.
	Ms float64 `json:"ms"`
	// Error is why it was given up; null for the one that became the run, and for one that
	// was cancelled.
	Error *Error `json:"error"`
}
