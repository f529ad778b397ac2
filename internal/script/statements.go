package script

import (
	"slices"
)

// groups is the language. The parser goes by it and the manual is made of it.
var groups = []struct {
	title      string
	statements []*statement
}{
	{"What the agent reports", updateStatements},
	{"How a request is answered", answerStatements},
	{"What the agent asks of the client", requestStatements},
	{"When", waitStatements},
	{"In which order", controlStatements},
	{"The bytes themselves", wireStatements},
	{"Files, ports, the terminal", fileStatements},
	{"Processes and signals", processStatements},
}

// statements has those of all groups.
var statements []*statement

func init() {
	for _, g := range groups {
		for _, s := range g.statements {
			s.grammar = parseUsage(s.usage)
			statements = append(statements, s)
		}
	}
}

// findStatement returns the statement that a line calls, the one with the longest
// name, and the tokens after the name.
func findStatement(tokens []token) (*statement, []token) {
	var found *statement
	length := 0
	for _, s := range statements {
		words := s.grammar.words
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
