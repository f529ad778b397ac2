package conform

import (
	"slices"

	"github.com/errand-acp/errand/client/transcript"
)

// index is where things stand in a whole recording. Without it each of the agent's frames
// would be held against all others, and an agent that writes many would take for ever.
type index struct {
	entries   int // how many it is of
	ours      map[string]int
	answers   map[string][]int // ours, by the canonical id
	made      map[string]int   // terminals, where they were given to the agent first
	released  map[string]int   // and where it has released them first
	announced map[callKey]int  // tool calls
	begun     map[string][]int // where a session was created, or was to be loaded
}

// index returns the index, which is made when it is first asked for.
func (r *recording) index() *index {
	if r.indexed != nil && r.indexed.entries == len(r.entries) {
		return r.indexed
	}
	x := &index{
		entries: len(r.entries), ours: map[string]int{}, answers: map[string][]int{},
		made: map[string]int{}, released: map[string]int{}, announced: map[callKey]int{}, begun: map[string][]int{},
	}
	for i, m := range r.from(transcript.FromClient, 0, len(r.entries)) {
		first(x.ours, string(r.entries[i].Frame), i)
		if !m.isResponse() {
			continue
		}
		if id := canonical(m.ID); id != "" {
			x.answers[id] = append(x.answers[id], i)
		}
		if id, ok := stringField(m.Result, "terminalId"); ok {
			first(x.made, id, i)
		}
	}
	for i := range r.entries {
		m := r.message(i)
		id, ok := stringField(m.Result, "sessionId")
		if m.Method == "session/load" {
			id, ok = stringField(m.Params, "sessionId")
		}
		if ok {
			x.begun[id] = append(x.begun[id], i)
		}
	}
	for i, m := range r.agent() {
		if m.Method == "terminal/release" {
			if id, ok := stringField(m.Params, "terminalId"); ok {
				first(x.released, id, i)
			}
		}
	}
	for u := range r.allUpdates() {
		if u.kind == "tool_call" {
			first(x.announced, u.key(), u.at)
		}
	}
	r.indexed = x
	return x
}

func first[K comparable](m map[K]int, key K, at int) {
	if _, there := m[key]; !there {
		m[key] = at
	}
}

// before returns what m has for a key if that is before an index; else -1.
func before[K comparable](m map[K]int, key K, at int) int {
	if i, ok := m[key]; ok && i < at {
		return i
	}
	return -1
}

// answerAfter returns our first answer with an id after an index; -1: there is none.
func (x *index) answerAfter(id string, at int) int {
	list := x.answers[id]
	if i, _ := slices.BinarySearch(list, at+1); i < len(list) {
		return list[i]
	}
	return -1
}
