package permission

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A path may be a pattern for whoever reads it: a shell, a search. What it may stand for
// is judged with it, as far as it spells that out. One that stands for whole directories
// spells nothing.

// maxBraces is how many paths braces may make of one.
const maxBraces = 16

// alternatives returns the paths that a reader of braces makes of one, {a,b}c as ac and bc,
// and false where they are too many. Without braces it is the path itself.
func (w *work) alternatives(path string) ([]string, bool) {
	out := []string{path}
	for i := 0; i < len(out); {
		if !w.spend(len(out[i])) {
			return nil, false
		}
		open, parts, end := braces(out[i])
		if parts == nil {
			i++
			continue
		}
		made := make([]string, len(parts))
		for j, part := range parts {
			made[j] = out[i][:open] + part + out[i][end:]
		}
		if out = slices.Replace(out, i, i+1, made...); len(out) > maxBraces {
			return nil, false
		}
	}
	return out, true
}

// braces returns the first innermost {a,b} in s: where it begins and ends, and its parts;
// none where there is none.
func braces(s string) (open int, parts []string, end int) {
	end = strings.IndexByte(s, '}')
	if end < 0 {
		return 0, nil, 0
	}
	if open = strings.LastIndexByte(s[:end], '{'); open < 0 {
		return 0, nil, 0
	}
	inner := s[open+1 : end]
	if strings.Contains(inner, "..") && !strings.ContainsAny(inner, ",/") {
		inner = "*" // {a..z}
	}
	return open, strings.Split(inner, ","), end + 1
}

// patterned reports whether a path has wildcards for somebody.
func patterned(path string) bool { return strings.ContainsAny(path, "*?[") }

// token is a character of a pattern: itself, or what may stand in its place.
type token struct {
	literal  rune
	one, any bool // ?, *
	set      string
	not      bool
}

func tokens(pattern string) []token {
	var out []token
	open := false // a [ that nothing closes
	for r := []rune(pattern); len(r) > 0; r = r[1:] {
		switch {
		case r[0] == '*':
			if len(out) == 0 || !out[len(out)-1].any { // ** is no more than one
				out = append(out, token{any: true})
			}
		case r[0] == '?':
			out = append(out, token{one: true})
		case r[0] == '[' && !open:
			// A ] that comes first is one of the set.
			end := slices.Index(r[min(2, len(r)):], ']') + 2
			if end < 2 {
				open = true
				out = append(out, token{literal: '['})
				continue
			}
			set, not := strings.CutPrefix(strings.Replace(string(r[1:end]), "^", "!", 1), "!")
			out = append(out, token{set: set, not: not})
			r = r[end:]
		default:
			out = append(out, token{literal: r[0]})
		}
	}
	return out
}

// stands reports whether t, which is no *, may stand for c.
func (t token) stands(c rune) bool {
	if t.one || t.set == "" {
		return t.one || t.literal == c
	}
	in := false
	for s := []rune(t.set); len(s) > 0; s = s[1:] {
		if len(s) > 2 && s[1] == '-' {
			in = in || s[0] <= c && c <= s[2]
			s = s[2:]
		} else {
			in = in || s[0] == c
		}
	}
	return in != t.not
}

// spelledOut is how many characters of name the pattern spells out at the most; -1 where it
// does not mean it.
func spelledOut(pattern []token, name []rune) int {
	// most[j] is that of the pattern's rest and the name from j on.
	most := make([]int, len(name)+1)
	for j := range name {
		most[j] = -1
	}
	for i := len(pattern) - 1; i >= 0; i-- {
		t, next := pattern[i], make([]int, len(name)+1)
		for j := len(name); j >= 0; j-- {
			switch next[j] = -1; {
			case t.any:
				if next[j] = most[j]; j < len(name) {
					next[j] = max(next[j], next[j+1])
				}
			case j < len(name) && t.stands(name[j]) && most[j+1] >= 0:
				if next[j] = most[j+1]; !t.one && !t.not {
					next[j]++
				}
			}
		}
		most = next
	}
	return most[0]
}

// fits reports whether a pattern may mean the name, as far as can be seen at once: of two
// characters of it one at least is no *.
func fits(pattern []token, name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	return len(pattern) <= 2*len(name)+1 && (pattern[0].any || pattern[0].stands(first))
}

// spells reports whether a pattern means the name and spells out half of it. One that begins
// with * has to spell out more: *.json means all of a kind.
func spells(pattern []token, name string) bool {
	runes := []rune(name)
	if !fits(pattern, name) {
		return false
	}
	n := spelledOut(pattern, runes)
	if pattern[0].any {
		return 4*n >= 3*len(runes)
	}
	return 2*n >= len(runes)
}

// spelling is spells for texts, whatever their case.
func spelling(element, name string) bool {
	return patterned(element) && name != "" && spells(tokens(strings.ToLower(element)), fold(name))
}

// sensitiveNames are the elements by which Sensitive knows a path, and what stands for all
// names of an end.
var sensitiveNames = sync.OnceValue(func() (names []string) {
	names = slices.Concat(strings.Fields(".git .env .kube proc environ"), slices.Collect(maps.Keys(secretDirs)), slices.Collect(maps.Keys(secretFiles)))
	for dir, in := range secretIn {
		names = append(names, dir)
		for _, name := range in {
			names = append(names, strings.ReplaceAll(name, "*", ""))
		}
	}
	for _, dir := range homeDirs {
		names = append(names, split(dir)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// spellsSensitive reports whether an absolute path is a pattern that spells out a sensitive
// one, or too much of one to be looked at.
func (w *work) spellsSensitive(path, home string) bool {
	if !patterned(path) {
		return false
	}
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(elements) {
			return !w.spend(256+len(path)) || Sensitive("/"+strings.Join(elements, "/"), home)
		}
		if try(i + 1) {
			return true
		}
		element := elements[i]
		if !patterned(element) {
			return false
		}
		defer func() { elements[i] = element }()
		pattern := tokens(strings.ToLower(element))
		means := func(pattern []token, name string) bool {
			if !w.spend(4+len(pattern[0].set)) || !fits(pattern, name) {
				return false
			}
			size := 0
			for _, t := range pattern {
				size += 1 + len(t.set)
			}
			return w.spend(size*len(name)) && spells(pattern, name)
		}
		for _, name := range sensitiveNames() {
			if elements[i] = name; means(pattern, name) && try(i+1) {
				return true
			}
		}
		for _, end := range secretEnds {
			for n := max(0, len(pattern)-2*len(end)); n < len(pattern); n++ {
				if elements[i] = "x" + end; !pattern[n].any && means(pattern[n:], end) && try(i+1) {
					return true
				}
			}
		}
		return w.over()
	}
	return try(0)
}

// namesSensitive reports whether a text that is under no key for paths may name a sensitive
// file all the same.
func (w *work) namesSensitive(text string) bool {
	if len(text) > maxPath || strings.ContainsAny(text, "\n\r") {
		return false
	}
	if !w.spend(256) {
		return true
	}
	paths, ok := w.alternatives(text)
	return !ok || slices.ContainsFunc(paths, func(path string) bool {
		return Sensitive("/"+path, "") || w.spellsSensitive("/"+path, "")
	})
}
