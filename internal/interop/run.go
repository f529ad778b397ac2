package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// graceful is how long a cancelled turn may take to end, on a machine that is busy.
const graceful = 20 * time.Second

// task is what errand is given to do.
type task struct {
	prompt     string
	permission string        // --permission, or "pending": nobody ever decides
	interrupt  bool          // by Ctrl-C: in mid turn, or once a permission is pending
	env        []string      // errand's environment
	flags      []string      // errand's, beyond those that the above takes
	agent      []string      // the rest of errand's command line: a command after --
	dir, temp  string        // the agent's directory, and one for our own files
	timeout    time.Duration // of the run
	stays      bool          // what the agent leaves behind is meant to stay
}

// outcome is what came of a run.
type outcome struct {
	subagent.Result
	interrupted bool // it was still running when it was to be interrupted
}

// event is a line that errand prints with --events.
type event struct {
	Type   string
	Update struct{ SessionUpdate string }
	Result *subagent.Result
}

// run runs errand and checks what it guarantees whatever the agent does.
func (t *task) run(ctx context.Context, errand string) (*outcome, error) {
	args := []string{"run", "--events", "--dir", t.dir, "--timeout", t.timeout.String(), "--cancel-grace", graceful.String()}
	marker := filepath.Join(t.temp, "pending")
	if t.permission == pending {
		args = append(args, "--permission-command", "sh -c 'touch "+marker+" && exec sleep 600'")
	} else {
		args = append(args, "--permission", t.permission)
	}
	args = append(append(append(args, t.flags...), t.prompt), t.agent...)

	ctx, cancel := context.WithTimeout(ctx, t.timeout+time.Minute)
	defer cancel()
	cmd := errandCommand(ctx, errand, args)
	cmd.Env = t.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	o := &outcome{}
	spoke := make(chan struct{})
	over := make(chan struct{})
	interrupted := make(chan bool, 1)
	// Ends when the moment has come, or errand has ended.
	go func() {
		interrupted <- t.interrupt && t.moment(spoke, over, marker) && cmd.Process.Signal(os.Interrupt) == nil
	}()
	results, err := read(stdout, spoke)
	close(over)
	o.interrupted = <-interrupted
	waitErr := cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](waitErr); waitErr != nil && !exited {
		return nil, waitErr
	}
	if err == nil && len(results) != 1 {
		err = fmt.Errorf("%d results, want one", len(results))
	}
	if err == nil {
		o.Result = *results[0]
		err = t.guarantees(o, cmd.ProcessState.ExitCode())
	}
	if err != nil {
		return nil, fmt.Errorf("%w; stderr: %s", err, stderr.Bytes())
	}
	return o, nil
}

// errandCommand is errand, which is interrupted when ctx ends: it cleans up behind its agent.
func errandCommand(ctx context.Context, errand string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, errand, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd
}

const pending = "pending"

// moment waits until the run is to be interrupted; false says that errand has ended.
func (t *task) moment(spoke, over <-chan struct{}, marker string) bool {
	if t.permission != pending {
		select {
		case <-spoke:
			return true
		case <-over:
			return false
		}
	}
	for {
		if _, err := os.Stat(marker); err == nil {
			return true
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-over:
			return false
		}
	}
}

// read returns the results among the events, and closes spoke when the agent's answer
// has begun.
func read(stdout io.Reader, spoke chan<- struct{}) ([]*subagent.Result, error) {
	var results []*subagent.Result
	begun := false
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return results, nil
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			_, _ = io.Copy(io.Discard, lines)
			return nil, fmt.Errorf("line %q of stdout is no event: %w", line, err)
		}
		if e.Result != nil {
			results = append(results, e.Result)
		}
		if e.Update.SessionUpdate == "agent_message_chunk" && !begun {
			begun = true
			close(spoke)
		}
	}
}

// guarantees checks a result, its exit status, and that nothing is left.
func (t *task) guarantees(o *outcome, status int) error {
	if want := t.status(o); status != want {
		return fmt.Errorf("exit status %d, want %d for stop %q, error %v", status, want, o.Stop, o.Error)
	}
	if o.Stop == stopreason.Completed && reason(o) != stopreason.EndTurn {
		return fmt.Errorf("stop %q for the stop reason %q", o.Stop, reason(o))
	}
	if o.Stop == stopreason.Error && o.Error == nil {
		return errors.New("an error that is not told")
	}
	if o.interrupted && o.Stop != stopreason.Aborted {
		return fmt.Errorf("stop %q after an interrupt, want aborted", o.Stop)
	}
	want := map[string]permission.Outcome{"allow": permission.Allowed, "reject": permission.Denied, pending: permission.Cancelled}[t.permission]
	for _, p := range o.Permissions {
		if p.Decision != want && !p.Ambiguous && p.Decision != permission.Cancelled {
			return fmt.Errorf("a permission request was %s, want %s", p.Decision, want)
		}
	}
	if o.Exit == nil {
		return errors.New("it is not said how the agent ended")
	}
	if t.stays {
		return nil
	}
	return nothingLeft(o.RunID)
}

// status is the exit status that errand promises.
func (t *task) status(o *outcome) int {
	switch {
	case o.interrupted:
		return 130
	case o.Error != nil && (o.Error.Kind == client.KindTimeout || o.Error.Kind == client.KindIdleTimeout || o.Error.Kind == client.KindStartupTimeout):
		return 124
	case o.Stop == stopreason.Completed:
		return 0
	case o.Stop == stopreason.Refusal:
		return 3
	case o.Stop == stopreason.MaxTokens:
		return 4
	}
	return 1
}

// reason is the agent's stop reason.
func reason(o *outcome) string {
	if o.StopReason == nil {
		return ""
	}
	return *o.StopReason
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
