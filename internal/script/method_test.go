package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "axc", 1}, {"abc", "ac", 1},
		{"ac", "abc", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// The list has every method that the SDK has.
func TestMethodsAreTheSDKs(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/coder/acp-go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	constants, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "constants_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`Method\w+ += "(.+)"`).FindAllSubmatch(constants, -1)
	for _, m := range found {
		if name := string(m[1]); !slices.Contains(acpMethods, name) {
			t.Errorf("%s is not in the list", name)
		}
	}
	if len(found) < len(acpMethods)-1 { // $/cancel_request is no constant
		t.Errorf("the SDK has %d methods, the list %d", len(found), len(acpMethods))
	}
}
