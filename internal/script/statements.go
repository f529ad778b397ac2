package script

import (
	"slices"
	"strings"
)

// statements is the language. The parser goes by it and the manual is made of it.
var statements = slices.Concat(
	updateStatements,
	answerStatements,
	requestStatements,
	wireStatements,
	waitStatements,
	controlStatements,
	fileStatements,
	processStatements,
)

func init() {
	for _, s := range statements {
		s.grammar = parseUsage(s.usage)
	}
}

// findStatement returns the statement that a line calls, the one with the longest
// name, and the tokens after the name.
func findStatement(tokens []token) (*statement, []token) {
	var found *statement
	length := 0
	for _, s := range statements {
		words := strings.Fields(s.grammar.name)
		if len(words) > length && len(words) <= len(tokens) && named(tokens, words) {
			found, length = s, len(words)
		}
	}
	return found, tokens[length:]
}

func named(tokens []token, words []string) bool {
	for i, word := range words {
		if tokens[i].kind != wordToken || tokens[i].key != "" || tokens[i].text != word {
			return false
		}
	}
	return true
}

func statementNames() []string {
	var names []string
	for _, s := range statements {
		names = append(names, s.grammar.name)
	}
	slices.Sort(names)
	return names
}
