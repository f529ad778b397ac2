package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/subagent"
)

// maxPolicyFile is more than any policy that people write, in bytes.
const maxPolicyFile = 1 << 20

// policies fills in who decides what the agent may do, and what we do for it. What the
// user is to be warned of goes to t.
func (f *runFlags) policies(ctx context.Context, o *subagent.ACPOptions, t *task, con *console) (err error) {
	if o.Permission, err = f.decider(ctx, t, con); err != nil {
		return err
	}
	switch f.fs {
	case "none":
	case string(client.FilesRead), string(client.FilesWrite):
		o.Files = client.FileAccess(f.fs)
	default:
		return fmt.Errorf("--fs %q: there is none, read and write", f.fs)
	}
	o.Terminals = f.terminal
	switch m := client.SweepMode(f.sweep); m {
	case "":
	case client.SweepRun, client.SweepGroup:
		o.Sweep = m
	default:
		return fmt.Errorf("--sweep %q: there is %s and %s", f.sweep, client.SweepRun, client.SweepGroup)
	}
	return nil
}

// decider returns the permission policy. One of three says who decides: --permission,
// --permission-command, --policy; of the first only ask goes with a policy, and is who
// its questions are put to. A policy and a command both have to allow.
func (f *runFlags) decider(ctx context.Context, t *task, con *console) (permission.Policy, error) {
	asks := f.permission == "ask"
	switch {
	case f.permission != "reject" && f.permission != "allow" && !asks:
		return nil, fmt.Errorf("--permission %q: there is reject, allow and ask", f.permission)
	case f.permissionSet && f.commandSet:
		return nil, errors.New("--permission and --permission-command exclude each other: one of them decides")
	case f.permissionSet && f.policySet && !asks:
		return nil, fmt.Errorf("--policy and --permission %s exclude each other: the policy decides; --permission ask puts its questions to you", f.permission)
	}
	var rules *permission.Rules
	var err error
	if f.policySet {
		if rules, err = f.rules(ctx, t); err != nil {
			return nil, err
		}
	}
	switch {
	case f.commandSet:
		if t.command, err = newPermissionCommand(f.permissionCommand); err != nil {
			return nil, fmt.Errorf("--permission-command: %w", err)
		}
		if rules == nil {
			return t.command, nil
		}
		t.command.always = true // where the rules say so
		rules.Ask = t.command
		return commanded{rules, t.command}, nil
	case asks:
		if t.asker, err = con.asker(); err != nil {
			return nil, err
		}
		ask := permission.Ask{Func: t.asker.ask, Always: true} // whoever is asked may say always
		if rules == nil {
			return ask, nil
		}
		rules.Ask = ask
	}
	switch {
	case rules != nil:
		return rules, nil
	case f.permission == "allow":
		return permission.Allow(), nil
	}
	return permission.Reject(), nil
}

// rules reads the policy file. The end of ctx ends a file that does not come.
func (f *runFlags) rules(ctx context.Context, t *task) (*permission.Rules, error) {
	info, err := os.Stat(f.policy)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", f.policy)
	}
	var text []byte
	if err == nil {
		text, err = interruptible(ctx, func() ([]byte, error) { return readBounded(f.policy, maxPolicyFile) })
	}
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	rules, err := permission.ParseRules(text)
	if err != nil {
		return nil, fmt.Errorf("--policy %s: %w", f.policy, err)
	}
	for _, w := range rules.Warnings() {
		t.agent.notes = append(t.agent.notes, fmt.Sprintf("policy %s: %s", f.policy, w))
	}
	return rules, nil
}

// commanded is a policy of rules with a program, both of which have to allow. The
// program is who the rules ask; what they deny it is not told of.
type commanded struct {
	*permission.Rules
	command permission.Policy
}

// Decide implements permission.Policy.
func (c commanded) Decide(ctx context.Context, req permission.Request) permission.Decision {
	if c.Explain(req).Effect == permission.EffectAllow {
		return permission.Strictest(c.Rules, c.command).Decide(ctx, req)
	}
	return c.Rules.Decide(ctx, req)
}

// aside shows a line of what decides permissions.
func (s *screen) aside(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(text)
}
