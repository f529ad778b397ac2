package wire

import "slices"

// minLarge is from how many values on a member may be left out of a frame that holds too
// many.
const minLarge = 64

// reduce returns a frame that nests too deep or holds too much without what makes it so:
// null takes the place of fields that the frame can do without, the largest first. It
// returns nil where that is not enough. Of what is left out no grammar is checked.
func reduce(text []byte) []byte {
	r := reducer{s: NewScan(text)}
	values, deep := r.container(0)
	if !r.s.End() || deep || values > maxValues {
		return nil
	}
	slices.SortFunc(r.cuts, func(a, b part) int { return a.from - b.from })
	size := len(text)
	for _, c := range r.cuts {
		size += len("null") - (c.to - c.from)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, c := range r.cuts {
		out = append(append(out, text[at:c.from]...), "null"...)
		at = c.to
	}
	return append(out, text[at:]...)
}

// reducer finds what may be left out of a frame.
type reducer struct {
	s    Scan
	cuts []part
}

// part is a member's value in the text.
type part struct{ from, to, values int }

// vital reports whether a frame means nothing without the member of that name of what is
// so deep in it, so that only parts of it may be left out.
func vital(depth int, name []byte) bool {
	switch string(name) {
	case "params", "result", "error":
		return depth == 0
	case "update": // of ACP's session/update
		return depth == 1
	case "content": // of an update, and of what that is a list of
		return depth > 1
	}
	return false
}

// container passes the next value, an object or array of what is vital, and returns how
// many values it holds and whether it nests too deep, without what is to be left out.
func (r *reducer) container(depth int) (values int, deep bool) {
	s := &r.s
	if depth == maxDepth {
		s.bulk()
		return 0, true
	}
	var large []part
	object := s.Object()
	if !object && !s.Array() {
		s.bad = true
	}
	next := func() (name []byte, ok bool) {
		if object {
			return s.Key()
		}
		return nil, s.Elem()
	}
	for name, ok := next(); ok; name, ok = next() {
		values++
		kind := s.Kind()
		if nests := kind == '{' || kind == '['; nests && (vital(depth, name) || !object && depth > 2) {
			from, cuts := s.pos, len(r.cuts)
			n, d := r.container(depth + 1)
			if kind == '[' && object && depth > 1 && (d || n > maxValues) {
				// Content that is a list can be done without, as a whole.
				r.cuts, n, d = append(r.cuts[:cuts], part{from: from, to: s.pos}), 0, false
			}
			values, deep = values+n, deep || d
			continue
		}
		p := part{from: s.pos}
		var levels int
		p.values, levels = s.bulk()
		p.to = s.pos
		switch {
		case depth+levels > maxDepth && !object:
			deep = true
		case depth+levels > maxDepth:
			r.cuts = append(r.cuts, p)
			continue
		case object && p.values >= minLarge:
			large = append(large, p)
		}
		values += p.values
	}
	slices.SortFunc(large, func(a, b part) int { return b.values - a.values })
	for _, p := range large {
		if values <= maxValues {
			break
		}
		values -= p.values
		r.cuts = append(r.cuts, p)
	}
	return values, deep
}

// bulk passes the next value by its brackets and strings, without checking what else is
// in it. It returns how many values it holds and how deep it nests.
func (s *Scan) bulk() (values, levels int) {
	s.first = false
	depth := 0
	for first := true; !s.bad && (first || depth > 0); first = false {
		switch s.Kind() {
		case '{', '[':
			s.pos++
			depth++
			levels = max(levels, depth)
			if next := s.Kind(); next != '}' && next != ']' {
				values++
			}
		case '}', ']':
			s.pos++
			depth--
		case ',':
			s.pos++
			values++
		case ':':
			s.pos++
		default:
			s.bad = !s.value(0)
		}
	}
	return values, levels
}
