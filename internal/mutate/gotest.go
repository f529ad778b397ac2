package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// hang is when a test binary is taken for hung: go test then ends it, and what
	// had not passed has failed.
	hang = 90 * time.Second
	// stuck is when go test itself is given up.
	stuck = hang + 5*time.Minute
)

// outcomes maps each row to how its subtests ended: "pass", "fail", "skip", or "run"
// for one that a crash of the binary kept from ending.
type outcomes map[string]string

// goTest runs the parity tests of the rows in pkg, all of them if there are none.
// What the tests themselves do is no error; a package that does not build is.
func goTest(ctx context.Context, dir, pkg, overlay string, rows []string) (outcomes, error) {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	pattern := "^TestParity$"
	if len(rows) > 0 {
		pattern += "/^(" + strings.Join(rows, "|") + ")([^0-9]|$)"
	}
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout", hang.String(), "-run", pattern}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second // a process that a test left behind may hold the pipe
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	return readEvents(string(out))
}

var rowTest = regexp.MustCompile(`^TestParity/([A-Z][0-9]+)([^0-9]|$)`)

// readEvents reads the output of go test -json.
func readEvents(out string) (outcomes, error) {
	tests := map[string]string{} // the last action of each test
	var build strings.Builder
	for line := range strings.Lines(out) {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		switch e.Action {
		case "build-output":
			build.WriteString(e.Output)
		case "build-fail":
			return nil, fmt.Errorf("it does not build:\n%s", strings.TrimSpace(build.String()))
		case "run", "pass", "fail", "skip":
			tests[e.Test] = e.Action
		}
	}
	// Of the tests of a row the worst decides.
	worst := []string{"", "pass", "skip", "run", "fail"}
	results := outcomes{}
	for test, action := range tests {
		if row := rowTest.FindStringSubmatch(test); row != nil && slices.Index(worst, action) > slices.Index(worst, results[row[1]]) {
			results[row[1]] = action
		}
	}
	return results, nil
}
