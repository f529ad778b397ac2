package transcript

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule says how something that differs from run to run is made the same in all of them, for
// [Transcript.Normalize]. Its String is how a test names it. The zero Rule changes nothing.
type Rule struct {
	name  string
	apply func(*draft)
	puts  []string // of Header.Normalized
}

// String returns the rule as it is written: IDs().
func (r Rule) String() string { return r.name }

// maxRounds bounds how often the rules are applied: they may undo each other's work.
const maxRounds = 10

// Normalize returns a copy of t to which the rules were applied, one after the other, again
// and again until they change nothing more: what was normalized stays as it is when it is
// normalized again. (Of rules that bring back what another takes away, such as two of [Path] of
// which each puts in the other's path, there is no such end; they are applied ten times.) What
// the rules leave alone stays, but for white space between the tokens of frames. Where a rule
// would give several members of an object one name, the first of their names in sorted order
// is replaced and the others stay. Of nil it is nil.
func (t *Transcript) Normalize(rules ...Rule) *Transcript {
	if t == nil {
		return nil
	}
	d := newDraft(t)
	for _, r := range rules {
		d.header.Normalized = append(d.header.Normalized, r.puts...)
	}
	slices.Sort(d.header.Normalized)
	d.header.Normalized = slices.Compact(d.header.Normalized)
	var before []byte
	for range maxRounds {
		for _, r := range rules {
			if r.apply != nil {
				r.apply(d)
			}
		}
		after := d.lines()
		if bytes.Equal(before, after) {
			break
		}
		before = after
	}
	return d.transcript()
}

// draft is a transcript that is being normalized.
type draft struct {
	header  Header
	entries []*draftEntry
	cut     bool
}

type draftEntry struct {
	Entry
	frame *node // of Entry.Frame, nil where it has none that is JSON
}

func newDraft(t *Transcript) *draft {
	d := &draft{header: t.Header, cut: t.Cut}
	d.header.Command = slices.Clone(t.Header.Command)
	d.header.Normalized = slices.Clone(t.Header.Normalized)
	for _, e := range t.Entries {
		draft := &draftEntry{Entry: e}
		if IsFrame(e.Frame) {
			draft.frame = parseNode(e.Frame)
		}
		if e.End != nil {
			end := *e.End
			draft.End = &end
		}
		d.entries = append(d.entries, draft)
	}
	return d
}

func (d *draft) transcript() *Transcript {
	t := &Transcript{Header: d.header, Cut: d.cut}
	for _, e := range d.entries {
		if e.frame != nil {
			e.Frame = e.frame.append(nil)
		}
		t.Entries = append(t.Entries, e.Entry)
	}
	return t
}

// lines are what would be written of d, were it from anybody.
func (d *draft) lines() []byte {
	t := d.transcript()
	out := append(appendHeader(nil, t.Header), '\n')
	for _, e := range t.Entries {
		out = append(appendEntry(out, e), '\n')
	}
	return out
}

// messages calls f for each message: the frame, or those in it.
func (d *draft) messages(f func(from From, m *node)) {
	for _, e := range d.entries {
		if e.frame == nil {
			continue
		}
		if e.frame.kind != '[' {
			f(e.From, e.frame)
			continue
		}
		for _, m := range e.frame.elems {
			f(e.From, m)
		}
	}
}

// strings replaces the strings that somebody wrote: those in frames but for the protocol's own
// words, names among them too, texts, and those in the header.
func (d *draft) strings(replace func(string) string) {
	d.messages(func(_ From, m *node) {
		m.walk("", func(name string, n *node) {
			if n.kind == '"' && !protocolWord[name] {
				n.text = replace(n.text)
			}
			for _, name := range oddNames(n) {
				// Two must not become one: a reader would see the last of them only.
				if to := replace(name); !slices.Contains(n.names, to) {
					n.rename(name, to)
				}
			}
		})
	})
	for _, e := range d.entries {
		e.Text = replace(e.Text)
	}
	d.header.Dir = replace(d.header.Dir)
	for i, word := range d.header.Command {
		d.header.Command[i] = replace(word)
	}
}

// protocolWord has the members whose strings ACP gives a meaning, and no agent.
var protocolWord = map[string]bool{
	"jsonrpc": true, "method": true, "sessionUpdate": true, "type": true, "kind": true, "status": true,
	"stopReason": true, "role": true, "outcome": true, "priority": true,
}

// oddNames are the names in n that an agent may have made up, sorted: which of them gets a
// name that several would does not depend on the order in which they were written.
func oddNames(n *node) []string {
	var odd []string
	for _, name := range n.names {
		if !plainName.MatchString(name) {
			odd = append(odd, name)
		}
	}
	slices.Sort(odd)
	return odd
}

// plainName is the name of a member as ACP has them, which an agent's id may be, too.
var plainName = regexp.MustCompile(`^_?[A-Za-z]+$`)

// calls finds out which method an answer is for, as the draft is gone through.
type calls map[string]string

// method returns the method that m is about, an answer's too.
func (c calls) method(from From, m *node) string {
	id := m.member("id")
	if method := m.member("method"); method != nil {
		if id != nil {
			c[string(from)+string(id.append(nil))] = method.text
		}
		return method.text
	}
	if id == nil {
		return ""
	}
	return c[string(other(from))+string(id.append(nil))]
}

// other is the other side of a connection.
func other(from From) From {
	if from == FromClient {
		return FromAgent
	}
	return FromClient
}

// name returns the n-th name of its kind: $session-1.
func name(kind string, n int) string { return "$" + kind + "-" + strconv.Itoa(n) }

// ruleName writes a rule as it is called.
func ruleName(name string, args ...string) string {
	for i, a := range args {
		args[i] = strconv.Quote(a)
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}
