package replay

import (
	"fmt"
	"strings"
)

// How a strict replay tells what differs.

// differ ends a strict replay: f, if it is not nil, came instead of s, if that is not nil.
func (r *run) differ(f *frame, s *step, text string) {
	d := &Difference{Text: text}
	if s != nil {
		d.Entry = s.entry
	}
	r.out.put(piece{stderr: true, line: []byte(saysReplay + text)})
	open := r.open()
	if f != nil && f.isRequest() {
		open = append(open, f.id)
	}
	if len(open) == 0 {
		open = [][]byte{[]byte("null")}
	}
	for _, id := range open {
		r.fail(id, codeInvalid, text)
	}
	r.finish(1, d)
}

// instead says what could have come.
func (r *run) instead() string {
	list := r.expected()
	if len(list) == 0 {
		if r.cut {
			return "after the end of the recording, which was cut off there"
		}
		return "after all that was recorded"
	}
	var names []string
	for _, s := range list {
		names = append(names, s.name())
	}
	const enough = 4
	if len(names) > enough {
		names = append(names[:enough], "…")
	}
	return "where the recording has " + strings.Join(names, " or ")
}

// name says what a step of the client is.
func (s *step) name() string {
	switch {
	case s.kind != clientAnswer:
		return fmt.Sprintf("%s (entry %d)", named(s.frame.method), s.entry)
	case s.ask != nil && s.ask.frame.method != "":
		return fmt.Sprintf("the answer to %s (entry %d)", named(s.ask.frame.method), s.entry)
	}
	return fmt.Sprintf("an answer (entry %d)", s.entry)
}

// name says what f is.
func (f *frame) name() string {
	switch {
	case f.method == "":
		return "a request without a method"
	case f.isRequest():
		return named(f.method)
	}
	return "the notification " + named(f.method)
}
