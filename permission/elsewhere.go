package permission

import (
	"path/filepath"
	"strings"
)

// elsewhere returns what words of a command that begin with .. may mean where a shell has
// gone elsewhere before: cd src && cat ../secret/key. It is the rest of them in the command's
// own directory, and all of them below each directory that is gone to.
func (f *Facts) elsewhere(c Command) []Path {
	if !c.Shell && !f.launches(c) {
		return nil
	}
	var out []Path
	words, gone := c.words(), []string{}
	for i, word := range words {
		if i > 0 && (words[i-1] == "cd" || words[i-1] == "pushd") && len(gone) < maxBraces {
			gone = append(gone, word)
		}
	}
	for _, word := range words {
		rest := word
		for rest == ".." || strings.HasPrefix(rest, "../") {
			rest = strings.TrimLeft(strings.TrimPrefix(rest, ".."), "/")
		}
		if rest == word || len(out) > maxFindings || !f.at.spend(256) {
			continue
		}
		if rest != "" {
			out = append(out, f.at.ours(rest, c.Dir, "command")...)
		}
		for _, dir := range gone {
			if !filepath.IsAbs(dir) {
				dir = c.Dir + string(filepath.Separator) + dir
			}
			out = append(out, f.at.ours(word, dir, "command")...)
		}
	}
	return out
}
