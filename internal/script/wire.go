package script

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
)

// The bytes themselves.

var wireStatements = []*statement{
	{
		usage: "send JSON [pretty]",
		doc:   "Writes the JSON as a frame, on one line, or over several with `pretty`.",
		run:   runSend,
	},
	{
		usage: "raw [TEXT] [size=SIZE]",
		doc:   "Writes the text as it is, without a line end.",
		run:   func(t *task, c *call) error { return t.write(c, t.r.out.raw) },
	},
	{
		usage: "noise [TEXT] [size=SIZE]",
		doc:   "Writes the text as a line that is no frame.",
		run:   func(t *task, c *call) error { return t.write(c, t.r.out.frame) },
	},
	{
		usage: "newline TEXT",
		doc:   "Ends frames with this from now on: `\"\\r\\n\"`, or `\"\"` for a last frame without an end.",
		run:   func(t *task, c *call) error { t.r.out.setNewline(t.text(c, "TEXT")); return nil },
	},
	{
		usage: "stderr [TEXT] [size=SIZE]",
		doc:   "Writes the text to stderr as it is.",
		run: func(t *task, c *call) error {
			return t.write(c, func(b []byte) { _, _ = t.r.stderr.Write(b) })
		},
	},
	{
		usage: "stdin stop",
		doc:   "Reads no more, and follows nothing that it has read ahead.",
		run:   func(t *task, c *call) error { t.r.in.stop(); return nil },
	},
	{
		usage: "stdin resume",
		doc:   "Reads again.",
		run:   func(t *task, c *call) error { t.r.in.resume(); return nil },
	},
	{
		usage: "stdin close",
		doc:   "Closes stdin and goes on.",
		run:   func(t *task, c *call) error { t.r.in.close(); return nil },
	},
	{
		usage: "stdout close",
		doc:   "Closes stdout and goes on; what is written later is lost.",
		run:   func(t *task, c *call) error { t.r.out.close(); return nil },
	},
	{
		usage: "stderr close",
		doc:   "Closes stderr and goes on.",
		run: func(t *task, c *call) error {
			if closer, ok := t.r.stderr.(io.Closer); ok {
				_ = closer.Close()
			}
			return nil
		},
	},
	{
		usage: "echo",
		doc:   "From now on writes every line back that it reads, and follows none.",
		run:   func(t *task, c *call) error { t.r.mu.Lock(); defer t.r.mu.Unlock(); t.r.echo = true; return nil },
	},
	{
		usage: "record PATH",
		doc:   "From now on appends every line that it reads to the file.",
		run:   runRecord,
	},
}

func (t *task) write(c *call, to func([]byte)) error {
	text, err := t.sized(c)
	if err == nil {
		to([]byte(text))
	}
	return err
}

func runSend(t *task, c *call) error {
	frame, err := t.json(c, "JSON")
	if err != nil {
		return err
	}
	if c.has("pretty") {
		var b bytes.Buffer
		if err := json.Indent(&b, frame, "", "  "); err != nil {
			return err
		}
		frame = b.Bytes()
	}
	t.r.out.frame(frame)
	return nil
}

func runRecord(t *task, c *call) error {
	f, err := os.OpenFile(t.path(t.text(c, "PATH")), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if t.r.record != nil {
		_ = t.r.record.Close()
	}
	t.r.record = f
	return nil
}
