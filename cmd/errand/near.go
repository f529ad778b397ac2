package main

import (
	"slices"
	"strings"

	"github.com/errand-acp/errand/client"
)

// nearPreset returns the preset that somebody who wrote name most likely meant: the one
// with that name or program, or the only one that is a slip of the pen away.
func nearPreset(name string) (client.Preset, bool) {
	name = strings.ToLower(name)
	var near []client.Preset
	for _, p := range client.Presets() {
		if strings.HasPrefix(p.Name, "example-") {
			continue // their programs have the names of many others
		}
		if p.Name == name || p.Path == name || p.Name+"-acp" == name {
			return p, true
		}
		// A short name is as near to any other; a long one bears two slips.
		if len(name) >= 4 && distance(p.Name, name) <= 1+len(name)/6 {
			near = append(near, p)
		}
	}
	if len(near) != 1 {
		return client.Preset{}, false
	}
	return near[0], true
}

// distance is how many letters must be put in, taken out, replaced, or swapped with the
// next one to make b of a.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := range len(a) {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		rows = [3][]int{last, row, before}
	}
	return rows[1][len(b)]
}

// startsAs says how a preset is asked for, and what that starts.
func startsAs(p client.Preset) string {
	return "--agent " + p.Name + ", which starts " + strings.Join(slices.Concat([]string{p.Path}, p.Args), " ")
}
