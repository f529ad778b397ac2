package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/errand-acp/errand/client"
)

// liveCases are those of cases that need nothing of the model but that it does as it
// is asked.
var liveCases = []string{"prompt", "request allowed", "request rejected", "cancel in mid turn"}

// driveLive drives an agent that the user has installed, with the user's own settings,
// key and model. Here the agent has to do it all: answer, and write the file after an
// allow and not after a reject. Without a key it is skipped, and said to be.
func driveLive(ctx context.Context, errand, name string, out io.Writer) error {
	preset, ok := client.LookupPreset(name)
	if !ok {
		var names []string
		for _, p := range client.Presets() {
			names = append(names, p.Name)
		}
		return fmt.Errorf("no agent called %q is driven live; these are: %s", name, strings.Join(names, ", "))
	}
	flags := liveKeys(preset)
	var missing []string
	if len(flags) == 0 && len(preset.SecretEnv) > 0 {
		missing = append(missing, "it needs a key, in one of "+strings.Join(preset.SecretEnv, ", "))
	}
	if _, err := exec.LookPath(preset.Path); err != nil {
		missing = append(missing, fmt.Sprintf("%s is not installed: %s", preset.Path, preset.Install))
	}
	if len(missing) > 0 {
		fmt.Fprintf(out, "\nSKIPPED %s: %s. Nothing was tried.\n\n", name, strings.Join(missing, "; "))
		return nil
	}
	var failures []error
	for _, title := range liveCases {
		cell, err := caseOf(title).driveLive(ctx, errand, preset, flags)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s, %s: %w", name, title, err))
			cell = "FAILED: " + err.Error()
		}
		fmt.Fprintf(out, "%s, %s: %s\n", name, title, cell)
	}
	return errors.Join(failures...)
}

// liveKeys returns the flags that let the agent have those of its keys that are set.
func liveKeys(preset client.Preset) (flags []string) {
	for _, name := range preset.SecretEnv {
		if os.Getenv(name) != "" {
			flags = append(flags, "--env", name)
		}
	}
	return flags
}

func caseOf(title string) *testCase {
	for i := range cases {
		if cases[i].title == title {
			return &cases[i]
		}
	}
	panic("there is no case " + title)
}

// driveLive runs one case in the user's own environment, in a directory made for it.
func (c *testCase) driveLive(ctx context.Context, errand string, preset client.Preset, flags []string) (string, error) {
	a := &agent{name: preset.Name, model: true, ok: true}
	p, err := newPlace(a, "", "", "")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(p.temp)
	t := &task{
		prompt: strings.ReplaceAll(c.prompt, "{dir}", p.dir), permission: c.permission, interrupt: c.interrupt,
		env: os.Environ(), flags: append([]string{"--agent", a.name}, flags...),
		dir: p.dir, temp: p.temp, timeout: usual,
		stays: preset.Sweep == client.SweepGroup,
	}
	o, err := t.run(ctx, errand)
	if err != nil {
		return "", err
	}
	return c.tell(a, p, o)
}
