package transcript

import (
	"bytes"
	"encoding/json"
)

// node is a JSON value that can be changed. The members of an object keep their order.
type node struct {
	kind  byte   // one of { [ " and, for what else there is, 0
	text  string // of a string what it says, of what else there is its JSON
	names []string
	elems []*node // of an array, or beside names
}

// parseNode reads text, which must be valid JSON.
func parseNode(text []byte) *node {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return readNode(dec)
}

func readNode(dec *json.Decoder) *node {
	token, _ := dec.Token()
	switch token := token.(type) {
	case json.Delim:
		n := &node{kind: byte(token)}
		for dec.More() {
			if token == '{' {
				name, _ := dec.Token()
				key, _ := name.(string)
				n.names = append(n.names, key)
			}
			n.elems = append(n.elems, readNode(dec))
		}
		dec.Token() // its end
		return n
	case string:
		return &node{kind: '"', text: token}
	case json.Number:
		return &node{text: string(token)}
	case bool:
		if token {
			return &node{text: "true"}
		}
		return &node{text: "false"}
	}
	return &node{text: "null"}
}

// text returns a node that is a string.
func text(s string) *node { return &node{kind: '"', text: s} }

// append appends the JSON of n.
func (n *node) append(out []byte) []byte {
	switch n.kind {
	case '"':
		return append(out, marshal(n.text)...)
	case '{', '[':
		out = append(out, n.kind)
		for i, e := range n.elems {
			if i > 0 {
				out = append(out, ',')
			}
			if n.kind == '{' {
				out = append(append(out, marshal(n.names[i])...), ':')
			}
			out = e.append(out)
		}
		return append(out, n.kind+2) // } or ]
	}
	return append(out, n.text...)
}

// member returns the value of the last member of that name, which is the one that counts.
func (n *node) member(names ...string) *node {
next:
	for _, name := range names {
		if n.kind == '{' {
			for i := len(n.names) - 1; i >= 0; i-- {
				if n.names[i] == name {
					n = n.elems[i]
					continue next
				}
			}
		}
		return nil
	}
	return n
}

// rename gives the members of that name another one.
func (n *node) rename(name, to string) {
	for i := range n.names {
		if n.names[i] == name {
			n.names[i] = to
		}
	}
}

// walk calls f for each value in n and n itself, in their order, with the name that it has
// in its object; elements of an array have that of the array.
func (n *node) walk(name string, f func(name string, n *node)) {
	f(name, n)
	for i, e := range n.elems {
		if n.kind == '{' {
			name = n.names[i]
		}
		e.walk(name, f)
	}
}

// at calls f with each place that path leads to; * stands for every member or element. f
// returns what is to be there, nil for nothing.
func (n *node) at(path []string, f func(*node) *node) {
	for i := 0; i < len(n.elems); i++ {
		if path[0] != "*" && (n.kind != '{' || n.names[i] != path[0]) {
			continue
		}
		if len(path) > 1 {
			n.elems[i].at(path[1:], f)
			continue
		}
		if v := f(n.elems[i]); v != nil {
			n.elems[i] = v
			continue
		}
		n.elems = append(n.elems[:i], n.elems[i+1:]...)
		if n.kind == '{' {
			n.names = append(n.names[:i], n.names[i+1:]...)
		}
		i--
	}
}
