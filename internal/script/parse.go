package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a script. The name is what errors call it, a file's name as a rule. An
// error is an *[Error] with the line and what was expected there.
func Parse(name string, src []byte) (*Script, error) {
	lex := &lexer{name: name, src: string(src)}
	lines, err := lex.lines()
	if err != nil {
		return nil, err
	}
	p := &parser{name: name, src: string(src), lines: lines}
	s, err := p.script(nil)
	if err != nil {
		return nil, err
	}
	return s, nil
}

type parser struct {
	name  string
	src   string
	lines []sourceLine
	pos   int
	line  int // of the statement at hand, for errors

	// Of the script at hand; spawned scripts have their own.
	signals []string
	set     map[string]bool
	used    map[string]int // variable -> the line that uses it first
	section *section
	blocks  []*statement // the open ones, outermost first
}

func (p *parser) errorf(format string, args ...any) error {
	return &Error{p.name, p.line, fmt.Sprintf(format, args...)}
}

// peek returns the first word of the next line, "" at the end or if it has none.
func (p *parser) peek() string {
	if p.pos == len(p.lines) {
		return ""
	}
	p.line = p.lines[p.pos].number
	if tok := p.lines[p.pos].tokens[0]; tok.kind == wordToken && tok.key == "" {
		return tok.text
	}
	return ""
}

// script parses up to the end of the source, or to the "end" of spawn.
func (p *parser) script(spawn *call) (*Script, error) {
	outer := *p
	p.signals, p.set, p.used, p.blocks = nil, map[string]bool{}, map[string]int{}, nil
	p.section = &section{event: "start"}
	s := &Script{name: p.name}
	var err error
	if s.start, err = p.body("on", "end"); err != nil {
		return nil, err
	}
	for p.pos < len(p.lines) && p.peek() == "on" {
		sec, err := p.heading(p.lines[p.pos])
		if err != nil {
			return nil, err
		}
		if err := s.add(sec); err != nil {
			return nil, p.errorf("%v", err)
		}
		p.pos++
		p.section = sec
		if sec.body, err = p.body("on", "end"); err != nil {
			return nil, err
		}
		if sec.event == "start" {
			s.start = append(s.start, sec.body...)
		}
		if name := sec.signal(); name != "" {
			p.signals = append(p.signals, name)
		}
	}
	if p.pos < len(p.lines) && spawn == nil {
		p.peek()
		return nil, p.errorf(`"end" without a block that it ends`)
	}
	for name, line := range p.used {
		if first, _, _ := strings.Cut(name, "."); !isVariable(first) && !p.set[first] {
			p.line = line
			return nil, p.errorf("there is no $%s: neither one of ours (%s) nor set in this script; $$ is a dollar",
				name, strings.Join(slices.Sorted(maps.Keys(variables)), ", "))
		}
	}
	slices.Sort(p.signals)
	s.signals = slices.Compact(p.signals)
	p.signals, p.set, p.used, p.blocks, p.section = outer.signals, outer.set, outer.used, outer.blocks, outer.section
	return s, nil
}

// add takes a section in, unless another one is for the same.
func (s *Script) add(sec *section) error {
	for _, other := range s.sections {
		if other.event == sec.event && other.nth == sec.nth && other.word == sec.word {
			return fmt.Errorf("line %d has the same section", other.line)
		}
	}
	s.sections = append(s.sections, sec)
	return nil
}

// body parses statements up to one of the words in until, which it leaves.
func (p *parser) body(until ...string) ([]*call, error) {
	var body []*call
	for p.pos < len(p.lines) && !slices.Contains(until, p.peek()) {
		c, err := p.statement()
		if err != nil {
			return nil, err
		}
		body = append(body, c)
	}
	return body, nil
}

// statement parses one, with its block if it has one.
func (p *parser) statement() (*call, error) {
	line := p.lines[p.pos]
	c, err := p.head(line)
	if err != nil {
		return nil, err
	}
	p.pos++
	if err := p.note(c); err != nil {
		return nil, err
	}
	if !c.stmt.grammar.block {
		return c, nil
	}
	if c.stmt == spawnStatement {
		return c, p.spawned(c, line)
	}
	p.blocks = append(p.blocks, c.stmt)
	defer func() { p.blocks = p.blocks[:len(p.blocks)-1] }()
	inner := clause{}
	for {
		until := append([]string{"end", "on"}, c.stmt.clauses...)
		if inner.body, err = p.body(until...); err != nil {
			return nil, err
		}
		c.clauses = append(c.clauses, inner)
		word := p.peek()
		if p.pos == len(p.lines) || word == "on" {
			p.line = line.number
			return nil, p.errorf(`%s: no "end" ends this block`, c.stmt.grammar.name)
		}
		if word == "end" {
			return c, p.end()
		}
		head, err := p.head(p.lines[p.pos])
		if err != nil {
			return nil, err
		}
		p.pos++
		if err := p.note(head); err != nil {
			return nil, err
		}
		inner = clause{head: head}
	}
}

// end takes an "end".
func (p *parser) end() error {
	p.peek()
	if len(p.lines[p.pos].tokens) > 1 {
		return p.errorf(`"end" stands alone on its line`)
	}
	p.pos++
	return nil
}

// spawned parses the block of spawn: a script of its own, for another process. Its
// text goes there with as many empty lines before it, so that its errors name the
// lines of this file.
func (p *parser) spawned(c *call, head sourceLine) error {
	s, err := p.script(c)
	if err != nil {
		return err
	}
	if p.pos == len(p.lines) {
		p.line = head.number
		return p.errorf(`spawn: no "end" ends this block`)
	}
	begin, end := head.end+1, p.lines[p.pos].begin
	if begin > end {
		begin = end
	}
	lineBreaks := strings.Count(p.src[:begin], "\n")
	c.child = &childSource{script: s, text: strings.Repeat("\n", lineBreaks) + p.src[begin:end]}
	return p.end()
}

// head parses a line as a call of the statement that it names.
func (p *parser) head(line sourceLine) (*call, error) {
	p.line = line.number
	stmt, tokens := findStatement(line.tokens)
	if stmt == nil {
		first := line.tokens[0]
		if first.kind != wordToken || first.key != "" {
			return nil, p.errorf("a statement must begin with its name, not with %.40q", first.text)
		}
		return nil, p.errorf("there is no statement %q; there are: %s", first.text, strings.Join(statementNames(), ", "))
	}
	name := stmt.grammar.name
	if stmt.within != "" && (len(p.blocks) == 0 || p.blocks[len(p.blocks)-1].grammar.name != stmt.within) {
		return nil, p.errorf("%s stands only in a block of %s", name, stmt.within)
	}
	c := &call{stmt: stmt, line: line.number}
	if err := c.bind(tokens); err != nil {
		return nil, p.errorf("%s: %v; usage: %s", name, err, stmt.usage)
	}
	return c, nil
}

// note records what the script as a whole must know of a statement.
func (p *parser) note(c *call) error {
	for _, v := range slices.Concat(slices.Collect(maps.Values(c.args)), c.rest) {
		for _, name := range v.names() {
			if _, ok := p.used[name]; !ok {
				p.used[name] = c.line
			}
		}
	}
	switch c.stmt.grammar.name {
	case "set":
		name := c.word("NAME")
		if isVariable(name) || !variablePattern.MatchString("$"+name) || strings.Contains(name, ".") {
			return p.errorf("set: %q is not a name that a script may set", name)
		}
		p.set[name] = true
	case "wait signal":
		p.signals = append(p.signals, c.word("SIGNAL"))
	case "wait cancel":
		p.section.waitsForCancel = true
	case "reply", "reply error", "never reply":
		p.section.raw = true
	case "answer":
		fields, err := c.args["FIELDS"].json(func(string) json.RawMessage { return nil })
		if err != nil || !sdkCanSay(p.section.event, fields) {
			p.section.raw = true
		}
	}
	return nil
}

// heading parses "on EVENT [N|TEXT]".
func (p *parser) heading(line sourceLine) (*section, error) {
	p.line = line.number
	const usage = `on start | eof | any | signal NAME | METHOD [N|"TEXT"]`
	sec := &section{line: line.number}
	tokens := line.tokens[1:]
	for i, tok := range tokens {
		switch {
		case tok.key != "" || tok.kind == jsonToken:
			return nil, p.errorf("on: %q is too much; usage: %s", tok.text, usage)
		case i == 0:
			sec.event = tok.text
		case sec.event == "signal" && i == 1:
			if _, err := signalByName(tok.text); err != nil {
				return nil, p.errorf("on signal: %v", err)
			}
			sec.event += " " + tok.text
		case i == 1 && isMethod(sec.event) && tok.kind == textToken && tok.text != "":
			sec.word = tok.text
		case i == 1 && isMethod(sec.event):
			n, err := strconv.Atoi(tok.text)
			if err != nil || n < 1 {
				return nil, p.errorf("on %s: %q must be a number from 1 (the nth time) or a text in quotes (that it contains)", sec.event, tok.text)
			}
			sec.nth = n
		default:
			return nil, p.errorf("on %s: %q is too much; usage: %s", sec.event, tok.text, usage)
		}
	}
	switch {
	case sec.event == "":
		return nil, p.errorf("on: the event is missing; usage: %s", usage)
	case sec.event == "signal":
		return nil, p.errorf("on signal: the name of the signal is missing")
	case !isMethod(sec.event) && sec.signal() == "" && !slices.Contains([]string{"start", "eof", "any"}, sec.event):
		return nil, p.errorf("on: %q is no event and no method of ACP; usage: %s (a vendor's method begins with _ or has a /)", sec.event, usage)
	}
	return sec, nil
}

func isMethod(event string) bool {
	return slices.Contains([]string{"initialize", "authenticate", "logout"}, event) ||
		strings.HasPrefix(event, "_") || strings.Contains(event, "/")
}

// signal returns the signal that the section is for, or "".
func (sec *section) signal() string {
	name, _ := strings.CutPrefix(sec.event, "signal ")
	if name == sec.event {
		return ""
	}
	return name
}

func (sec *section) matches(nth int, text string) bool {
	return (sec.nth == 0 || sec.nth == nth) && strings.Contains(text, sec.word)
}
