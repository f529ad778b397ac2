package permission

import (
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// place is what paths are relative to.
type place struct {
	*work // for what is looked at of the call

	dir, realDir   string
	home, realHome string
	user, realUser string   // home, where ours is another one
	homes          []string // all of these, at least one
	moved          bool     // dir is not what it was when the session began
	resolve        func(string) (string, error)
	local          func(string) (string, bool)
	lookPath       func(string) (string, error)

	mu    sync.Mutex            // guards the maps; copies of the facts share it
	known map[string]resolved   // by the path that was asked for
	read  map[[2]string]reading // by word and directory
	found map[[2]string]Command // what lookedUp has found, by word and directory
	bad   map[[2]string]bool    // whether a path is sensitive, by what it is and leads to
}

type resolved struct {
	path string
	err  error
}

// reading is what a word of a command may name.
type reading struct{ paths, doubtful []Path }

func newPlace(r Request) *place {
	p := &place{work: newWork(), dir: r.Dir, home: r.Home, user: r.UserHome, resolve: r.Resolve, local: r.Local, lookPath: r.LookPath, known: map[string]resolved{}, read: map[[2]string]reading{}, found: map[[2]string]Command{}, bad: map[[2]string]bool{}}
	p.realDir, p.realHome, p.realUser = p.real(p.dir), p.real(p.home), p.real(p.user)
	if r.RealDir != "" && r.RealDir != p.realDir {
		p.realDir, p.moved = r.RealDir, true
	}
	p.homes = []string{p.home}
	for _, home := range []string{p.realHome, p.user, p.realUser} {
		if home != "" && !slices.Contains(p.homes, home) {
			p.homes = append(p.homes, home)
		}
	}
	return p
}

func (p *place) real(path string) string {
	if path == "" {
		return ""
	}
	if real, err := p.follow(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// follow resolves each path once, so that all that is said of a call is said of the
// same files.
func (p *place) follow(path string) (string, error) {
	if p.resolve == nil {
		return filepath.Clean(path), nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.known[path]
	if !ok {
		// Each element may be asked for, with all that is before it.
		if !p.spend(1024 + len(path)*strings.Count(path, string(filepath.Separator))) {
			return "", errTooMuch
		}
		r.path, r.err = p.resolve(path)
		p.known[path] = r
	}
	return r.path, r.err
}

var errTooMuch = errors.New("too much to be looked at")

var (
	drivePath   = regexp.MustCompile(`^[A-Za-z]:[\\/]`)
	shellPrefix = regexp.MustCompile(`^(\$[A-Z{(]|%[A-Za-z]+%)`)
)

// paths returns what told may mean: usually one path, several where it depends on who
// reads it.
func (p *place) paths(told, base, key string) []Path {
	if path, ok := fileURI(told); ok {
		out := p.paths(path, base, key)
		for i := range out {
			out[i].Told = told
		}
		if !p.plain(told, base) {
			out = append(out, p.ours(told, base, key)...) // for those who know no URIs
		}
		return out
	}
	if p.local != nil && rooted(told) {
		ours, ok := p.local(told)
		if !ok {
			return []Path{{Told: told, Key: key, Odd: "a path that does not exist on this side"}}
		}
		out := p.ours(ours, base, key)
		for i := range out {
			out[i].Told = told
		}
		return out
	}
	return p.ours(told, base, key)
}

// ours is paths for a path of this side.
func (p *place) ours(told, base, key string) []Path {
	var odd string
	switch {
	case strings.ContainsRune(told, 0):
		odd = oddNUL
	case len(told) > maxPath:
		odd = "longer than any path"
	case !utf8.ValidString(told) || strings.ContainsFunc(told, invisible):
		odd = "invisible characters"
	case strings.ContainsFunc(told, decomposed):
		odd = "decomposed characters"
	case runtime.GOOS != "windows" && drivePath.MatchString(told):
		odd = "a path of another system"
	case shellPrefix.MatchString(told):
		odd = "a variable of a shell"
	case strings.HasPrefix(told, "~") && (p.home == "" || len(told) > 1 && !isSlash(told[1])):
		odd = "a home directory that is not known"
	}
	readings, ok := p.alternatives(told)
	if !ok {
		readings, odd = []string{told}, "more braces than are looked at"
	} else if len(readings) > 1 || readings[0] != told {
		readings = append(readings, told)
	}
	if strings.HasPrefix(told, "~") && odd == "" {
		readings = append(readings, filepath.Join(p.home, "/")+string(filepath.Separator)+told[1:])
	}
	if filepath.Separator == '/' && strings.ContainsRune(told, '\\') {
		for _, r := range slices.Clone(readings) {
			readings = append(readings, strings.ReplaceAll(r, `\`, "/"))
		}
	}
	var out []Path
	for _, r := range readings {
		out = append(out, p.one(told, r, base, key, odd))
	}
	return out
}

// rooted reports whether a path is absolute in any world.
func rooted(path string) bool {
	return path != "" && isSlash(path[0]) || drivePath.MatchString(path)
}

func (p *place) one(told, reading, base, key, odd string) Path {
	path := Path{Told: told, Key: key, Odd: odd}
	if strings.ContainsRune(reading, 0) || len(reading) > maxPath {
		return path // for the kernel it ends somewhere else, or is none
	}
	if !filepath.IsAbs(reading) {
		if base == "" {
			path.Odd = "relative to a directory that is not known"
			return path
		}
		// Not joined and cleaned: "link/.." is not "." where link leads elsewhere.
		reading = base + string(filepath.Separator) + reading
	}
	path.Abs = filepath.Clean(reading)
	real, err := p.follow(reading)
	if err != nil {
		path.Odd = "cannot be resolved"
		return path
	}
	path.Resolved = filepath.Clean(real)
	return path
}

// maxPath is the longest path that is looked at, as Linux has it.
const maxPath = 4096

const oddNUL = "a NUL character"

// inside reports whether the path is the session's directory or in it.
func (p *place) inside(path Path) bool {
	return within(path.Abs, p.dir) && within(path.Resolved, p.realDir)
}

func within(path, dir string) bool {
	if path == "" || dir == "" {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// fileURI returns the path that a file URI names.
func fileURI(s string) (string, bool) {
	if !isFile(s) {
		return "", false
	}
	rest := s[5:]
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		// What stands before the next slash is a host; only this one's files are meant,
		// and whoever reads it otherwise would read //host/path.
		host, path, _ := strings.Cut(after, "/")
		rest = "/" + path
		if host != "" && !strings.EqualFold(host, "localhost") {
			rest = "//" + host + rest
		}
	}
	rest, _, _ = strings.Cut(rest, "#")
	path, err := url.PathUnescape(rest)
	if err != nil {
		return rest + "\x00", true // nobody can say what is meant
	}
	if runtime.GOOS == "windows" && drivePath.MatchString(strings.TrimPrefix(path, "/")) {
		path = strings.TrimPrefix(path, "/")
	}
	return path, true
}

func isSlash(b byte) bool { return b == '/' || b == '\\' }

// invisible characters make a path look like another one, and some file systems drop
// them.
func invisible(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// decomposed characters are those that some file systems compose, so that two
// spellings are one file.
func decomposed(r rune) bool {
	return r >= 0x300 && r <= 0x36f || r >= 0x1100 && r <= 0x11ff || r == 0x3099 || r == 0x309a
}
