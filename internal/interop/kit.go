package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// conversation is what the test kit is to hold with an agent. It needs a *testing.T, so
// this package's test binary does it: TestKit.
type conversation struct {
	Command []string
	Env     []string
	Dir     string
	// Prompt is asked for a text; "" leaves that out.
	Prompt string
	// Write makes the agent ask; it is allowed, and then File is there with the text
	// word. Without a File the answer has Says.
	Write, File, Says string
}

// converse holds one conversation through client/acptest, offline.
func converse(ctx context.Context, kit string, a *agent, root string) (cell string, err error) {
	err = a.at(ctx, root, false, func(p *place) error {
		c := conversation{Command: a.commandAt(p), Env: a.envAt(p), Dir: p.dir}
		if a.model {
			c.Prompt = "Answer with the one word " + word + "."
		}
		if a.asks {
			c.Write = strings.ReplaceAll(writePrompt, "{dir}", p.dir)
			c.File, c.Says = filepath.Join(p.dir, wroteFile), ""
			if !a.model {
				c.File, c.Says = "", exampleAllowed
			}
		}
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		file := filepath.Join(p.temp, "conversation.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, kit, "-test.run=^TestKit$", "-test.v", "-conversation", file)
		cmd.Dir = p.temp
		out, err := cmd.CombinedOutput()
		switch _, failed := errors.AsType[*exec.ExitError](err); {
		case err == nil && strings.Contains(string(out), "--- PASS: TestKit"):
			cell = "passes"
			return nil
		case err == nil || failed:
			cell = "fails"
			return a.known(fmt.Errorf("the kit, %v: %s", cmd.ProcessState, out))
		}
		return err
	})
	return cell, err
}
