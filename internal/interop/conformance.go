package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/errand-acp/errand/internal/conform"
)

// checkPrompts say to the model server what errand check wants of a model.
var checkPrompts = []string{
	"text=Answer with the one word " + word + ".",
	"long=Count slowly from 1 to 500, in words.",
	"tool=Write a file conformance.txt with the text HERE.",
	"command=Run the command `echo errand was here`.",
}

// checkAgent runs errand check offline. Whatever it finds is the agent's; that it
// reports at all is ours.
func checkAgent(ctx context.Context, errand string, a *agent, root string) (findings []conform.Finding, err error) {
	err = a.at(ctx, root, false, func(p *place) error {
		args := []string{"check", "--json", "--fail-on", "never", "--dir", p.dir}
		for _, prompt := range checkPrompts {
			args = append(args, "--prompt", prompt)
		}
		args = append(append(append(args, a.pass()...), "--"), a.commandAt(p)...)
		cmd := errandCommand(ctx, errand, args)
		cmd.Env = a.envAt(p)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("errand check: %w; stderr: %s", err, stderr.Bytes())
		}
		var report conform.Report
		if err := json.Unmarshal(stdout, &report); err != nil {
			return fmt.Errorf("errand check printed no report: %w", err)
		}
		findings = report.Findings
		if !slices.ContainsFunc(findings, func(f conform.Finding) bool { return f.Verdict == conform.Pass }) {
			return errors.New("errand check: not one rule could be tried")
		}
		return nil
	})
	return findings, err
}
