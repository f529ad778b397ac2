package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// glob matches one word or path element: * is any run of characters, ? any one.
func glob(pattern, s string) bool {
	if !wild(pattern) {
		return pattern == s
	}
	p, t := []rune(pattern), []rune(s)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return !slices.ContainsFunc(p[i:], func(r rune) bool { return r != '*' })
}

func wild(word string) bool { return strings.ContainsAny(word, "*?") }

// sequence matches elements one by one, with ** for any number of them. same compares
// a pattern's element with the i-th of n; any says whether ** may stand for the i-th, or
// flagGap, which only argvTouched puts into a pattern.
func sequence(pattern []string, n int, same, any func(element string, i int) bool) bool {
	// ends[i] is whether the pattern so far matches the first i elements.
	ends := make([]bool, n+1)
	ends[0] = true
	for _, element := range pattern {
		next := make([]bool, n+1)
		for i := range next {
			switch {
			case element == "**" || element == flagGap:
				next[i] = ends[i] || i > 0 && next[i-1] && any(element, i-1)
			case i > 0:
				next[i] = ends[i-1] && same(element, i-1)
			}
		}
		ends = next
	}
	return ends[n]
}

func always(string, int) bool { return true }

func split(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(path), func(r rune) bool { return r == '/' })
}

// anchored returns the directory a path pattern is relative to, as it is and with its
// links resolved, and the elements below it. known is false where the directory is not.
func (p *place) anchored(pattern string) (dir, real string, elements []string, known bool) {
	defer func() { elements = slices.DeleteFunc(elements, func(e string) bool { return e == "." }) }()
	switch {
	case ofHome(pattern):
		return p.home, p.realHome, split(pattern[1:]), p.home != ""
	case filepath.IsAbs(filepath.FromSlash(pattern)):
		root := filepath.VolumeName(filepath.FromSlash(pattern)) + string(filepath.Separator)
		return root, root, split(pattern[len(root)-1:]), true
	}
	return p.dir, p.realDir, split(pattern), p.dir != ""
}

func ofHome(pattern string) bool { return pattern == "~" || strings.HasPrefix(pattern, "~/") }

// covers reports whether the pattern surely means the path: as it is written, and as it
// is with its links resolved.
func (p *place) covers(pattern string, path Path) bool {
	dir, real, elements, known := p.anchored(pattern)
	return known && path.Odd == "" && below(path.Abs, dir, elements) && below(path.Resolved, real, elements)
}

func below(path, dir string, elements []string) bool {
	if !within(path, dir) {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return false
	}
	names := slices.DeleteFunc(split(rel), func(e string) bool { return e == "." })
	return sequence(elements, len(names), func(e string, i int) bool { return glob(e, names[i]) }, always)
}

// names reports whether a pattern ends in a name that is written out.
func names(pattern string) bool {
	elements := split(pattern)
	return len(elements) > 0 && !wild(elements[len(elements)-1])
}

// extent is how much of a directory a call is about that names it.
type extent int

const (
	itself   extent = iota
	contents        // what is in it, where a pattern spells out which directory it means
	whole           // whatever may be in it
)

// extent returns how much of the path the call is about. What a command runs in is no
// argument of it.
func (f *Facts) extent(path Path) extent {
	switch {
	case f.is(acp.ToolKindDelete), f.is(acp.ToolKindMove):
		return whole
	case f.is(acp.ToolKindSearch), f.is(acp.ToolKindExecute) && !f.runsIn(path):
		return contents
	}
	return itself
}

// runsIn reports whether the path only says where a command is run.
func (f *Facts) runsIn(path Path) bool {
	return keyNamed(path.Key, cwdKeys) || path.Key == "locations" && slices.ContainsFunc(f.Commands, func(c Command) bool { return c.Dir == path.Abs })
}

// touches reports whether the pattern may mean the path, or a directory it is in, or what is
// in it to that extent.
func (p *place) touches(w *work, pattern string, path Path, of extent) bool {
	size := len(path.Abs) + len(path.Resolved) + len(path.Told)
	if patterned(path.Told) {
		size *= 4
	}
	if !w.spend(256 + size*(2+strings.Count(pattern, "/"))) {
		return false
	}
	dir, real, elements, known := p.anchored(pattern)
	if known && p.touchesIn(dir, real, elements, path, of) {
		return true
	}
	// Whoever wrote the rule may have meant its own home.
	return ofHome(pattern) && p.user != "" && p.touchesIn(p.user, p.realUser, elements, path, of)
}

func (p *place) touchesIn(dir, real string, elements []string, path Path, of extent) bool {
	if mayMean(split(dir), elements, path, of) || mayMean(split(real), elements, path, of) {
		return true
	}
	// A link in what the pattern spells out leads to the same files.
	spelled := slices.IndexFunc(elements, wild)
	if spelled < 0 {
		spelled = len(elements)
	}
	to, err := p.follow(filepath.Join(dir, filepath.Join(elements[:spelled]...)))
	return err == nil && mayMean(split(to), elements[spelled:], path, of)
}

// mayMean compares as the most forgiving file system does.
func mayMean(root, elements []string, path Path, of extent) bool {
	for i, candidate := range []string{path.Abs, path.Resolved, path.Told} {
		names := strings.FieldsFunc(candidate, func(r rune) bool { return r == '/' || r == '\\' })
		if len(names) == 0 && candidate == "" {
			continue
		}
		if len(names) < len(root) {
			if of > itself && i < 2 && foldedPrefix(names, root) {
				return true
			}
			continue
		}
		if !foldedPrefix(root, names) {
			continue
		}
		names = names[len(root):]
		same := func(e string, i int) bool {
			return glob(fold(e), fold(names[i])) || !wild(e) && spelling(names[i], e)
		}
		if sequence(append(slices.Clone(elements), "**"), len(names), same, always) {
			return true
		}
		if of == itself {
			continue
		}
		for len(names) > 0 && strings.Trim(names[len(names)-1], "*") == "" {
			names = names[:len(names)-1] // dir/* is what is in dir
		}
		for n, e := range elements {
			if sequence(elements[:n], len(names), same, always) {
				return true
			}
			if e == "**" && of == contents {
				break
			}
		}
	}
	return false
}

func foldedPrefix(prefix, names []string) bool {
	if len(prefix) > len(names) {
		return false
	}
	for i := range prefix {
		if fold(prefix[i]) != fold(names[i]) {
			return false
		}
	}
	return true
}
