package stopreason

// Outcome is how a run ended, in the words of the result's "stop" field. The set
// is a contract: it does not grow with the protocol's stop reasons.
type Outcome string

// The five outcomes.
const (
	// Completed: the agent finished its turn by itself.
	Completed Outcome = "completed"
	// MaxTokens: the model's token limit cut the answer short.
	MaxTokens Outcome = "max_tokens"
	// Refusal: the agent declined to go on.
	Refusal Outcome = "refusal"
	// Aborted: the turn was ended from outside: a cancel or a clock of ours, or the
	// agent said so.
	Aborted Outcome = "aborted"
	// Error: everything else, a stop reason that is not known included.
	Error Outcome = "error"
)

// The stop reasons of protocol version 1.
const (
	EndTurn         = "end_turn"
	MaxTokensReason = "max_tokens"
	MaxTurnRequests = "max_turn_requests"
	RefusalReason   = "refusal"
	Cancelled       = "cancelled"
)

var outcomes = map[string]Outcome{
	EndTurn:         Completed,
	MaxTokensReason: MaxTokens,
	RefusalReason:   Refusal,
	Cancelled:       Aborted,
	MaxTurnRequests: Error,
}

// Of returns the outcome for an agent's stop reason. Whatever is not one of the
// protocol's five, the empty string too, is an Error: a new reason must not pass
// for success.
func Of(reason string) Outcome {
	if o, ok := outcomes[reason]; ok {
		return o
	}
	return Error
}

// Success reports whether the run did what it was asked to: only Completed is. The
// zero Outcome is not.
func (o Outcome) Success() bool { return o == Completed }
