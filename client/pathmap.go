package client

import (
	"path/filepath"
	"slices"
	"strings"
)

// PathPair says that what is Ours here is Theirs where the agent lives: in a container,
// in WSL, behind ssh. Both are absolute prefixes, at whole elements of a path.
type PathPair struct {
	Ours, Theirs string
}

// pathMap translates paths between this side and an agent's. The zero value changes
// nothing.
type pathMap []PathPair

// newPathMap checks pairs and puts the longest prefixes first.
func newPathMap(pairs []PathPair) (pathMap, error) {
	m := make(pathMap, 0, len(pairs))
	for _, p := range pairs {
		switch {
		case !filepath.IsAbs(p.Ours):
			return nil, configError("Paths: %q is not absolute", p.Ours)
		case !absolute(p.Theirs):
			return nil, configError("Paths: %q is not absolute where the agent lives", p.Theirs)
		case strings.ContainsRune(p.Ours+p.Theirs, 0):
			return nil, configError("Paths: a NUL byte in %q", p.Ours+"="+p.Theirs)
		}
		p = PathPair{Ours: filepath.Clean(p.Ours), Theirs: trimEnd(p.Theirs)}
		// Where ours leads: what it is compared with has no links in it.
		if real, err := resolve(p.Ours); err == nil {
			p.Ours = real
		}
		for _, q := range m {
			if (q.Ours == p.Ours) != samePlace(q.Theirs, p.Theirs) {
				return nil, configError("Paths: %q and %q are one place on one side and two on the other", q.Ours+"="+q.Theirs, p.Ours+"="+p.Theirs)
			}
		}
		m = append(m, p)
	}
	return m, nil
}

// absolute reports whether a path is absolute on any system.
func absolute(path string) bool {
	drive := len(path) >= 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return drive || strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`)
}

// samePlace reports whether two prefixes of the agent's mean one place.
func samePlace(a, b string) bool {
	rest, ok := below(a, b)
	return ok && len(rest) == 0
}

func trimEnd(path string) string {
	if short := strings.TrimRight(path, `/\`); short != "" && !strings.HasSuffix(short, ":") {
		return short
	}
	return path
}

// theirs returns the agent's path for one of ours.
func (m pathMap) theirs(path string) (string, bool) {
	return m.translate(path, func(p PathPair) (from, to string) { return p.Ours, p.Theirs })
}

// ours returns our path for one of the agent's.
func (m pathMap) ours(path string) (string, bool) {
	return m.translate(path, func(p PathPair) (from, to string) { return p.Theirs, p.Ours })
}

func (m pathMap) translate(path string, pair func(PathPair) (from, to string)) (string, bool) {
	if len(m) == 0 {
		return path, true
	}
	pairs := slices.Clone(m)
	slices.SortStableFunc(pairs, func(a, b PathPair) int {
		x, _ := pair(a)
		y, _ := pair(b)
		return len(y) - len(x)
	})
	for _, p := range pairs {
		from, to := pair(p)
		if rest, ok := below(path, from); ok {
			return join(to, rest), true
		}
	}
	return "", false
}

// below returns the elements of path after the prefix.
func below(path, prefix string) (rest []string, ok bool) {
	windows := strings.Contains(prefix, `\`)
	if windows {
		// Its separators are of two kinds, and its names the same in any case.
		path = strings.ReplaceAll(path, "/", `\`)
		if len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
			return nil, false
		}
		path = path[len(prefix):]
	} else if path, ok = strings.CutPrefix(path, prefix); !ok {
		return nil, false
	}
	separator := separatorOf(prefix)
	if path != "" && !strings.HasPrefix(path, separator) && !strings.HasSuffix(prefix, separator) {
		return nil, false
	}
	rest = strings.FieldsFunc(path, func(r rune) bool { return string(r) == separator })
	// What goes up may leave the prefix, and nothing is known of what is there.
	return rest, !slices.Contains(rest, "..")
}

func separatorOf(prefix string) string {
	if strings.Contains(prefix, `\`) {
		return `\`
	}
	return "/"
}

func join(prefix string, rest []string) string {
	if len(rest) == 0 {
		return prefix
	}
	separator := separatorOf(prefix)
	return strings.TrimSuffix(prefix, separator) + separator + strings.Join(rest, separator)
}
