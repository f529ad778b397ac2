package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A script is a list of lines, each a list of tokens. A ";" outside of quotes ends a
// line too, and JSON may go on over several.

type tokenKind int

const (
	wordToken tokenKind = iota // bare
	textToken                  // in quotes
	jsonToken                  // {...} or [...]
)

type token struct {
	kind tokenKind
	key  string // of key=value, else ""
	text string // the value: unquoted, or the JSON as written
}

// sourceLine is one statement's tokens and where they stand.
type sourceLine struct {
	number     int
	begin, end int // offsets in the source, without the line's end
	tokens     []token
}

// Error is a mistake in a script.
type Error struct {
	File string
	Line int
	Text string // what is wrong and what was expected
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

type lexer struct {
	name string
	src  string
	pos  int
	line int
}

func (l *lexer) errorf(format string, args ...any) error {
	return &Error{l.name, l.line, fmt.Sprintf(format, args...)}
}

// lines splits the source into those lines that say something.
func (l *lexer) lines() ([]sourceLine, error) {
	var lines []sourceLine
	l.line = 1
	for l.pos < len(l.src) {
		line := sourceLine{number: l.line, begin: l.pos}
		for {
			l.skipBlank()
			if l.pos == len(l.src) || l.src[l.pos] == '\n' || l.src[l.pos] == ';' {
				break
			}
			tok, err := l.token()
			if err != nil {
				return nil, err
			}
			line.tokens = append(line.tokens, tok)
		}
		line.end = l.pos
		if len(line.tokens) > 0 {
			lines = append(lines, line)
		}
		if l.pos < len(l.src) {
			if l.src[l.pos] == '\n' {
				l.line++
			}
			l.pos++
		}
	}
	return lines, nil
}

// skipBlank goes to the next token, ";" or line end.
func (l *lexer) skipBlank() {
	for l.pos < len(l.src) && strings.IndexByte(" \t\r", l.src[l.pos]) >= 0 {
		l.pos++
	}
	if l.pos < len(l.src) && l.src[l.pos] == '#' {
		n := strings.IndexByte(l.src[l.pos:], '\n')
		if n < 0 {
			n = len(l.src) - l.pos
		}
		l.pos += n
	}
}

var keyPattern = regexp.MustCompile(`^[a-z][a-z-]*=`)

func (l *lexer) token() (token, error) {
	key := keyPattern.FindString(l.src[l.pos:])
	l.pos += len(key)
	tok, err := l.value()
	tok.key = strings.TrimSuffix(key, "=")
	if err == nil && l.pos < len(l.src) && strings.IndexByte(" \t\r\n;", l.src[l.pos]) < 0 {
		err = l.errorf("a blank must follow %q", l.src[max(0, l.pos-10):l.pos])
	}
	return tok, err
}

func (l *lexer) value() (token, error) {
	if l.pos == len(l.src) {
		return token{}, nil
	}
	switch l.src[l.pos] {
	case '"':
		quoted, err := strconv.QuotedPrefix(l.src[l.pos:])
		if err != nil {
			return token{}, l.errorf("this text does not end on its line, or has an escape that is none of Go's: %.40s", l.src[l.pos:])
		}
		l.pos += len(quoted)
		text, err := strconv.Unquote(quoted)
		return token{kind: textToken, text: text}, err
	case '\'':
		text, _, ok := strings.Cut(l.src[l.pos+1:], "'")
		if !ok || strings.Contains(text, "\n") {
			return token{}, l.errorf("this text does not end on its line: %.40s", l.src[l.pos:])
		}
		l.pos += len(text) + 2
		return token{kind: textToken, text: text}, nil
	case '{', '[':
		return l.json()
	}
	n := strings.IndexAny(l.src[l.pos:], " \t\r\n;")
	if n < 0 {
		n = len(l.src) - l.pos
	}
	word := l.src[l.pos : l.pos+n]
	l.pos += n
	return token{kind: wordToken, text: word}, nil
}

// json takes everything up to the matching bracket, over lines if need be. Whether
// it is JSON is seen later: a $name may stand where JSON has none.
func (l *lexer) json() (token, error) {
	begin, beginLine := l.pos, l.line
	depth, inString := 0, false
	for ; l.pos < len(l.src); l.pos++ {
		switch c := l.src[l.pos]; {
		case c == '\n':
			l.line++
		case inString && c == '\\':
			l.pos++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				l.pos++
				return token{kind: jsonToken, text: l.src[begin:l.pos]}, nil
			}
		}
	}
	l.pos, l.line = len(l.src), beginLine
	return token{}, l.errorf("this JSON has no end: %.40s", l.src[begin:])
}
