package main

import (
	"errors"
	"strings"
)

// splitWords reads a command as the flags take it: words with blanks between them, and
// quotes of either sort around what has blanks in it. It is not what a shell reads:
// nothing is expanded, and a backslash is a character like any other. A command that
// needs a shell names one: sh -c '…'.
func splitWords(text string) ([]string, error) {
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("there is a NUL byte in it")
	}
	var words []string
	var word strings.Builder
	begun := false // a word is, if only by a quote
	for rest := text; rest != ""; {
		r := rest[0]
		rest = rest[1:]
		switch r {
		case ' ', '\t', '\n', '\r':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		case '\'', '"':
			quoted, after, closed := strings.Cut(rest, string(r))
			if !closed {
				return nil, errors.New("a quote is not closed")
			}
			word.WriteString(quoted)
			rest, begun = after, true
		default:
			word.WriteByte(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("there is no program in it")
	}
	return words, nil
}
