package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// list is mutations.txt.
type list struct {
	need      []string // the rows that must have a mutation
	mutations []mutation
}

// mutation is one change of the code.
type mutation struct {
	line    int      // in mutations.txt
	targets []string // what it must turn red: a row's subtests, or a test by its name
	what    string
	edits   []edit
	pkg     string // whose tests are run
}

// edit is the change of one file.
type edit struct {
	file     string // relative to the module's root, with slashes
	old, new string
}

func (m *mutation) String() string {
	return fmt.Sprintf("mutations.txt:%d: %s: %s", m.line, strings.Join(m.targets, " "), m.what)
}

var (
	rowPattern  = regexp.MustCompile(`^([A-Z])([0-9]+)$`)
	testPattern = regexp.MustCompile(`^Test[A-Z]\w*(/.+)?$`)
)

func isTarget(word string) bool { return rowPattern.MatchString(word) || testPattern.MatchString(word) }

// parseList reads the format that the package comment shows.
func parseList(text string) (*list, error) {
	l := &list{}
	var m *mutation // the one being read
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "need":
			l.need, err = parseRows(rest)
		case strings.Contains(line, ": ") && isTarget(strings.TrimSuffix(word, ":")):
			targets, what, _ := strings.Cut(line, ": ")
			l.mutations = append(l.mutations, mutation{line: i + 1, what: what})
			m = &l.mutations[len(l.mutations)-1]
			m.targets, err = parseTargets(targets)
		case m == nil:
			err = fmt.Errorf("%q comes before the first mutation", line)
		case word == "test":
			m.pkg = rest
		case word == "in":
			m.edits = append(m.edits, edit{file: rest})
		case len(m.edits) == 0:
			err = fmt.Errorf("%q comes before the file it is for", line)
		case word == "-":
			m.edits[len(m.edits)-1].old += rest + "\n"
		case word == "+":
			m.edits[len(m.edits)-1].new += rest + "\n"
		default:
			err = fmt.Errorf("%q is no line of a mutation", line)
		}
		if err != nil {
			return nil, fmt.Errorf("mutations.txt:%d: %w", i+1, err)
		}
	}
	for i := range l.mutations {
		m := &l.mutations[i]
		if m.pkg == "" || len(m.edits) == 0 {
			return nil, fmt.Errorf("%s: needs a file and a package", m)
		}
		for j := range m.edits {
			e := &m.edits[j]
			e.old, e.new = strings.TrimSuffix(e.old, "\n"), strings.TrimSuffix(e.new, "\n")
			if e.old == "" || e.old == e.new {
				return nil, fmt.Errorf("%s: changes nothing in %s", m, e.file)
			}
		}
	}
	return l, nil
}

// parseTargets reads rows, and names of tests among them.
func parseTargets(text string) (targets []string, err error) {
	for _, word := range strings.Fields(text) {
		rows := []string{word}
		if !testPattern.MatchString(word) {
			if rows, err = parseRows(word); err != nil {
				return nil, err
			}
		}
		targets = append(targets, rows...)
	}
	return targets, nil
}

// parseRows reads "A1-A3 B7" as A1, A2, A3, B7.
func parseRows(text string) ([]string, error) {
	var rows []string
	for _, word := range strings.Fields(text) {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		a, b := rowPattern.FindStringSubmatch(first), rowPattern.FindStringSubmatch(last)
		if a == nil || b == nil || a[1] != b[1] {
			return nil, fmt.Errorf("%q is no row and no range of rows", word)
		}
		from, _ := strconv.Atoi(a[2])
		to, _ := strconv.Atoi(b[2])
		for n := from; n <= to; n++ {
			rows = append(rows, a[1]+strconv.Itoa(n))
		}
	}
	return rows, nil
}

// missing returns the needed rows that no mutation is for.
func (l *list) missing() []string {
	var rows []string
	for _, row := range l.need {
		if !slices.ContainsFunc(l.mutations, func(m mutation) bool { return slices.Contains(m.targets, row) }) {
			rows = append(rows, row)
		}
	}
	return rows
}

// apply returns src, the text of the edit's file, with the edit made.
func (e *edit) apply(src string) (string, error) {
	if n := strings.Count(src, e.old); n != 1 {
		return "", fmt.Errorf("its text is in %s %d times, not once", e.file, n)
	}
	return strings.Replace(src, e.old, e.new, 1), nil
}
