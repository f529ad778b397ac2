package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/visible"
	"github.com/errand-acp/errand/subagent"
)

// doings are what we do for an agent, and do not: files and commands. They are told in the
// lines of an audit only, so it is those that are read here, on their way to the file.
type doings struct {
	to   io.Writer    // nil for none
	dir  string       // the run's
	tell func(string) // is told lines for people; nil for nobody
}

// Write implements io.Writer. Its errors are those of the file.
func (d *doings) Write(text []byte) (n int, err error) {
	if n = len(text); d.to != nil {
		n, err = d.to.Write(text)
	}
	if d.tell == nil {
		return n, err
	}
	for line := range bytes.Lines(text) {
		var rec subagent.AuditRecord
		if json.Unmarshal(line, &rec) != nil {
			continue // the rest of one that was told already
		}
		for _, text := range []string{d.file(rec.File), command(rec.Command)} {
			if text != "" {
				d.tell(clip(visible.Line(text), 400))
			}
		}
	}
	return n, err
}

// refused begins an error that the line of a permission has told.
const refused = "not permitted ("

func (d *doings) file(rec *client.FileRecord) string {
	if rec == nil {
		return ""
	}
	path := rec.Path
	if rel, err := filepath.Rel(d.dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	switch {
	case rec.Error != nil && strings.HasPrefix(*rec.Error, refused):
		return ""
	case rec.Error != nil:
		return fmt.Sprintf("file: %s %s: refused: %s", rec.Op, path, *rec.Error)
	case rec.Missing:
		return fmt.Sprintf("file: %s %s: it is not there", rec.Op, path)
	}
	return fmt.Sprintf("file: %s %s: %d bytes", rec.Op, path, rec.Bytes)
}

func command(rec *client.CommandRecord) string {
	if rec == nil {
		return ""
	}
	words := make([]string, len(rec.Command))
	for i, word := range rec.Command {
		words[i] = quoted(word)
	}
	line := "command: " + strings.Join(words, " ")
	switch {
	case rec.Error != nil && strings.HasPrefix(*rec.Error, refused):
		return ""
	case rec.Error != nil:
		return line + ": refused: " + *rec.Error
	case rec.Exit == nil:
		return line + ": started"
	case rec.Exit.Signal != nil:
		return line + ": signal " + *rec.Exit.Signal
	case rec.Exit.Code != nil:
		return fmt.Sprintf("%s: exit status %d", line, *rec.Exit.Code)
	}
	return line + ": ended"
}
