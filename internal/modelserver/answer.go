package modelserver

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Text is the answer to a prompt that asks for nothing else.
const Text = "PONG, says the model server."

// tokens is every count of tokens; nobody is to pay for them.
const tokens = 7

// The pace of a slow answer.
const (
	slowWords = 600
	slowPause = 50 * time.Millisecond
)

// question is what the answer depends on, of any API.
type question struct {
	model  string
	prompt string // of the last user message
	result string // of the tool that was called last, where that is the end of the conversation
	tools  []tool
}

// answer is what the model says, in any API: text, or a call of a tool, or an error.
type answer struct {
	model   string
	number  int    // of the answer, among the server's
	status  int    // an HTTP status
	message string // of an error
	words   []string
	pause   time.Duration // before each word
	call    *call
}

// whole is how long an answer takes that is not streamed.
func (a answer) whole() time.Duration { return a.pause * time.Duration(len(a.words)) }

// id is an id that no other answer of the server has: a session's calls are told apart
// by it, even where an agent leaves a cancelled turn out of the conversation.
func (a answer) id(kind string) string { return fmt.Sprintf("%s%d", kind, a.number) }

func (a answer) text() string { return strings.Join(a.words, "") }

// What a prompt can ask for.
var (
	asksWrite  = regexp.MustCompile("(?i)\\bwrite a file `?([^\\s`]+)`? with the text `?([^\\s`.]+)")
	asksRun    = regexp.MustCompile("(?i)\\brun the command `([^`]+)`")
	asksSlow   = regexp.MustCompile(`(?i)\bcount slowly\b`)
	asksFailed = regexp.MustCompile(`(?i)\bfail with (401|500)\b`)
)

// answerTo is the whole model.
func answerTo(q question) answer {
	a := answer{model: q.model, status: http.StatusOK}
	if q.result != "" {
		a.words = inWords("The tool said: " + clip(q.result, 200))
		return a
	}
	switch m := asksFailed.FindStringSubmatch(q.prompt); {
	case m == nil:
	case m[1] == "401":
		return answer{status: http.StatusUnauthorized, message: "the API key is not valid, as the prompt asked"}
	default:
		return answer{status: http.StatusInternalServerError, message: "the model failed, as the prompt asked"}
	}
	if m := asksWrite.FindStringSubmatch(q.prompt); m != nil {
		a.call = writeCall(q.tools, m[1], m[2])
	} else if m := asksRun.FindStringSubmatch(q.prompt); m != nil {
		a.call = runCall(q.tools, m[1])
	}
	switch {
	case a.call != nil:
	case asksSlow.MatchString(q.prompt):
		a.pause = slowPause
		for i := range slowWords {
			a.words = append(a.words, fmt.Sprintf("%d ", i+1))
		}
	default:
		a.words = inWords(Text)
	}
	return a
}

// inWords cuts text after each blank: a stream has an event a word.
func inWords(text string) []string { return strings.SplitAfter(text, " ") }

func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}

// pause waits, and says whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
