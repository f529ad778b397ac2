package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/errand-acp/errand/subagent"
)

// buildErrand builds the command line into dir and returns its file.
func buildErrand(dir string) (string, error) {
	file := filepath.Join(dir, "errand")
	out, err := exec.Command("go", "build", "-o", file, "github.com/errand-acp/errand/cmd/errand").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building errand: %w\n%s", err, out)
	}
	return file, nil
}

// signals are what the command line is sent where a library's caller would end the run.
var signals = map[string]syscall.Signal{"context": syscall.SIGINT, "cancel": syscall.SIGTERM, "close": syscall.SIGHUP}

// throughErrand carries the scene out by `errand run --json`.
func (p *played) throughErrand(errand, dir string) {
	cmd := exec.Command(errand, p.flags(dir)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		p.miss("errand did not start", err.Error())
		return
	}
	over := make(chan struct{})
	var err error
	go func() { // ends with errand
		defer close(over)
		err = cmd.Wait()
	}()
	if p.caller.onFile && within(over, func() bool { return exists(filepath.Join(dir, goFile)) }) {
		cmd.Process.Signal(signals[p.caller.by])
	}
	<-over
	status := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
	}
	var res subagent.Result
	if err := json.Unmarshal(stdout.Bytes(), &res); err != nil {
		p.miss("its stdout is no result", fmt.Sprintf("%v, status %d\nstdout: %s\nstderr: %s", err, status, &stdout, &stderr))
		return
	}
	p.result = &res
	p.got = observe(&res, res.SessionID != nil, 0)
	if want := p.status(&res); status != want {
		p.miss("the exit status", fmt.Sprintf("%d, want %d\nstderr: %s", status, want, &stderr))
	}
	if hasCanary(stderr.String()) {
		p.miss("a secret on stderr", stderr.String())
	}
}

// flags are the arguments of errand for the scene.
func (p *played) flags(dir string) []string {
	policy := "reject"
	if p.allow {
		policy = "allow"
	}
	args := []string{"run", "--json", "--dir", dir, "--permission", policy, "--env", canary.givenName}
	o := p.options
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"--timeout", p.caller.deadline}, {"--start-timeout", o.StartTimeout}, {"--idle-timeout", o.IdleTimeout},
		{"--cancel-grace", o.Graces.Cancel}, {"--eof-grace", o.Graces.EOF}, {"--term-grace", o.Graces.Term},
	} {
		if f.value > 0 {
			args = append(args, f.name, f.value.String())
		}
	}
	agent := p.agent()
	args = append(args, p.request.Prompt[0].Text.Text, "--", agent.Path)
	return append(args, agent.Args...)
}

// status is what errand is to exit with for a result.
func (p *played) status(res *subagent.Result) int {
	if e := res.Error; e != nil {
		switch e.Kind {
		case "timeout", "idle_timeout", "startup_timeout":
			return 124
		case "config":
			return 2
		}
		return 1
	}
	switch res.Stop {
	case "completed":
		return 0
	case "refusal":
		return 3
	case "max_tokens":
		return 4
	case "aborted":
		if p.caller.by != "" {
			return 128 + int(signals[p.caller.by])
		}
	}
	return 1
}
