package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/errand-acp/errand/permission"
)

// FileOp is what was done with a file.
type FileOp string

// The file operations.
const (
	FileRead  FileOp = "read"
	FileWrite FileOp = "write"
)

// FileRecord is a file that an agent read or wrote through us, or wanted to. Its JSON is
// part of the result's contract.
type FileRecord struct {
	// SessionID is the session that the agent named, one of ours.
	SessionID string `json:"sessionId"`
	// ToolCallID is our name for it in the question to the policy, as in its record; null
	// where the policy was not asked.
	ToolCallID *string `json:"toolCallId"`
	// Op is what was to be done.
	Op FileOp `json:"op"`
	// Path is the file, absolute, with symbolic links resolved where that could be done.
	Path string `json:"path"`
	// Bytes is how much text was read or written.
	Bytes int `json:"bytes"`
	// Missing is set for a read of a file that was not there and was answered as an
	// empty one: agents that may write read what they are about to make.
	Missing bool `json:"missing"`
	// Error is why it was not done; null where it was.
	Error *string `json:"error"`
	// Ms is the time it took, in milliseconds, with the decision on it.
	Ms float64 `json:"ms"`
}

// readTextFile serves fs/read_text_file.
func (a *Agent) readTextFile(ctx context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	var res acp.ReadTextFileResponse
	err := a.file(ctx, r.SessionId, FileRead, r.Path, func(ctx context.Context, s *Session, t *target, rec *FileRecord) error {
		skip, most, err := window(r.Line, r.Limit)
		if err != nil {
			return err
		}
		if err := a.mayRead(ctx, s, t, rec); err != nil {
			return err
		}
		text, err := t.read(ctx, skip, most)
		if errors.Is(err, fs.ErrNotExist) && a.opts.Files == FilesWrite {
			rec.Missing, err = true, nil
		}
		res.Content, rec.Bytes = text, len(text)
		return err
	})
	return res, err
}

// mayRead asks the policy where it wants to be asked, and about sensitive files always.
func (a *Agent) mayRead(ctx context.Context, s *Session, t *target, rec *FileRecord) error {
	at := t.at()
	req := permission.Request{}
	a.surroundings(&req)
	if !permission.GuardsReads(a.opts.Permission) && !permission.Sensitive(at, req.Home) && !permission.Sensitive(at, req.UserHome) {
		return nil
	}
	return a.decideFile(ctx, s, t, rec, act{
		method: acp.ClientMethodFsReadTextFile, kind: acp.ToolKindRead,
		title: "Read " + at, path: at, input: map[string]any{"path": at},
	})
}

// decideFile is decide for a file. It is the same afterwards, or there is an error.
func (a *Agent) decideFile(ctx context.Context, s *Session, t *target, rec *FileRecord, act act) error {
	id := a.actID()
	rec.ToolCallID = &id
	if _, err := a.decide(ctx, s, id, act); err != nil {
		return err
	}
	return t.unchanged()
}

// writeTextFile serves fs/write_text_file.
func (a *Agent) writeTextFile(ctx context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, a.file(ctx, r.SessionId, FileWrite, r.Path, func(ctx context.Context, s *Session, t *target, rec *FileRecord) error {
		at, old := t.at(), t.show(ctx)
		if err := a.decideFile(ctx, s, t, rec, act{
			method: acp.ClientMethodFsWriteTextFile, kind: acp.ToolKindEdit,
			title: "Write " + at, path: at,
			diff:  &acp.ToolCallContentDiff{Path: at, OldText: old.text, NewText: r.Content, Type: "diff"},
			input: map[string]any{"path": at, "content": r.Content},
		}); err != nil {
			return err
		}
		rec.Bytes = len(r.Content)
		return t.write(ctx, r.Content, func() error { return t.still(ctx, old) })
	})
}

// file does something with a file of a session and tells of it. The target is where told
// leads: what is decided on is what is opened.
func (a *Agent) file(ctx context.Context, id acp.SessionId, op FileOp, told string, do func(ctx context.Context, s *Session, t *target, rec *FileRecord) error) error {
	since := time.Now()
	done, err := a.beginAct()
	if err != nil {
		return err
	}
	defer done()
	s, err := a.session(id)
	if err != nil {
		return err
	}
	w, err := s.workspace()
	if err != nil {
		return a.hostError(err)
	}
	ctx, end := s.inTurn(ctx)
	defer end()
	rec := FileRecord{SessionID: string(id), Op: op, Path: told}
	if ours, ok := a.paths.ours(told); !ok {
		err = errOutside
	} else if t, bad := w.find(ours); bad != nil {
		err = bad
	} else {
		defer t.close()
		rec.Path = t.at()
		err = do(ctx, s, t, &rec)
	}
	if errors.Is(err, context.Canceled) {
		err = &errDenied{over(ctx, s)}
	}
	if err != nil {
		if _, denied := errors.AsType[*errDenied](err); !denied {
			err = fileError(string(op), told, err)
		}
		rec.Bytes = 0
		text := a.redact.String(reason(err))
		rec.Error = &text
	}
	rec.Path = a.redact.String(rec.Path)
	rec.Ms = milliseconds(time.Since(since))
	if f := a.opts.ObserveFile; f != nil {
		a.tell(func() { f(rec) })
	}
	return a.hostError(err)
}

// reason is an error's text without the path, which is beside it.
func reason(err error) string {
	if e, ok := errors.AsType[*FileError](err); ok {
		return e.Err.Error()
	}
	if e, ok := errors.AsType[*acp.RequestError](err); ok {
		return e.Message
	}
	return err.Error()
}

// actID names an act of ours among tool calls.
func (a *Agent) actID() string { return fmt.Sprintf("errand-%d", a.acts.Add(1)) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// workspace opens the session's directory, once.
func (s *Session) workspace() (*Workspace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		o := &WorkspaceOptions{Write: s.agent.opts.Files == FilesWrite, MaxBytes: s.agent.opts.MaxFileBytes}
		w, err := OpenWorkspace(filepath.Clean(s.dir), o)
		if err != nil {
			return nil, err
		}
		s.files = w
	}
	return s.files, nil
}

// closeFiles lets go of the sessions' directories.
func (a *Agent) closeFiles() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		s.mu.Lock()
		if s.files != nil {
			s.files.Close()
		}
		s.mu.Unlock()
	}
}
