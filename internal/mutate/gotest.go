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

// outcomes maps each test to how it ended: "pass", "fail", "skip", or "run" for one that
// a crash of the binary kept from ending.
type outcomes map[string]string

// goTest runs those of pkg's tests that targets name. What the tests themselves do is no
// error; a package that does not build is.
func goTest(ctx context.Context, dir, pkg, overlay string, targets []string) (outcomes, error) {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout", hang.String(), "-run", runPattern(targets)}
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

// runPattern is go test's -run for targets.
func runPattern(targets []string) string {
	var patterns []string
	for _, target := range targets {
		if rowPattern.MatchString(target) {
			patterns = append(patterns, "^(TestParity|TestFaults)$/^"+target+"([^0-9]|$)")
			continue
		}
		var levels []string
		for name := range strings.SplitSeq(target, "/") {
			levels = append(levels, "^"+regexp.QuoteMeta(name)+"$")
		}
		patterns = append(patterns, strings.Join(levels, "/"))
	}
	return strings.Join(patterns, "|")
}

var rowTest = regexp.MustCompile(`^(?:TestParity|TestFaults)/([A-Z][0-9]+)([^0-9]|$)`)

// of returns how a target ended, empty if it was not run. Of the subtests of a row the
// worst decides.
func (o outcomes) of(target string) string {
	if !rowPattern.MatchString(target) {
		return o[target]
	}
	worst, result := []string{"", "pass", "skip", "run", "fail"}, ""
	for test, action := range o {
		if row := rowTest.FindStringSubmatch(test); row != nil && row[1] == target && slices.Index(worst, action) > slices.Index(worst, result) {
			result = action
		}
	}
	return result
}

// readEvents reads the output of go test -json.
func readEvents(out string) (outcomes, error) {
	tests := outcomes{} // the last action of each test
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
	return tests, nil
}
