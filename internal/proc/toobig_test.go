//go:build unix

package proc

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// What is too big is said, and no value shown: exec itself says "argument list" where
// it is the environment.
func TestStartTellsWhatIsTooBig(t *testing.T) {
	huge := strings.Repeat("x", 8<<20) // more than any system takes in one piece
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		spec Spec
		want string
	}{
		"a variable":  {Spec{Env: []string{"SMALL=1", "HUGE=" + huge}}, "the largest is the variable HUGE with 8388613"},
		"no variable": {Spec{Env: []string{"SMALL=1", huge}}, "the largest is the variable number 2 with 8388608"},
		"nameless":    {Spec{Env: []string{"=" + huge}}, "the largest is the variable number 1 with 8388609"},
		"only a name": {Spec{Env: []string{huge + "="}}, "the largest is the variable number 1 with 8388609"},
		"an argument": {Spec{Args: []string{"a", huge}}, "the largest is argument 2 with 8388608"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Path, tt.spec.Dir = self, t.TempDir()
			_, err := Start(t.Context(), tt.spec)
			var bad *Error
			if !errors.As(err, &bad) || bad.What != "command" || !errors.Is(err, syscall.E2BIG) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %.300v", err)
			}
			if len(err.Error()) > 4096 {
				t.Error("the value is shown")
			}
		})
	}
}
