package worktree

import (
	"io/fs"
	"os"
	"path/filepath"
)

// removeAll removes path also where a program has left directories that cannot be
// written, as the module cache of Go has them, or while something is still at work there.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	for try := 0; err != nil && try < 3; try++ {
		filepath.WalkDir(path, func(path string, e fs.DirEntry, _ error) error {
			if e != nil && e.IsDir() {
				os.Chmod(path, 0o700) // before it is read
			}
			return nil
		})
		err = os.RemoveAll(path)
	}
	return err
}
