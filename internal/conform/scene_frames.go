package conform

import (
	"bytes"
	"strings"
)

// largeFrame is how large a large frame is, in bytes: that of a prompt with an image. Tests
// that run the suite a hundred times have a smaller one.
var largeFrame = 4 << 20

// sceneFrames is frames as pipes deliver them, in pieces and several at once, large ones,
// and lines that are none.
var sceneFrames = scene{
	name:  "frames",
	about: "frames in pieces, two in one write, one of 4 MiB; then lines that are no messages",
	play: func(a *actor) {
		if _, ok := a.login(); !ok {
			return
		}
		if _, ok := a.ask("plain", unknownExtension, map[string]any{}); !ok {
			a.stop("the agent does not answer a method that it does not know, so there was nothing to ask it that costs nothing")
			return
		}
		a.split()
		a.joined()
		a.awaitFor(a.send("large", unknownExtension, map[string]any{"text": strings.Repeat("0123456789abcdef", largeFrame/16)}), a.opts.Timeout)

		a.write("stray-answer", []byte(`{"jsonrpc":"2.0","id":"errand-nobody-asked","result":{}}`))
		a.ask("after-stray", unknownExtension, map[string]any{})

		a.write("bad-json", []byte(`{"jsonrpc":"2.0","id":"errand-cut","method":"session/new","params":{"cwd":`))
		if _, ok := a.ask("after-bad-json", unknownExtension, map[string]any{}); !ok {
			return
		}
		a.lull() // the answer to the line may come after that to the request
		a.write("odd-frame", []byte(`{}`))
		a.write("", []byte(`[]`))
		a.write("", []byte(`42`))
		a.write("", []byte(``))
		a.ask("after-odd-frames", unknownExtension, map[string]any{})
	},
}

// split writes a request in pieces, one of which ends in the middle of a character.
func (a *actor) split() {
	p := pending{label: "split", method: unknownExtension, id: a.id()}
	line := append(request(p.id, p.method, map[string]any{"text": "größer"}), '\n')
	middle := bytes.Index(line, []byte("ö")) + 1
	p.sent = a.raw(p.label, line[:5], line[5:middle], line[middle:len(line)-1], line[len(line)-1:])
	a.awaitFor(p, a.quick())
}

// joined writes two requests at once.
func (a *actor) joined() {
	one := pending{label: "joined-one", method: unknownExtension, id: a.id()}
	two := pending{label: "joined-two", method: unknownExtension, id: a.id()}
	first, second := request(one.id, one.method, map[string]any{}), request(two.id, two.method, map[string]any{})
	one.sent = a.writeParts([]labelled{{one.label, first}, {two.label, second}}, append(bytes.Join([][]byte{first, second}, []byte("\n")), '\n'))
	two.sent = one.sent + 1
	a.awaitFor(one, a.quick())
	a.awaitFor(two, a.quick())
}
