package replay

import (
	"bytes"
	"encoding/json"

	"github.com/errand-acp/errand/internal/wire"
)

// rewrite returns a JSON text in which each string says what replace returns for it. That
// is given the name of the member; elements of an array have that of the array, and names
// themselves have none. Everything else stays as it is, byte for byte.
func rewrite(text []byte, replace func(member, said string) string) []byte {
	type level struct {
		object bool
		member string
	}
	var (
		open   []level
		member string // of the value that comes
		isName bool   // what comes is a name
		out    []byte
		copied int // of text
	)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			open = append(open, level{c == '{', member})
			isName = c == '{'
		case '}', ']':
			open = open[:max(len(open)-1, 0)]
		case ',':
			if len(open) > 0 {
				in := open[len(open)-1]
				isName, member = in.object, in.member
			}
		case '"':
			end := stringEnd(text, i)
			said := wire.Unquote(text[i:end])
			of := member
			if isName {
				of, member, isName = "", said, false
			}
			if is := replace(of, said); is != said {
				out = append(append(out, text[copied:i]...), quoted(is)...)
				copied = end
			}
			i = end - 1
		}
	}
	if copied == 0 {
		return text
	}
	return append(out, text[copied:]...)
}

// stringEnd returns where the string ends that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(text))
}

// quoted returns text as a JSON string.
func quoted(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can be
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
