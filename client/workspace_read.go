package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
)

// Read returns the text of the file at path, which must be absolute. line, from 1, is
// the first to return and limit how many; nil means the beginning and all. A line keeps
// its ending. An error is a *FileError: for what is no regular file with UTF-8 text, for
// more than MaxBytes (fewer lines may do), for a line that is behind more than 1 GiB, and
// where ctx ends.
//
// See https://agentclientprotocol.com/protocol/file-system#reading-files.
func (w *Workspace) Read(ctx context.Context, path string, line, limit *int) (string, error) {
	text, err := w.read(ctx, path, line, limit)
	if err != nil {
		return "", fileError("read", path, err)
	}
	return text, nil
}

func (w *Workspace) read(ctx context.Context, path string, line, limit *int) (string, error) {
	skip, most, err := window(line, limit)
	if err != nil {
		return "", err
	}
	t, err := w.find(path)
	if err != nil {
		return "", err
	}
	defer t.close()
	return t.read(ctx, skip, most)
}

// window returns how many lines are passed over, and how many are read; all where that is
// negative.
func window(line, limit *int) (skip, most int, err error) {
	most = -1
	if line != nil {
		if *line < 0 {
			return 0, 0, problem(FileInvalid, "line %d: the first one is 1", *line)
		}
		skip = max(*line-1, 0) // agents that count from 0 mean the same one
	}
	if limit != nil {
		if *limit < 0 {
			return 0, 0, problem(FileInvalid, "limit %d is negative", *limit)
		}
		most = *limit
	}
	return skip, most, nil
}

// begin waits for room in memory. The operation calls what it returns at its end.
func (w *Workspace) begin(ctx context.Context) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case w.at <- struct{}{}:
		return func() { <-w.at }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// escaped tells os.Root's refusal from the system's.
func escaped(err error) error {
	// There is no error to compare with, only its text.
	if cause, ok := errors.AsType[*fs.PathError](err); ok && cause.Err != nil && cause.Err.Error() == "path escapes from parent" {
		return errOutside
	}
	return err
}

// maxPassedOver is how many bytes a read passes over for the first line that it returns: a
// file can be longer than anybody would wait for and take no room on the disk.
const maxPassedOver = 1 << 30

// readLines returns most lines (all where it is negative) of r after the first skip, if
// they have no more than limit bytes, and what is before them no more than maxPassedOver.
func readLines(ctx context.Context, r io.Reader, skip, most, limit int) ([]byte, error) {
	in, first := bufio.NewReaderSize(r, 64<<10), skip+1
	var text bytes.Buffer
	passed := 0
	for most != 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part, err := in.ReadSlice('\n')
		if skip == 0 {
			if text.Len()+len(part) > limit {
				return nil, problem(FileTooLarge, "it has more than %d bytes; ask for fewer lines", limit)
			}
			text.Write(part)
		} else if passed += len(part); passed > maxPassedOver {
			return nil, problem(FileTooLarge, "line %d is behind more than %d bytes of it", first, maxPassedOver)
		}
		switch err {
		case nil:
			if skip > 0 {
				skip--
			} else if most > 0 {
				most--
			}
		case bufio.ErrBufferFull:
		case io.EOF:
			return text.Bytes(), nil
		default:
			return nil, err
		}
	}
	return text.Bytes(), nil
}
