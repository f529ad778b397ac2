package replay

import (
	"bytes"
	"encoding/json"
	"slices"
)

// dirs are the directories of the recording and where they are now. What the agent says of
// a path below one is said of the other, and the other way round.
type dirs []dirPair

type dirPair struct{ recorded, live string }

// add notes that a session that was recorded in one directory is in another now. Longer
// ones come first: they may lie in each other.
func (d *dirs) add(recorded, live string) {
	pair := dirPair{recorded, live}
	if recorded == live || len(recorded) < 2 || live == "" || slices.Contains(*d, pair) {
		return
	}
	*d = append(*d, pair)
	slices.SortStableFunc(*d, func(a, b dirPair) int { return len(b.recorded) - len(a.recorded) })
}

// toLive translates a frame of the recorded agent.
func (d dirs) toLive(text []byte) []byte {
	for _, p := range d {
		text = replacePath(text, escaped(p.recorded), escaped(p.live), true)
	}
	return text
}

// toRecorded translates what the parent says.
func (d dirs) toRecorded(text string) string {
	out := []byte(text)
	for _, p := range d {
		out = replacePath(out, []byte(p.live), []byte(p.recorded), false)
	}
	return string(out)
}

// escaped returns text as it stands in a JSON string.
func escaped(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can be
	return b.Bytes()[1 : b.Len()-2]
}

// replacePath puts to in from's place where that stands for itself, and is not a part of
// another path. In JSON a letter may belong to an escape sequence.
func replacePath(text, from, to []byte, inJSON bool) []byte {
	if !bytes.Contains(text, from) {
		return text
	}
	var out []byte
	copied := 0 // of text
	for at := 0; ; {
		i := bytes.Index(text[at:], from)
		if i < 0 {
			return append(out, text[copied:]...)
		}
		i += at
		at = i + len(from)
		if begins(text[:i], inJSON) && ends(text[at:]) {
			out = append(append(out, text[copied:i]...), to...)
			copied = at
		}
	}
}

// begins reports whether a path may begin behind before.
func begins(before []byte, inJSON bool) bool {
	if len(before) == 0 || !inName(before[len(before)-1]) {
		return true
	}
	if !inJSON {
		return false
	}
	slashes := 0
	for i := len(before) - 2; i >= 0 && before[i] == '\\'; i-- {
		slashes++
	}
	return slashes%2 == 1
}

// ends reports whether a path may end in front of after.
func ends(after []byte) bool {
	if len(after) > 1 && after[0] == '.' {
		return !inName(after[1])
	}
	return len(after) == 0 || !inName(after[0]) || after[0] == '.'
}

func inName(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.' || b >= 0x80
}
