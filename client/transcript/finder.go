package transcript

import (
	"slices"
	"strings"
)

// finder finds words in a text, in about the same time however many there are of them.
type finder struct {
	words []string // sorted
	// shorter has for each word the index of the longest other one that it begins with,
	// -1 for none.
	shorter []int
}

func newFinder(words []string) finder {
	f := finder{words, make([]int, len(words))}
	slices.Sort(words)
	for i, word := range words {
		// What a word begins with is sorted before it, and what is between them begins with
		// that too.
		at := i - 1
		for at >= 0 && !strings.HasPrefix(word, words[at]) {
			at = f.shorter[at]
		}
		f.shorter[i] = at
	}
	return f
}

// replace replaces the words in s by their names, in one pass: what took the place of one is
// not looked at again.
func (f finder) replace(s string, names map[string]string) string {
	var out strings.Builder
	rest := 0
	for i := 0; i < len(s); {
		word := f.at(s, i)
		if word == "" {
			i++
			continue
		}
		out.WriteString(s[rest:i])
		out.WriteString(names[word])
		i += len(word)
		rest = i
	}
	if rest == 0 {
		return s
	}
	out.WriteString(s[rest:])
	return out.String()
}

// at returns the longest word that stands at s[i:], whole; empty for none.
func (f finder) at(s string, i int) string {
	if wordBefore(s[:i]) {
		return ""
	}
	at, found := slices.BinarySearch(f.words, s[i:])
	if !found {
		at--
	}
	for ; at >= 0; at = f.shorter[at] {
		word := f.words[at]
		if strings.HasPrefix(s[i:], word) && !wordAfter(s[i+len(word):]) {
			return word
		}
	}
	return ""
}
