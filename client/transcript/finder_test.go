package transcript

import (
	"strings"
	"testing"
)

// The words are those that a look at each of them finds, at every place.
func FuzzFinder(f *testing.F) {
	f.Add("a1 a1b2 a1-b2 (a1) xa1 a1", "a1 a1b2 a1-b2 b2 xa a1|a1 b")
	f.Add("a a a a, b a a", "a|a a|a a a|b|a a, b")
	f.Add("éa \xff\xc3 a\xc3\xa9 é", "é|a|\xff|\xc3|éa")
	f.Fuzz(func(t *testing.T, text, list string) {
		names, words := map[string]string{}, []string{}
		for _, word := range strings.Split(list, "|") {
			if word != "" && names[word] == "" {
				names[word] = "<" + word + ">"
				words = append(words, word)
			}
		}
		if len(text)*len(words) > 1<<16 {
			return
		}
		var want strings.Builder
		for i := 0; i < len(text); {
			longest := ""
			for _, word := range words {
				if strings.HasPrefix(text[i:], word) && wordEnds(text, i, i+len(word)) && len(word) > len(longest) {
					longest = word
				}
			}
			if longest == "" {
				want.WriteByte(text[i])
				i++
				continue
			}
			want.WriteString(names[longest])
			i += len(longest)
		}
		if got := newFinder(words).replace(text, names); got != want.String() {
			t.Errorf("%q with %q: %q, want %q", text, words, got, want.String())
		}
	})
}
