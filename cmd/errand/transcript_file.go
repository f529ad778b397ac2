package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mayEmpty says why the file of that name is not to be emptied for a transcript of the task,
// nil if it may be: it has another use in the same command, or it is no transcript. others are
// the files of flags.
func (t *task) mayEmpty(name string, con *console, others ...string) error {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // it is not there, or cannot be emptied, as who opens it will say
	}
	is := func(other os.FileInfo, err error) bool { return err == nil && os.SameFile(info, other) }
	named := func(file string) bool { return is(os.Stat(file)) }
	switch {
	case slices.ContainsFunc(others, named):
		return fmt.Errorf("%s is the file of another flag", name)
	case is(con.in.Stat()):
		return fmt.Errorf("%s is stdin", name)
	case is(con.out.Stat()):
		return fmt.Errorf("%s is stdout, which has the answer", name)
	case is(con.err.Stat()):
		return fmt.Errorf("%s is stderr", name)
	case slices.ContainsFunc(t.files(), named):
		return fmt.Errorf("%s is a file of the agent's command", name)
	case info.Size() == 0:
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 256)
	if n, _ := io.ReadFull(f, head); !transcriptHead.Match(head[:n]) {
		return fmt.Errorf("%s is not empty, and no transcript: it would be lost", name)
	}
	return nil
}

// transcriptHead is how a transcript begins.
var transcriptHead = regexp.MustCompile(`^(?:\x{FEFF})?\s*\{\s*"transcript"\s*:\s*\d+\s*[,}]`)

// files are those that the words of the agent's command may mean, here or where the agent
// is: the recording that it replays, its script, its prompts.
func (t *task) files() []string {
	argv := append([]string{t.agent.command.Path}, t.agent.command.Args...)
	var files []string
	for i, word := range argv {
		if i == 0 && filepath.Base(word) == word {
			continue // it is looked up
		}
		if _, value, ok := strings.Cut(word, "="); ok && value != "" {
			files = append(files, value, filepath.Join(t.dir, value))
		}
		files = append(files, word)
		if !filepath.IsAbs(word) {
			files = append(files, filepath.Join(t.dir, word))
		}
	}
	return append(files, filesOf(t.dir, argv)...)
}
