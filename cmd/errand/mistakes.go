package main

import (
	"fmt"
	"strings"
)

// maxMistakes is how many mistakes are told at once.
const maxMistakes = 20

// mistakes are those of one input, in its order: whoever mends the first is told of the
// others too. The zero value has none.
type mistakes struct {
	list []error
	more int // that are not in the list
}

// Error is all of them in a line.
func (m *mistakes) Error() string { return strings.Join(m.texts(), "; ") }

// Unwrap is for errors.Is.
func (m *mistakes) Unwrap() []error { return m.list }

func (m *mistakes) texts() []string {
	var texts []string
	for _, err := range m.list {
		texts = append(texts, err.Error())
	}
	if m.more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more mistakes like these", m.more))
	}
	return texts
}

func (m *mistakes) add(err error) {
	switch {
	case err == nil:
	case len(m.list) < maxMistakes:
		m.list = append(m.list, err)
	default:
		m.more++
	}
}

// err is nil where there are none.
func (m *mistakes) err() error {
	if len(m.list) == 0 {
		return nil
	}
	return m
}
