package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/errand-acp/errand/client"
)

// labels reads what --label says, up to a mistake. Of several with one key the last
// counts.
func (f *runFlags) labels() (map[string]string, error) {
	labels := map[string]string{}
	for i, text := range f.label {
		key, value, err := pair(text)
		if err == nil && !utf8.ValidString(text) {
			err = errors.New("it is not UTF-8")
		}
		if err != nil {
			return labels, fmt.Errorf("--label, number %d: %w; want KEY=VALUE", i+1, err)
		}
		labels[key] = value
	}
	return labels, nil
}

// paths reads what --map says. Ours may be relative to where errand was started, as
// --dir may.
func (f *runFlags) paths() ([]client.PathPair, error) {
	var pairs []client.PathPair
	for i, text := range f.pathMap {
		ours, theirs, err := pair(text)
		if err == nil {
			ours, err = filepath.Abs(ours)
		}
		p := client.PathPair{Ours: ours, Theirs: theirs}
		if err == nil {
			err = client.Check(client.Command{Path: "agent", Paths: []client.PathPair{p}}, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("--map, number %d: %s; want OURS=THEIRS", i+1, strings.TrimPrefix(reason(err), "Paths: "))
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// pair reads KEY=VALUE; a value may hold further equals signs.
func pair(text string) (key, value string, err error) {
	key, value, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return "", "", errors.New(`there is no "=" in it`)
	case strings.TrimSpace(key) == "":
		return "", "", errors.New(`there is nothing before the "="`)
	}
	return key, value, nil
}
