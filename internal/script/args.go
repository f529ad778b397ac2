package script

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// How a statement gets at its arguments. Each is named as in the usage; what is not
// there is the zero value.

// word is an argument without regard to variables.
func (c *call) word(name string) string {
	return c.args[name].text(func(string) json.RawMessage { return nil })
}

func (c *call) has(name string) bool {
	_, ok := c.args[name]
	return ok
}

func (t *task) text(c *call, name string) string { return c.args[name].text(t.lookup) }

// pointer is text, or nil if it is not there.
func (t *task) pointer(c *call, name string) *string {
	if !c.has(name) {
		return nil
	}
	s := t.text(c, name)
	return &s
}

func (t *task) json(c *call, name string) (json.RawMessage, error) {
	if !c.has(name) {
		return nil, nil
	}
	return c.args[name].json(t.lookup)
}

// decoded is JSON as a Go value, nil if it is not there.
func (t *task) decoded(c *call, name string) (v any, err error) {
	raw, err := t.json(c, name)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

func (t *task) number(c *call, name string) (int, error) {
	return strconv.Atoi(t.text(c, name))
}

func (t *task) duration(c *call, name string) (time.Duration, error) {
	return time.ParseDuration(t.text(c, name))
}

// sized is the text TEXT, repeated to fill size= bytes if that is given.
func (t *task) sized(c *call) (string, error) {
	text := t.text(c, "TEXT")
	if !c.has("size") {
		return text, nil
	}
	size, err := parseSize(t.text(c, "size"))
	return fill(text, size), err
}

func fill(text string, size int) string {
	if text == "" {
		text = "x"
	}
	return strings.Repeat(text, size/len(text)+1)[:size]
}

// sessionID is session=, else the session that the section is for.
func (t *task) sessionID(c *call) string {
	if c.has("session") {
		return t.text(c, "session")
	}
	return t.currentSession().id
}

func (t *task) currentSession() *session {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if t.session.id == "" {
		return t.r.latest // it came since the section began
	}
	return t.session
}
