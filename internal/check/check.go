// Package check has the few assertions that the tests of several packages share. A
// failed one is an error of the test, which goes on.
package check

import (
	"strings"
	"testing"
)

// Equal checks a value.
func Equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %#v, want %#v", what, got, want)
	}
}

// Has checks that text mentions each of the words.
func Has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not mention %q", text, word)
		}
	}
}

// Lacks checks that text mentions none of the words.
func Lacks(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(text, word) {
			t.Errorf("%q mentions %q", text, word)
		}
	}
}
