package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
	return p.script(false)
}

type parser struct {
	name  string
	src   string
	lines []sourceLine
	pos   int
	line  int // of the statement at hand, for errors
	scope scope
}

// scope is what belongs to one script; a spawned one has its own.
type scope struct {
	section *section
	blocks  []*statement // the open ones, outermost first
	signals []string     // those to be caught
	set     map[string]bool
	used    []use
}

// use is where a variable is used.
type use struct {
	name string
	line int
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
func (p *parser) script(spawned bool) (*Script, error) {
	outer := p.scope
	defer func() { p.scope = outer }()
	p.scope = scope{section: &section{event: "start"}, set: map[string]bool{}}
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
		p.scope.section = sec
		if sec.body, err = p.body("on", "end"); err != nil {
			return nil, err
		}
		if sec.event == "start" {
			s.start = append(s.start, sec.body...)
		}
		if name := sec.signal(); name != "" {
			p.scope.signals = append(p.scope.signals, name)
		}
	}
	if p.pos < len(p.lines) && !spawned {
		p.peek()
		return nil, p.errorf(`"end" without a block that it ends`)
	}
	for _, use := range p.scope.used {
		if first, _, _ := strings.Cut(use.name, "."); !isVariable(first) && !p.scope.set[first] {
			p.line = use.line
			return nil, p.errorf("there is no $%s: neither one of ours (%s) nor set in this script; $$ is a dollar",
				use.name, strings.Join(slices.Sorted(maps.Keys(variables)), ", "))
		}
	}
	slices.Sort(p.scope.signals)
	s.signals = slices.Compact(p.scope.signals)
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
	p.scope.blocks = append(p.scope.blocks, c.stmt)
	defer func() { p.scope.blocks = p.scope.blocks[:len(p.scope.blocks)-1] }()
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
			if c.stmt.check != nil {
				if bad := c.stmt.check(c); bad != nil {
					return nil, &Error{p.name, bad.line, bad.err.Error()}
				}
			}
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
	s, err := p.script(true)
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
	if blocks := p.scope.blocks; stmt.within != "" && (len(blocks) == 0 || blocks[len(blocks)-1].grammar.name != stmt.within) {
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
			p.scope.used = append(p.scope.used, use{name, c.line})
		}
	}
	if method, ok := c.args["METHOD"]; ok && method.kind == wordToken && method.constant() {
		if err := checkMethod(c.word("METHOD")); err != nil {
			return p.errorf("%s: %v", c.stmt.grammar.name, err)
		}
	}
	switch c.stmt.grammar.name {
	case "set":
		name := c.word("NAME")
		if isVariable(name) || !variablePattern.MatchString("$"+name) || strings.Contains(name, ".") {
			return p.errorf("set: %q is not a name that a script may set", name)
		}
		p.scope.set[name] = true
	case "wait signal":
		p.scope.signals = append(p.scope.signals, c.word("SIGNAL"))
	case "wait cancel":
		p.scope.section.waitsForCancel = true
	case "reply", "reply error", "never reply":
		p.scope.section.raw = true
	case "answer":
		fields, err := c.args["FIELDS"].json(func(string) json.RawMessage { return nil })
		if err != nil || !sdkCanSay(p.scope.section.event, fields) {
			p.scope.section.raw = true
		}
	}
	return nil
}
