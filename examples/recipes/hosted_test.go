package recipes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
)

func TestHosted(t *testing.T) {
	var audit strings.Builder
	var asked []string
	p, err := hosted(scripted(t, `on session/prompt
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/a.go", "content": "package a\n"}
  text "[$error.message]"
  request fs/write_text_file {"sessionId": "$session", "path": "$cwd/notes", "content": "x"}
  text "[$error.message]"
  request terminal/create {"sessionId": "$session", "command": "rm", "args": ["a.go"]}
  text "[$error.message]"`),
		[]byte(`{"default": "ask", "rules": [{"effect": "allow", "paths": ["./*.go"]}, {"effect": "deny", "commands": [["rm"]]}]}`),
		func(f permission.Facts) bool { asked = append(asked, f.Paths[0].Abs); return true }, &audit)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	res := delegate(t, p, dir)
	check.Equal(t, "output", res.Output, "[][][not permitted (deny: rule 2)]")
	check.Equal(t, "asked", strings.Join(asked, " "), filepath.Join(dir, "notes"))
	for name, want := range map[string]string{"a.go": "package a\n", "notes": "x"} {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		check.Equal(t, name, string(text), want)
	}
	check.Equal(t, "files", len(res.Files), 2)
	check.Equal(t, "commands", len(res.Commands), 1)
	check.Has(t, audit.String(), `"type":"file"`, `"type":"command"`, `"type":"end"`)
}
