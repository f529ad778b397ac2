package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

const docFile = "docs/interop.md"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	bin, err := os.MkdirTemp("", "errand-interop")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	errand := filepath.Join(bin, "errand")
	if err := command(ctx, ".", "go", "build", "-o", errand, "./cmd/errand"); err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}

	var lines []string
	var failures []error
	skipped := false
	for _, a := range agents {
		args, err := a.install(ctx)
		if err != nil {
			fmt.Printf("SKIPPED %s: it cannot be installed here: %v\n", a.name, err)
			skipped = true
			continue
		}
		results := make([]result, len(cases))
		var wg sync.WaitGroup
		for i := range cases {
			wg.Go(func() { results[i] = drive(ctx, errand, args, cases[i]) })
		}
		wg.Wait()
		for i, r := range results {
			if r.err == nil {
				r.err = cases[i].check(&a, &r)
			}
			fmt.Printf("%s, %s: %s in %.1f s\n", a.name, cases[i].what, r.verdict(), r.took.Seconds())
			if r.err != nil {
				failures = append(failures, fmt.Errorf("%s, %s: %w", a.name, cases[i].what, r.err))
			}
			lines = append(lines, r.line(a.name, cases[i].what))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if skipped {
		fmt.Printf("%s is left as it was: not every agent was driven\n", docFile)
		return nil
	}
	return os.WriteFile(docFile, []byte(docText+strings.Join(lines, "")), 0o644)
}

// testCase is one way to drive an agent.
type testCase struct {
	what   string
	flags  []string
	status int
	check  func(*agent, *result) error
}

var cases = []testCase{
	{
		what: "permission allowed", flags: []string{"--permission", "allow"},
		check: func(a *agent, r *result) error { return checkTurn(r, a.allowed, permission.Allowed) },
	},
	{
		what: "permission rejected", flags: []string{"--permission", "reject"},
		check: func(a *agent, r *result) error { return checkTurn(r, a.rejected, permission.Denied) },
	},
	{
		what: "deadline in mid turn", flags: []string{"--timeout", "2s"}, status: 124,
		check: func(_ *agent, r *result) error {
			if r.Stop != stopreason.Aborted || r.Error == nil || r.Error.Kind != client.KindTimeout {
				return fmt.Errorf("stop %q, error %v; want aborted by the timeout", r.Stop, r.Error)
			}
			if r.StopReason == nil || *r.StopReason != stopreason.Cancelled {
				return errors.New("the agent's own answer to the cancel was not waited for")
			}
			return nil
		},
	},
}

// checkTurn checks a turn that ran to its end.
func checkTurn(r *result, answer string, decision permission.Outcome) error {
	if r.Stop != stopreason.Completed || r.Error != nil {
		return fmt.Errorf("stop %q, error %v; want completed", r.Stop, r.Error)
	}
	if !strings.Contains(r.Output, answer) {
		return fmt.Errorf("output %q does not say %q", r.Output, answer)
	}
	if len(r.Permissions) != 1 || r.Permissions[0].Decision != decision {
		return fmt.Errorf("permissions %+v, want one that is %s", r.Permissions, decision)
	}
	if len(r.ToolCalls) != 2 || r.ToolCalls[0].Permitted != nil || r.ToolCalls[1].Permitted == nil || *r.ToolCalls[1].Permitted != (decision == permission.Allowed) {
		return fmt.Errorf("tool calls %+v, want one that nobody was asked about and one that was %s", r.ToolCalls, decision)
	}
	return nil
}

// result is what came of one run.
type result struct {
	subagent.Result
	took time.Duration
	err  error
}

// drive runs errand once and checks what must hold whatever the case.
func drive(ctx context.Context, errand string, args []string, c testCase) (r result) {
	dir, err := os.MkdirTemp("", "errand-interop")
	if err != nil {
		return result{err: err}
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, errand, append(append([]string{"run", "--json", "--dir", dir}, c.flags...), append([]string{"Improve the configuration", "--"}, args...)...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err = cmd.Run()
	r.took = time.Since(start)
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		r.err = err
		return r
	}
	if err := json.Unmarshal(stdout.Bytes(), &r.Result); err != nil {
		r.err = fmt.Errorf("stdout %q is no result: %w; stderr: %s", stdout.String(), err, stderr.String())
		return r
	}
	switch status := cmd.ProcessState.ExitCode(); {
	case status != c.status:
		r.err = fmt.Errorf("exit status %d, want %d; stderr: %s", status, c.status, stderr.String())
	case r.Exit == nil || r.Exit.Code == nil || *r.Exit.Code != 0:
		r.err = fmt.Errorf("the agent ended with %v, want exit status 0", r.Exit)
	default:
		r.err = nothingLeft(r.RunID)
	}
	return r
}

// nothingLeft returns an error if a process carries the mark of the run, where the
// system lets us look.
func nothingLeft(run string) error {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, file := range environs {
		// What cannot be read is not ours, or has gone.
		if environ, err := os.ReadFile(file); err == nil && bytes.Contains(environ, []byte(run)) {
			return fmt.Errorf("a process of the run is left: %s", filepath.Dir(file))
		}
	}
	return nil
}

func (r *result) verdict() string {
	if r.err != nil {
		return "FAILED: " + r.err.Error()
	}
	return "as it should be"
}

// line is the result as a line of the table.
func (r *result) line(agent, what string) string {
	decisions := []string{"none asked"}
	if len(r.Permissions) > 0 {
		decisions = nil
		for _, p := range r.Permissions {
			decisions = append(decisions, string(p.Decision))
		}
	}
	reason := "none"
	if r.StopReason != nil {
		reason = *r.StopReason
	}
	return fmt.Sprintf("| %s | %s | %s (`%s`) | %s | %d | %s, %s |\n",
		agent, what, r.Stop, reason, strings.Join(decisions, ", "), len(r.ToolCalls), r.Exit, r.Exit.Rung)
}

const docText = `# Agents that nobody here wrote

Made by ` + "`make interop`" + `, which drives each through ` + "`errand run --json`" + ` and checks outcome, answer,
permission record, exit status, and that no process is left. Do not edit.

The agents are the examples of two ACP SDKs. They ask no model: each plays a turn of a few seconds with two
tool calls and asks for permission before the second.

| agent | task | stop (stop reason) | permission | tool calls | process ended by |
|---|---|---|---|---|---|
`
