package home_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/errand-acp/errand/internal/home"
)

func Example() {
	settings := filepath.Join(os.TempDir(), "settings-of-the-example.json")
	os.WriteFile(settings, []byte(`{"theme":"dark"}`), 0o600)
	defer os.Remove(settings)

	h, err := home.Make(context.Background(), "", []home.Seed{{From: settings, To: ".agent/settings.json"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := os.ReadFile(filepath.Join(h.Dir(), ".agent", "settings.json"))
	fmt.Println(string(text))
	fmt.Println(h.Remove())
	// Output:
	// {"theme":"dark"}
	// <nil>
}
