package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// statement is a row of the language's table.
type statement struct {
	// usage is how the statement is written: first the lower-case words of its name,
	// then what it takes. It is what the parser goes by and what the manual prints.
	//
	//	CAPITALS     a value, of the kind that kinds has for the name
	//	a|b|N        one of these
	//	[...]        optional
	//	key=VALUE    by name, anywhere on the line
	//	[word]       a flag
	//	X...         one or more of X, at the end
	//	... end      a block of statements follows, up to "end"
	usage string
	// doc is one sentence for the manual.
	doc string
	run func(*task, *call) error

	// within names the block that the statement is only for ("" = anywhere).
	within string
	// clauses names the statements that divide the block.
	clauses []string
	// check looks at a call whose block is complete; nil if there is nothing to see.
	check func(*call) *scriptError

	grammar grammar // of usage
}

// grammar is a usage, taken apart.
type grammar struct {
	name       string
	words      []string // of the name
	positional []param
	named      []param
	flags      []string
	block      bool
}

type param struct {
	name     string   // in capitals, or the alternatives as written
	key      string   // of key=VALUE
	oneOf    []string // the alternatives: kinds or words
	optional bool
	repeats  bool
}

// kinds says what each name in capitals stands for. Whatever is not here is a text.
var kinds = map[string]struct {
	want  string
	check func(string) error
}{
	"N":        {"a number from 0", func(s string) error { return parsed(strconv.ParseUint(s, 10, 31)) }},
	"CODE":     {"a whole number", func(s string) error { return parsed(strconv.Atoi(s)) }},
	"SIZE":     {"a size: a number with B, KB, MB, KiB or MiB after it", func(s string) error { return parsed(parseSize(s)) }},
	"DURATION": {"a duration: 300ms, 2s", func(s string) error { return parsed(time.ParseDuration(s)) }},
	"SIGNAL":   {"a signal: TERM, KILL, STOP", func(s string) error { return parsed(signalByName(s)) }},
	"JSON":     {"JSON", func(s string) error { return nil }},
	"FIELDS":   {"a JSON object", wantObject},
	"UPDATE":   {"a JSON object", wantObject},
	"TEXT":     {"a text: a word, or anything in quotes", nil},
	// Any text does for these, so that an agent can say what ACP does not have.
	"KIND":   {"of a tool call: read, edit, delete, move, search, execute, think, fetch, switch_mode, other; of an option: allow_once, allow_always, reject_once, reject_always; or any other text", nil},
	"METHOD": {"a method's name, in quotes if it looks like one of ACP and is none", nil},
	"REASON": {"end_turn, max_tokens, max_turn_requests, refusal, cancelled, or any other text", nil},
	"STATUS": {"pending, in_progress, completed, failed, or any other text", nil},
}

func parsed[T any](_ T, err error) error { return err }

func wantObject(s string) error {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &object)
}

var jsonKinds = []string{"JSON", "FIELDS", "UPDATE"}

var sizePattern = regexp.MustCompile(`^(\d{1,12})(B|KB|MB|KiB|MiB)?$`)

// parseSize reads a number of bytes.
func parseSize(s string) (int, error) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no size", s)
	}
	n, err := strconv.Atoi(m[1])
	return n * map[string]int{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "KiB": 1 << 10, "MiB": 1 << 20}[m[2]], err
}

// parseUsage takes a usage apart. A mistake in one is ours, and a test finds it.
func parseUsage(usage string) grammar {
	var g grammar
	usage, g.block = strings.CutSuffix(usage, " ... end")
	fields := strings.Fields(usage)
	named := 0
	for named < len(fields) && regexp.MustCompile(`^[a-z-]+$`).MatchString(fields[named]) {
		named++
	}
	g.words = fields[:named]
	g.name = strings.Join(g.words, " ")
	for _, field := range fields[named:] {
		var p param
		if inner, ok := strings.CutPrefix(field, "["); ok {
			field, p.optional = strings.TrimSuffix(inner, "]"), true
		}
		field, p.repeats = strings.CutSuffix(field, "...")
		if key, rest, ok := strings.Cut(field, "="); ok {
			p.key, field = key, rest
		}
		p.name, p.oneOf = field, strings.Split(field, "|")
		switch {
		case p.key != "":
			g.named = append(g.named, p)
		case p.optional && len(p.oneOf) == 1 && strings.ToLower(field) == field:
			g.flags = append(g.flags, field)
		default:
			g.positional = append(g.positional, p)
		}
	}
	return g
}

// bind gives the tokens after a statement's name to its parameters.
func (c *call) bind(tokens []token) error {
	g := c.stmt.grammar
	c.args = map[string]value{}
	next := 0
	for _, tok := range tokens {
		var p param
		switch {
		case tok.key != "":
			i := slices.IndexFunc(g.named, func(p param) bool { return p.key == tok.key })
			if i < 0 {
				return fmt.Errorf("there is no %s=", tok.key)
			}
			p = g.named[i]
			if _, twice := c.args[p.key]; twice {
				return fmt.Errorf("%s= is given twice", tok.key)
			}
		case tok.kind == wordToken && slices.Contains(g.flags, tok.text):
			c.args[tok.text] = newValue(tok)
			continue
		case next < len(g.positional):
			p = g.positional[next]
			if !p.repeats {
				next++
			}
		default:
			return fmt.Errorf("%q is too much", tok.text)
		}
		v := newValue(tok)
		if err := p.accept(v, tok); err != nil {
			return err
		}
		v = v.compact()
		switch {
		case p.key != "":
			c.args[p.key] = v
		case p.repeats:
			c.rest = append(c.rest, v)
		default:
			c.args[p.name] = v
		}
	}
	for _, p := range g.positional {
		if _, ok := c.args[p.name]; !ok && !p.optional && !(p.repeats && len(c.rest) > 0) {
			return fmt.Errorf("%s is missing", p.name)
		}
	}
	for _, p := range g.named {
		if _, ok := c.args[p.key]; !ok && !p.optional {
			return fmt.Errorf("%s= is missing", p.key)
		}
	}
	return nil
}

// accept checks what can be known of a value before the script runs.
func (p param) accept(v value, tok token) error {
	var wants []string
	for _, alternative := range p.oneOf {
		if strings.ToLower(alternative) == alternative {
			if tok.kind == wordToken && tok.text == alternative {
				return nil
			}
			wants = append(wants, strconv.Quote(alternative))
			continue
		}
		kind, ok := kinds[alternative]
		if !ok {
			kind = kinds["TEXT"]
		}
		switch {
		case slices.Contains(jsonKinds, alternative):
			// Variables are tried as null, and as nothing inside of strings.
			src, err := v.json(func(string) json.RawMessage { return nil })
			if err == nil {
				err = notJSON(src)
			}
			if err == nil && (tok.kind == wordToken && !v.constant() || kind.check(string(src)) == nil) {
				return nil
			}
			if err != nil && tok.kind == jsonToken {
				return err
			}
		case tok.kind == jsonToken:
		case kind.check == nil || !v.constant() || kind.check(tok.text) == nil:
			return nil
		}
		wants = append(wants, kind.want)
	}
	return fmt.Errorf("%s must be %s, not %.40q", p.label(), strings.Join(wants, " or "), tok.text)
}

func (p param) label() string {
	switch {
	case p.key != "":
		return p.key + "="
	case len(p.oneOf) > 1:
		return "what follows"
	}
	return p.name
}
