// Package visible makes text that somebody else wrote safe to show.
//
// An agent's words may hold escape sequences that recolour a terminal, write to its
// clipboard or retitle it, marks that turn the order of characters round, and
// characters that are there without being seen. Each of them is replaced by its code
// point, so that it is read instead of obeyed:
//
//	visible.Text("\x1b]52;c;ZXZpbA==\a") // \u{1b}]52;c;ZXZpbA==\u{7}
//
// Text is for what may have several lines, Line for what must stay on one, Stream
// for text that comes in pieces, and JSON for an encoded document, whose meaning
// stays the same. The package is pure: no I/O, no state but a Stream's own.
package visible
