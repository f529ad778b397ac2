package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// maxPolicyFile is more than any policy that people write, in bytes.
const maxPolicyFile = 1 << 20

// authority is who decides what an agent may do, as the flags say.
type authority struct {
	allow   bool               // whatever it asks for
	rules   *permission.Rules  // of --policy; nil without
	asker   *asker             // who is asked on the terminal; nil for nobody
	command *permissionCommand // the program that is asked; nil for none
	reasons *reasons           // of the rules; nil without them
}

// reasons are told why rules do not allow.
type reasons struct {
	tell func(string) // is told lines for people; nil for nobody
}

// policy is what decides, for one run or for several at once. attend, unless it is nil,
// is put around whoever is asked.
func (a *authority) policy(attend func(permission.Policy) permission.Policy) permission.Policy {
	var asked permission.Policy
	switch {
	case a.command != nil:
		asked = a.command
	case a.asker != nil:
		// Whoever is asked may say always. How long he may take the asker knows: a question
		// waits until the others are answered.
		asked = permission.Ask{Func: a.asker.ask, Always: true, Timeout: math.MaxInt64}
	}
	if asked != nil && attend != nil {
		asked = attend(asked)
	}
	switch {
	case a.rules != nil:
		rules := *a.rules
		rules.Ask = asked
		if a.command != nil {
			return reasoned{commanded{&rules, asked}, &rules, a.reasons}
		}
		return reasoned{&rules, &rules, a.reasons}
	case asked != nil:
		return asked
	case a.allow:
		return permission.Allow()
	}
	return permission.Reject()
}

// permit fills in who decides what the agent may do, and what we do for it. What the user
// is to be warned of goes to the notes.
func (f *runFlags) permit(ctx context.Context, s *settings, con *console) (err error) {
	if err := f.decider(ctx, s, con); err != nil {
		return err
	}
	o := &s.opts
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

// decider finds out who decides. One of three says that: --permission,
// --permission-command, --policy; of the first only ask goes with a policy, and is who
// its questions are put to. A policy and a command both have to allow.
func (f *runFlags) decider(ctx context.Context, s *settings, con *console) (err error) {
	asks := f.permission == "ask"
	switch {
	case f.permission != "reject" && f.permission != "allow" && !asks:
		return fmt.Errorf("--permission %q: there is reject, allow and ask", f.permission)
	case f.permissionSet && f.commandSet:
		return errors.New("--permission and --permission-command exclude each other: one of them decides")
	case f.permissionSet && f.policySet && !asks:
		return fmt.Errorf("--policy and --permission %s exclude each other: the policy decides; --permission ask puts its questions to you", f.permission)
	}
	s.allow = f.permission == "allow"
	if f.policySet {
		if s.rules, err = f.readRules(ctx, s); err != nil {
			return err
		}
		s.reasons = &reasons{}
	}
	switch {
	case f.commandSet:
		if s.command, err = newPermissionCommand(f.permissionCommand); err != nil {
			return fmt.Errorf("--permission-command: %w", err)
		}
		s.command.always = s.rules != nil // where the rules say so
	case asks:
		s.asker, err = con.asker()
	}
	return err
}

// readRules reads the policy file. The end of ctx ends a file that does not come.
func (f *runFlags) readRules(ctx context.Context, s *settings) (*permission.Rules, error) {
	if f.policy == "" {
		return nil, errors.New("--policy is empty")
	}
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
		s.notes = append(s.notes, fmt.Sprintf("policy %s: %s", f.policy, w))
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

// reasoned is a policy of rules that tells why they do not allow.
type reasoned struct {
	permission.Policy
	rules *permission.Rules
	*reasons
}

// Decide implements permission.Policy.
func (r reasoned) Decide(ctx context.Context, req permission.Request) permission.Decision {
	if r.tell != nil {
		for _, why := range r.rules.Misses(req) {
			r.tell("policy: " + why)
		}
	}
	return r.Policy.Decide(ctx, req)
}

// GuardsReads implements permission.ReadGuard.
func (r reasoned) GuardsReads() bool { return r.rules.GuardsReads() }

// Digest is that of the rules.
func (r reasoned) Digest() string { return r.rules.Digest() }

// aside shows a line of what decides permissions.
func (s *screen) aside(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(text)
}
