package permission

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// DefaultTimeout is how long Ask waits where it is not told.
const DefaultTimeout = 5 * time.Minute

// Question is what Ask puts to its callback.
type Question struct {
	// ID is this question's alone; an answer has to name it.
	ID string `json:"id"`
	// Request is the agent's request, and Facts what it is about.
	Request Request `json:"request"`
	Facts   Facts   `json:"facts"`
	// Expires is when an answer no longer counts.
	Expires time.Time `json:"expires"`
	// Standing is set where an allow_always option counts as an answer.
	Standing bool `json:"standing"`
}

// Answer is what the callback makes of a Question.
type Answer struct {
	// QuestionID is the ID of the question that is answered.
	QuestionID string `json:"questionId"`
	// OptionID is the option to select; empty means none, which agents take for an
	// abort of the whole turn.
	OptionID string `json:"optionId"`
	// Partial is set where whoever answered has not seen all of the call. The answer is
	// good for the call itself; nothing more is granted with it, and what the agent wants
	// us to do for it is a question of its own.
	Partial bool `json:"partial"`
}

// Ask is a policy that asks: a person, or a program. An answer to another question,
// after the deadline, with an option that was not offered, or with a standing option
// where none is given, counts for nothing: the request is rejected.
type Ask struct {
	// Func answers questions. It is called from several goroutines, on a goroutine of
	// its own each time; ctx ends at the deadline, when the turn is cancelled and when
	// the agent withdraws the request. A nil Func, an error and a panic reject; of an error
	// that is context.DeadlineExceeded the record says that nobody answered in time.
	Func func(ctx context.Context, q Question) (Answer, error)
	// Timeout is how long an answer may take; zero, or less, means DefaultTimeout.
	Timeout time.Duration
	// Always lets an allow_always option be the answer, except for a call with risks
	// (see Facts) and where Rules that ask say otherwise.
	Always bool
}

// Decide implements Policy. It returns at the deadline whatever Func does.
func (a Ask) Decide(ctx context.Context, req Request) Decision {
	options := usable(req.Options)
	if a.Func == nil {
		return reject(options, "ask: nobody to ask")
	}
	timeout := a.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req = req.keepFacts()
	q := Question{ID: rand.Text(), Request: req, Facts: req.Facts()}
	q.Expires, _ = ctx.Deadline()
	q.Standing = a.Always && !req.once && len(q.Facts.Risks) == 0

	answers, late := make(chan Answer, 1), false // late is set before answers is closed
	// The callback owns this goroutine, which ends when it returns. It has one because
	// it may not heed ctx, and the agent must not hang on it; closed without an answer
	// means that it failed, panicked, or ended its goroutine.
	go func() {
		defer func() {
			_ = recover() // what it panics with may hold anything
			close(answers)
		}()
		answer, err := a.Func(ctx, q)
		if late = errors.Is(err, context.DeadlineExceeded); err == nil {
			answers <- answer
		}
	}()
	select {
	case answer, ok := <-answers:
		if !ok && late { // by a clock of the callback's
			return reject(options, "ask: no answer in time")
		}
		if !ok {
			return reject(options, "ask: failed")
		}
		return q.decide(ctx, answer)
	case <-ctx.Done():
		return reject(options, "ask: no answer in time")
	}
}

// decide is what an answer comes to.
func (q Question) decide(ctx context.Context, answer Answer) Decision {
	options := usable(q.Request.Options)
	_, offered := kindOf(options, answer.OptionID)
	switch {
	case ctx.Err() != nil:
		return reject(options, "ask: no answer in time")
	case answer.QuestionID != q.ID:
		return reject(options, "ask: an answer to another question")
	case answer.OptionID == "":
		return Decision{Rule: "ask: cancelled"}
	case !offered:
		return reject(options, "ask: option not offered")
	case (!q.Standing || answer.Partial) && standingOption(options, answer.OptionID):
		return reject(options, "ask: no standing grant")
	}
	return Decision{OptionID: answer.OptionID, Rule: "ask", Partial: answer.Partial}
}
