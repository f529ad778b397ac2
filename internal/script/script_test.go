package script

import "testing"

func TestDemoParses(t *testing.T) {
	if s := Demo(); !s.isAgent() {
		t.Error("the demo script answers nothing")
	}
}
