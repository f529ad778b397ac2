package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processesOf lists who is alive with this id among the runs it belongs to, but for this
// process itself. A zombie has no environment any more.
func processesOf(id string) []string {
	if id == "" {
		return nil
	}
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		dir := filepath.Dir(file)
		if filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte(id)) {
			continue
		}
		for entry := range strings.SplitSeq(string(environ), "\x00") {
			if runs, ok := strings.CutPrefix(entry, runVariable+"="); ok && slices.Contains(strings.Split(runs, ":"), id) {
				line, _ := os.ReadFile(dir + "/cmdline")
				found = append(found, fmt.Sprintf("%s: %s", filepath.Base(dir), clip(strings.ReplaceAll(string(line), "\x00", " "))))
			}
		}
	}
	return found
}

func countThreads() int {
	threads, _ := os.ReadDir("/proc/self/task")
	return len(threads)
}
