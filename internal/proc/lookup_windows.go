package proc

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// program returns the file that path, an absolute one, is run from: path itself if
// it has an extension, else the first of PATHEXT with which it exists.
func program(path string, env []string) (string, error) {
	if filepath.Ext(path) != "" {
		if err := checkProgram(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	known, _ := lookup(env, "PATHEXT")
	err := error(fs.ErrNotExist)
	for ext := range strings.SplitSeq(cmp.Or(known, ".COM;.EXE;.BAT;.CMD"), ";") {
		if ext == "" {
			continue
		}
		if err = checkProgram(path + ext); err == nil {
			return path + ext, nil
		}
	}
	return "", err
}

// canExecute has nothing to say: the extension makes a program, and whether a
// directory can be entered is known only by trying.
func canExecute(string) error { return nil }
