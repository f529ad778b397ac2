package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/errand-acp/errand/internal/wire"
)

// Error is what is wrong with a transcript that was read.
type Error struct {
	// File is its name, empty where it came from no file.
	File string
	// Line is the number of the line, from 1; 0 where no line is wrong, but what there is of
	// them.
	Line int
	// Err is what is wrong there. For a version of the format that is not known it is a
	// VersionError.
	Err error
}

// Error implements error: "talk.ndjson:3: …".
func (e *Error) Error() string {
	where := e.File
	switch {
	case e.File == "" && e.Line == 0:
		where = "the transcript"
	case e.File == "":
		where = fmt.Sprintf("line %d of the transcript", e.Line)
	case e.Line > 0:
		where = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return where + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Read reads all conversations of a transcript. What a crash leaves can be read: a last
// line without its newline that makes no sense is left out. Fields that are not known are
// ignored. What is wrong with the transcript, a line of more than 192 MiB too, is an *Error;
// what came before it is returned with it.
func Read(r io.Reader) ([]*Transcript, error) { return read(r, wire.MaxRecorded) }

func read(r io.Reader, maxLine int) ([]*Transcript, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var all []*Transcript
	var buf []byte
	var end error
	for number := 1; end == nil; number++ {
		if buf, end = wire.ReadLine(in, buf, maxLine); end == bufio.ErrTooLong {
			return all, &Error{Line: number, Err: fmt.Errorf("it is longer than %d bytes", maxLine)}
		}
		line := buf
		whole := bytes.HasSuffix(line, []byte("\n"))
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		// What a crash leaves of a header begins as one.
		cut := !whole && (len(all) > 0 || line[0] == '{')
		var err error
		if all, err = take(all, line); err != nil && !cut {
			return all, &Error{Line: number, Err: err}
		}
	}
	if end == io.EOF {
		end = nil
	}
	return all, end
}

// take takes one line.
func take(all []*Transcript, line []byte) ([]*Transcript, error) {
	h, e, err := parse(line)
	switch {
	case h != nil:
		return append(all, &Transcript{Header: *h, Cut: true}), nil
	case err != nil:
		if _, later := errors.AsType[VersionError](err); len(all) == 0 && !later {
			err = fmt.Errorf("this is no transcript: %w", err)
		}
		return all, err
	case len(all) == 0:
		return all, errors.New(`this is no transcript: no header before it, {"transcript":1,…}`)
	}
	t := all[len(all)-1]
	t.Entries = append(t.Entries, *e)
	if e.End != nil {
		t.Cut = false
	}
	return all, nil
}

// VersionError is a version of the format that is not known.
type VersionError int

// Error implements error.
func (v VersionError) Error() string {
	return fmt.Sprintf("version %d of the format, and only %d is known", int(v), Version)
}

func unknownFrom(f From) error {
	return fmt.Errorf("from is %.40q: not %q, %q or %q", f, FromClient, FromAgent, FromStderr)
}

// ReadFile reads the transcript of one conversation. A file that holds none or several is
// an *Error as well: [Read] reads those.
func ReadFile(name string) (*Transcript, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := Read(f)
	if bad, ok := errors.AsType[*Error](err); ok {
		bad.File = name
	}
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, &Error{File: name, Err: errors.New("this is no transcript: no conversation in it")}
	case len(all) > 1:
		return nil, &Error{File: name, Err: fmt.Errorf("%d conversations in it, not one", len(all))}
	}
	return all[0], nil
}

// parse reads a line, which is a header or an entry.
func parse(line []byte) (*Header, *Entry, error) {
	var f struct {
		Transcript *int      `json:"transcript"`
		StartedAt  time.Time `json:"startedAt"`
		RunID      string    `json:"runId"`
		Client     Peer      `json:"client"`
		Command    []string  `json:"command"`
		Dir        string    `json:"dir"`
		Normalized []string  `json:"normalized"`

		MS    json.Number     `json:"ms"`
		From  From            `json:"from"`
		Frame json.RawMessage `json:"frame"`
		Text  *string         `json:"text"`
		Bytes int64           `json:"bytes"`
		End   *End            `json:"end"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return nil, nil, err
	}
	if f.Transcript != nil {
		if *f.Transcript != Version {
			return nil, nil, VersionError(*f.Transcript)
		}
		if len(f.Command) == 0 {
			f.Command = nil
		}
		if len(f.Normalized) == 0 {
			f.Normalized = nil
		}
		return &Header{
			Version: Version, StartedAt: f.StartedAt, RunID: f.RunID, Client: f.Client, Command: f.Command, Dir: f.Dir,
			Normalized: f.Normalized,
		}, nil, nil
	}
	e := &Entry{From: f.From, End: f.End}
	if f.MS != "" {
		ms, err := f.MS.Float64()
		if err != nil || !(math.Abs(ms) <= farthest.Seconds()*1e3) {
			return nil, nil, fmt.Errorf("ms is %s", f.MS)
		}
		e.At = time.Duration(math.Round(ms*1e3)) * time.Microsecond
	}
	if f.End != nil {
		e.From = ""
		return nil, e, nil
	}
	if !f.From.known() {
		return nil, nil, unknownFrom(f.From)
	}
	switch {
	case len(f.Frame) > 0 && string(f.Frame) != "null":
		if c := f.Frame[0]; c != '{' && c != '[' {
			return nil, nil, errors.New("the frame is no object or array")
		}
		e.Frame = f.Frame
	case f.Text != nil:
		e.Text, e.Bytes = *f.Text, max(f.Bytes, 0)
	default:
		return nil, nil, errors.New("neither frame nor text nor end")
	}
	return nil, e, nil
}

// UnmarshalJSON reads a line of a transcript that is a header.
func (h *Header) UnmarshalJSON(line []byte) error {
	header, _, err := parse(line)
	if err == nil && header == nil {
		err = errors.New("no header of a transcript")
	}
	if err == nil {
		*h = *header
	}
	return err
}

// UnmarshalJSON reads a line of a transcript that is an entry.
func (e *Entry) UnmarshalJSON(line []byte) error {
	_, entry, err := parse(line)
	if err == nil && entry == nil {
		err = errors.New("no entry of a transcript")
	}
	if err == nil {
		*e = *entry
	}
	return err
}
