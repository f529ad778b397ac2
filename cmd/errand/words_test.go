package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitWords(t *testing.T) {
	for text, want := range map[string][]string{
		`a`:                           {"a"},
		" a\tb \n c ":                 {"a", "b", "c"},
		`a 'b c' "d e"`:               {"a", "b c", "d e"},
		`a 'say "hi"' "it's"`:         {"a", `say "hi"`, "it's"},
		`a --x='b c'"d"e`:             {"a", "--x=b cde"},
		`a '' ""`:                     {"a", "", ""},
		`C:\Program\x.exe \n $HOME *`: {`C:\Program\x.exe`, `\n`, "$HOME", "*"},
		`sh -c 'exit 1; # x'`:         {"sh", "-c", "exit 1; # x"},
		`"/opt/my tools/x" ü`:         {"/opt/my tools/x", "ü"},
	} {
		got, err := splitWords(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", " \t", `''`, `"" a`, `a 'b`, `a "b'`, "a\x00b"} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}
