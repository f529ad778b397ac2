package permission

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxName  = 255 // the longest name of a file
	maxFlags = 64  // more than anybody bundles
)

var urlStart = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)

// argument returns the paths that an argument of a command may name: all of it, the value
// of a flag, a part of host:path or @file. Most are none; it is for those who must not miss
// one.
func (p *place) argument(arg, base string) []Path { return slices.Concat(p.readings(arg, base)) }

// readings takes every word for a path, letter by letter, with dashes too. But a flag, a URL,
// a text is one only where it leads elsewhere than it says, by a link or a "..". What a flag
// may name besides, and hardly does, is doubtful: -n is a file that is called so, -rn is -r
// with the file n. No rule need cover that, but one may refuse it.
func (p *place) readings(arg, base string) (paths, doubtful []Path) {
	p.mu.Lock()
	r, ok := p.read[[2]string{arg, base}]
	p.mu.Unlock()
	if !ok {
		r.paths, r.doubtful = p.readingsOf(arg, base)
		p.mu.Lock()
		p.read[[2]string{arg, base}] = r
		p.mu.Unlock()
	}
	return r.paths, r.doubtful
}

func (p *place) readingsOf(arg, base string) (paths, doubtful []Path) {
	if !p.spend(256 + 8*len(arg)) {
		return nil, nil
	}
	seen := map[string]bool{"": true}
	literal := func(piece string, isFlag bool) {
		switch {
		case !p.spend(64 + len(piece)), seen[piece]:
		case !p.plain(piece, base):
			paths = append(paths, p.ours(piece, base, "command")...)
		case isFlag && !isText(piece):
			doubtful = append(doubtful, p.one(piece, piece, base, "command", ""))
		}
		seen[piece] = true
	}
	add := func(piece string) {
		switch {
		case !p.spend(64 + len(piece)):
		case isText(piece):
			literal(piece, false)
		case !seen[piece]:
			paths = append(paths, p.paths(piece, base, "command")...)
		}
		seen[piece] = true
	}

	head, dashed := arg, strings.HasPrefix(arg, "-")
	switch start := urlStart.FindStringIndex(arg); {
	case isFile(arg):
		add(arg)
		return paths, nil
	case start != nil:
		literal(arg, false)
		head = arg[:start[0]]
		if url := arg[start[0]:]; isFile(url) {
			add(url)
		} else {
			literal(url, false)
		}
	case !dashed:
		add(arg)
		fallthrough
	default:
		for _, r := range separators {
			_, value, _ := strings.Cut(arg, string(r))
			add(value)
		}
	}
	for i, part := range strings.FieldsFunc(head, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if i > 0 || !dashed {
			add(part)
		}
	}
	if dashed {
		literal(arg, true)
		values, all := glued(arg)
		for _, value := range values {
			if strings.ContainsAny(value, `/.~\`) && !strings.Contains(value, "://") {
				add(value)
			} else {
				literal(value, true)
			}
		}
		if !all {
			paths = append(paths, Path{Told: arg, Key: "command", Odd: "more flags than anybody bundles"})
		}
	}
	return paths, doubtful
}

// separators are what stands between paths, or before one, in a word.
const separators = "=:,@;"

// glued returns the values that may stand behind a flag of one letter, or a bundle of them:
// -xfsecret/key is -x -f secret/key, and others; false where they are too many.
func glued(arg string) (values []string, all bool) {
	if strings.HasPrefix(arg, "--") {
		return nil, true
	}
	end := strings.IndexAny(arg, separators+"/.~\\ \t\r\n")
	if end < 0 {
		end = len(arg)
	}
	for i := 2; i <= end && i < len(arg); i++ {
		if i > maxFlags {
			return values, false
		}
		if !utf8.RuneStart(arg[i]) || strings.Contains(separators, arg[i:i+1]) {
			continue
		}
		values = append(values, arg[i:])
		if cut := strings.IndexAny(arg[i:], separators); cut > 0 {
			values = append(values, arg[i:i+cut])
		}
	}
	return values, true
}

// isText reports whether a word is no path, but for somebody who means it to look so.
func isText(word string) bool { return tooLong(word) || strings.ContainsAny(word, "\n\r") }

func tooLong(path string) bool {
	return len(path) > maxPath || len(path) > maxName && slices.ContainsFunc(split(path), func(e string) bool { return len(e) > maxName })
}

// plain reports whether a word, taken for a path letter by letter, leads to where it says
// below base: by no "..", and by no link.
func (p *place) plain(word, base string) bool {
	if strings.ContainsRune(word, 0) || filepath.IsAbs(word) || rooted(word) && !strings.Contains(word, "://") || slices.Contains(strings.FieldsFunc(word, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return false
	}
	if len(word) > maxPath {
		word = filepath.Clean(word) // as some programs do first
	}
	if base == "" || tooLong(word) {
		return true
	}
	path := base + string(filepath.Separator) + word
	real, err := p.follow(path)
	if err != nil {
		return false
	}
	root, err := p.follow(base)
	return err == nil && filepath.Join(root, word) == filepath.Clean(real)
}
