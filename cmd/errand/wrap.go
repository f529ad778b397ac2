package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/errand-acp/errand/client"
)

// wrapped puts the words of a --wrap in front of an agent's command; dir is the run's.
// The agent's own words stay as they are: it is the wrap's program that looks them up,
// where it lives.
func wrapped(text, dir string, c client.Command) (client.Command, error) {
	words, err := splitWords(text)
	if err != nil {
		return c, fmt.Errorf("--wrap: %w", err)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "{dir}", dir)
	}
	c.Path, c.Args = words[0], slices.Concat(words[1:], []string{c.Path}, c.Args)
	return c, nil
}
