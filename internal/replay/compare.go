package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/errand-acp/errand/internal/visible"
)

// different lists what may differ from the recording, by method: who the parent is, where
// it works, and ids.
var different = map[string][]string{
	"initialize":      {"params.clientInfo"},
	"session/new":     {"params.cwd"},
	"session/load":    {"params.cwd"},
	"session/resume":  {"params.cwd"},
	"session/fork":    {"params.cwd"},
	"session/list":    {"params.cwd"},
	"session/prompt":  {"params.messageId"},
	"terminal/create": {"result.terminalId"},
}

// comparison compares a message of the parent with the recorded one.
type comparison struct {
	session string // that it is said in, as recorded
	ignored []string
	dirs    dirs
	names   names
	theirs  map[string]bool // the names that the agent brought up
	calls   calls
}

// mismatch is where two messages differ, and how.
type mismatch struct {
	path           string
	recorded, live any // absent{} for what is not there
}

type absent struct{}

func (m *mismatch) String() string {
	recorded, live := show(m.recorded), show(m.live)
	recorded, live = excerpts(recorded, live)
	return fmt.Sprintf("%s: recorded %s, got %s", named(m.path), recorded, live)
}

// compare returns the first difference between two raw values, nil if there is none.
func (c *comparison) compare(path string, recorded, live []byte) *mismatch {
	return c.values(path, decode(recorded), decode(live))
}

func decode(raw []byte) any {
	if len(raw) == 0 {
		return absent{}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	if v == nil {
		return absent{} // what is null may as well not be there
	}
	return v
}

func (c *comparison) values(path string, recorded, live any) *mismatch {
	if slices.Contains(c.ignored, path) {
		return nil
	}
	if text, ok := recorded.(string); ok && c.names.has(text) && !c.theirs[text] {
		if chosen, ok := live.(string); ok {
			c.calls.note("", kindOf(lastName(path)), text, chosen)
		}
		return nil
	}
	if sayNo(path, recorded, live) {
		return nil
	}
	differ := &mismatch{path, recorded, live}
	switch r := recorded.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return differ
		}
		for _, name := range members(r, l) {
			if m := c.values(path+"."+name, at(r, name), at(l, name)); m != nil {
				return m
			}
		}
		return nil
	case []any:
		l, ok := live.([]any)
		if !ok {
			return differ
		}
		for i := range max(len(r), len(l)) {
			a, b := any(absent{}), any(absent{})
			if i < len(r) {
				a = r[i]
			}
			if i < len(l) {
				b = l[i]
			}
			if m := c.values(path+"["+strconv.Itoa(i)+"]", a, b); m != nil {
				return m
			}
		}
		return nil
	case string:
		if l, ok := live.(string); ok && c.saysTheSame(r, l) {
			return nil
		}
	case json.Number:
		if l, ok := live.(json.Number); ok && idKey([]byte(r)) == idKey([]byte(l)) {
			return nil
		}
	default:
		if recorded == live {
			return nil
		}
	}
	return differ
}

// members returns the names of the members of two objects that are compared: of an outcome that
// is another one, that it is says more than what else it has, so those that both have come first.
func members(a, b map[string]any) []string {
	both, either := map[string]bool{}, map[string]bool{}
	for _, object := range []map[string]any{a, b} {
		for name := range object {
			if a[name] != nil && b[name] != nil {
				both[name] = true
			} else {
				either[name] = true
			}
		}
	}
	delete(both, "_meta")
	delete(either, "_meta")
	return slices.Concat(slices.Sorted(maps.Keys(both)), slices.Sorted(maps.Keys(either)))
}

// at returns a member; what is null may as well not be there.
func at(object map[string]any, name string) any {
	if v := object[name]; v != nil {
		return v
	}
	return absent{}
}

// lastName returns the name of the member that a path leads to, or of the array in which it is
// an element.
func lastName(path string) string {
	name, _, _ := strings.Cut(path[strings.LastIndex(path, ".")+1:], "[")
	return name
}

// saysTheSame reports whether a text is the recorded one but for where the parent works. Two
// directories of the recording may be one now, and the other way round.
func (c *comparison) saysTheSame(recorded, live string) bool {
	return recorded == live || c.matches(recorded, c.dirs.toRecorded(c.session, live)) ||
		c.matches(c.dirs.toLive(c.session, recorded), live)
}

// matches reports whether text is what was recorded, where a secret that was taken out, or
// what was given another name, may have been anything.
func (c *comparison) matches(recorded, text string) bool {
	var parts []string
	rest := 0
	for _, at := range c.names.within.FindAllStringIndex(recorded, -1) {
		if c.theirs[recorded[at[0]:at[1]]] {
			continue
		}
		parts = append(parts, recorded[rest:at[0]])
		rest = at[1]
	}
	last := recorded[rest:]
	if len(parts) == 0 {
		return last == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	for _, part := range parts[1:] {
		if ok {
			_, text, ok = strings.Cut(text, part)
		}
	}
	return ok && strings.HasSuffix(text, last)
}

// show returns a value as JSON that a terminal can be shown.
func show(v any) string {
	if v == (any)(absent{}) {
		return "nothing"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // it was decoded from JSON
	return string(visible.JSON(bytes.TrimSpace(b.Bytes())))
}

// named returns a name, or a path of names, that somebody else chose as it can be shown.
func named(name string) string {
	const room = 200
	if len(name) > room {
		name = beginning(name, room/2) + "…" + end(name, room/2)
	}
	return visible.Line(name)
}

// beginning and end return what of s has room, without a part of a character.
func beginning(s string, room int) string {
	if len(s) <= room {
		return s
	}
	for room > 0 && !utf8.RuneStart(s[room]) {
		room--
	}
	return s[:room]
}

func end(s string, room int) string {
	from := max(len(s)-room, 0)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}

// excerpts cuts two texts to where they differ.
func excerpts(a, b string) (string, string) {
	const before, room = 30, 160
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	start := 0
	if same > before+10 {
		start = same - before
	}
	cut := func(s string) string {
		head, from := "", start
		for from > 0 && from < len(s) && !utf8.RuneStart(s[from]) {
			from--
		}
		if s = s[from:]; from > 0 {
			head = "…"
		}
		if len(s) > room {
			s = beginning(s, room) + "…"
		}
		return head + s
	}
	return cut(a), cut(b)
}
