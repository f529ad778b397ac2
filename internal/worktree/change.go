package worktree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Change is a file that has changed. Paths are relative to the top of the tree, with
// slashes; one that is not UTF-8, or begins with a quotation mark, is as git quotes it.
type Change struct {
	Path    string
	OldPath string // of one that was renamed; else empty
	Status  Status
	// Added and Deleted are lines; 0 where Binary is set.
	Added, Deleted int
	Binary         bool
}

// Status says what became of a file.
type Status string

// What can become of a file.
const (
	Added       Status = "added"
	Modified    Status = "modified" // its content, its mode, or both
	Deleted     Status = "deleted"
	Renamed     Status = "renamed" // and maybe modified
	TypeChanged Status = "type_changed"
)

var statuses = map[string]Status{"A": Added, "M": Modified, "D": Deleted, "R": Renamed, "T": TypeChanged}

// parseChanges reads what diff-tree -z --raw --numstat writes: for each file
// ":mode mode object object status" and its paths, and after them all
// "added TAB deleted TAB path", with the paths apart where there are two.
func parseChanges(out []byte) ([]Change, error) {
	fields := list(out)
	next := func() (field string) {
		if len(fields) > 0 {
			field, fields = fields[0], fields[1:]
		}
		return field
	}
	changes := []Change{}
	byPath := map[string]int{}
	for len(fields) > 0 && strings.HasPrefix(fields[0], ":") {
		line := next()
		letter := line[strings.LastIndexByte(line, ' ')+1:]
		status := statuses[letter[:min(1, len(letter))]] // how alike they are may follow
		if status == "" {
			return nil, fmt.Errorf("git tells of a change that is not understood: %q", line)
		}
		c := Change{Status: status, Path: next()}
		if status == Renamed {
			c.OldPath, c.Path = c.Path, next()
		}
		byPath[c.Path] = len(changes)
		changes = append(changes, c)
	}
	for len(fields) > 0 {
		numbers := strings.SplitN(next(), "\t", 3)
		if len(numbers) != 3 {
			return nil, fmt.Errorf("git counts lines in a way that is not understood: %q", numbers)
		}
		path := numbers[2]
		if path == "" { // there are two: the old one and the new one
			next()
			path = next()
		}
		i, ok := byPath[path]
		if !ok {
			return nil, fmt.Errorf("git counts the lines of a file that has not changed: %q", path)
		}
		c := &changes[i]
		c.Binary = numbers[0] == "-"
		c.Added, _ = strconv.Atoi(numbers[0]) // 0 for "-"
		c.Deleted, _ = strconv.Atoi(numbers[1])
	}
	for i, c := range changes {
		changes[i].Path, changes[i].OldPath = shown(c.Path), shown(c.OldPath)
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, nil
}

// shown is a path as a text that can be told from any other.
func shown(path string) string {
	if utf8.ValidString(path) && !strings.HasPrefix(path, `"`) {
		return path
	}
	var b strings.Builder
	for _, c := range []byte(path) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}
