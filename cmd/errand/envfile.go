package main

import (
	"fmt"
	"strings"
)

// parseEnvFile reads the KEY=VALUE lines of an env file, in the form that most tools
// share: blank lines and comments, "export" before a name, a value as it stands, in
// single quotes (literally) or in double quotes (with \n, \r, \t, \", \\ and \$). A
// quoted value may go over several lines. Nothing is expanded. An error names file
// and line, and never shows a value.
func parseEnvFile(file, text string) ([]string, error) {
	p := envFile{rest: strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), line: 1}
	var env []string
	for p.rest != "" {
		line := p.line
		entry, err := p.entry()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		if entry != "" {
			env = append(env, entry)
		}
	}
	return env, nil
}

// envFile is what is still to be read, and the number of the line it begins in.
type envFile struct {
	rest string
	line int
}

// entry reads a line, and more where a quoted value goes on. It is empty for a
// comment or a blank line.
func (p *envFile) entry() (string, error) {
	name := strings.TrimSpace(p.upTo("=\n"))
	if strings.HasPrefix(name, "#") || name == "" && !strings.HasPrefix(p.rest, "=") {
		p.endLine()
		return "", nil
	}
	if after, ok := strings.CutPrefix(name, "export"); ok && strings.TrimLeft(after, " \t") != after {
		name = strings.TrimSpace(after)
	}
	if !strings.HasPrefix(p.rest, "=") {
		return "", fmt.Errorf(`there is no "=" in it; want KEY=VALUE`)
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	p.take(1)
	p.take(len(p.rest) - len(strings.TrimLeft(p.rest, " \t")))
	value, err := p.value()
	if err != nil {
		return "", err
	}
	if strings.ContainsRune(value, 0) {
		return "", fmt.Errorf("the value of %s holds a NUL byte", shown(name))
	}
	return name + "=" + value, nil
}

func (p *envFile) value() (string, error) {
	if p.rest == "" || p.rest[0] != '"' && p.rest[0] != '\'' {
		value := p.upTo("\n")
		p.endLine()
		// A "#" begins a comment only after a space: many values have one in them.
		for i := range len(value) {
			if value[i] == '#' && (i == 0 || value[i-1] == ' ' || value[i-1] == '\t') {
				value = value[:i]
				break
			}
		}
		return strings.TrimSpace(value), nil
	}
	quote := p.take(1)
	var b strings.Builder
	for {
		b.WriteString(p.upTo(quote + `\`))
		switch {
		case p.rest == "":
			return "", fmt.Errorf("the quote is not closed")
		case p.rest[0] == quote[0]:
			p.take(1)
			after := strings.TrimSpace(p.upTo("\n"))
			p.endLine()
			if after != "" && after[0] != '#' {
				return "", fmt.Errorf("there is something after the closing quote")
			}
			return b.String(), nil
		case quote == `"` && len(p.rest) > 1:
			b.WriteString(unescape(p.take(2)))
		default:
			b.WriteString(p.take(1))
		}
	}
}

// unescape gives what a backslash and the character after it stand for.
func unescape(s string) string {
	switch s[1] {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\', '$':
		return s[1:]
	}
	return s
}

// upTo takes everything before the first of the given characters.
func (p *envFile) upTo(chars string) string {
	i := strings.IndexAny(p.rest, chars)
	if i < 0 {
		i = len(p.rest)
	}
	return p.take(i)
}

func (p *envFile) endLine() {
	p.upTo("\n")
	p.take(min(1, len(p.rest)))
}

func (p *envFile) take(n int) string {
	s := p.rest[:n]
	p.rest = p.rest[n:]
	p.line += strings.Count(s, "\n")
	return s
}
