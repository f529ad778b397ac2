package permission

import (
	"strings"
	"testing"
)

// What can spell no name is not held against every one.
func TestWorkOnLongPatterns(t *testing.T) {
	for text, want := range map[string]bool{
		strings.Repeat("*e", 2000):                     false,
		strings.Repeat("?", 4000):                      false,
		strings.Repeat("?[", 2000):                     false,
		strings.Repeat("*", 2000) + ".env":             true,
		strings.Repeat("**/", 1000) + ".en?":           true,
		strings.Repeat("e", 2000) + "*.pe?":            true,
		"[" + strings.Repeat("e", 2000) + "n]*" + "[x": false,
	} {
		w := newWork()
		if got := w.namesSensitive(text); got != want {
			t.Errorf("%.20s… is sensitive: %v", text, got)
		}
		if spent := maxWork - w.left.Load(); spent > maxWork/2 {
			t.Errorf("%.20s… costs %d", text, spent)
		}
	}
}
