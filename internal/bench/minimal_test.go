package bench

import (
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/script"
)

func TestMinimal(t *testing.T) {
	path, args := script.Command(t, `on session/prompt; text "a"; text "b"; stop refusal`)
	answer, err := Minimal(path, args, t.TempDir(), `a "quoted" prompt`)
	if err != nil || !strings.Contains(string(answer), `"refusal"`) {
		t.Errorf("Minimal = %s, %v; want the answer to the prompt", answer, err)
	}
	path, args = script.Command(t, `on session/prompt; exit 3`)
	if answer, err := Minimal(path, args, t.TempDir(), "x"); err == nil {
		t.Errorf("Minimal = %s although the agent ended before it had answered", answer)
	}
}
