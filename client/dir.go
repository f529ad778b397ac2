package client

import (
	"path/filepath"

	"github.com/errand-acp/errand/internal/proc"
)

// CheckDir returns dir with its symlinks resolved, or an error of kind config if it is
// not absolute, not there, no directory, or cannot be entered.
func CheckDir(dir string) (string, error) {
	canonical, err := proc.CheckDir(dir)
	if err != nil {
		return "", configError("%w", err)
	}
	return canonical, nil
}

// AbsDir makes dir absolute against this process's directory, and checks it as
// CheckDir does. An empty dir is refused.
func AbsDir(dir string) (string, error) {
	if dir == "" {
		return "", configError("the directory is empty")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", configError("directory %q: %w", dir, err)
	}
	return CheckDir(abs)
}

// SweepMode says how far the shutdown of an agent looks for what it left behind.
type SweepMode string

// The sweep modes. The zero value means SweepRun.
const (
	// SweepRun ends every process of the run, wherever it moved to.
	SweepRun SweepMode = SweepMode(proc.SweepRun)
	// SweepGroup ends the process's group only: for an agent whose daemon is shared
	// between runs.
	SweepGroup SweepMode = SweepMode(proc.SweepGroup)
)
