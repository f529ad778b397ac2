package envscrub

import "strings"

// A variable is one well-formed entry of an environment.
type variable struct {
	name, value string
	// entry is the entry as it came.
	entry string
}

// parse splits an entry. On Windows a name may begin with "=": cmd.exe keeps the
// current directory of each drive in such variables ("=C:=C:\dir").
func parse(entry string, windows bool) (variable, bool) {
	first := 0
	if windows && strings.HasPrefix(entry, "=") {
		first = 1
	}
	n := strings.IndexByte(entry[first:], '=')
	if n <= 0 || strings.IndexByte(entry, 0) >= 0 {
		return variable{}, false
	}
	return variable{entry[:first+n], entry[first+n+1:], entry}, true
}

// nameKey is what the spellings of one name have in common.
func nameKey(name string, windows bool) string {
	if windows {
		return strings.ToUpper(name)
	}
	return name
}

// effective returns the variables of environ as a process would see them: of several
// with one name the last, at its place, as os/exec has it. It counts what is malformed.
func effective(environ []string, windows bool) (vars []variable, malformed int) {
	last := make(map[string]int, len(environ))
	all := make([]variable, 0, len(environ))
	for _, entry := range environ {
		v, ok := parse(entry, windows)
		if !ok {
			malformed++
			continue
		}
		last[nameKey(v.name, windows)] = len(all)
		all = append(all, v)
	}
	for i, v := range all {
		if last[nameKey(v.name, windows)] == i {
			vars = append(vars, v)
		}
	}
	return vars, malformed
}
