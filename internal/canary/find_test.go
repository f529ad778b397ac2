package canary_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/errand-acp/errand/internal/canary"
)

const secret = "s3cr\"t-of-Some-length"

func Example() {
	fmt.Println(len(canary.Find("hunter2hunter2", map[string]string{"a": "it is hunter2hunter2"})))
	fmt.Println(len(canary.Find("hunter2hunter2", []string{"it is [redacted]"})))
	// Output:
	// 1
	// 0
}

type hidden struct{ inner any }

// Wherever a secret or a part of it is, it is found.
func TestFind(t *testing.T) {
	doc, err := json.Marshal(map[string]string{"x": secret})
	if err != nil {
		t.Fatal(err)
	}
	text := "x " + secret
	for name, v := range map[string]any{
		"text":               text,
		"pointer":            &text,
		"unexported":         hidden{&hidden{text}},
		"list":               []any{1, []string{"", text}},
		"map's value":        map[string]any{"a": text},
		"map's key":          map[string]int{text: 1},
		"bytes":              []byte(text),
		"JSON":               json.RawMessage(doc),
		"the beginning":      secret[:8] + "…",
		"the end":            "…" + secret[len(secret)-8:],
		"the middle":         secret[5:13],
		"error":              errors.New(text),
		"cause":              fmt.Errorf("x: %w", errors.New(text)),
		"one of several":     errors.Join(errors.New("x"), errors.New(text)),
		"behind an odd text": odd{cause: errors.New(text)},
	} {
		if canary.Find(secret, v) == nil {
			t.Errorf("%s: not found", name)
		}
	}
	for name, v := range map[string]any{
		"nothing":       nil,
		"nil error":     error(nil),
		"nil pointer":   (*odd)(nil),
		"other text":    "x [redacted]",
		"a short piece": secret[:7],
		"another":       errors.New("x"),
	} {
		if found := canary.Find(secret, v); found != nil {
			t.Errorf("%s: %q", name, found)
		}
	}
}

type odd struct{ cause error }

func (e odd) Error() string { return "odd" }
func (e odd) Unwrap() error { return e.cause }
