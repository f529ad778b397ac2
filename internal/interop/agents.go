package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// cache is where agents are installed; git ignores it.
const cache = ".cache/interop"

// agent is somebody else's agent.
type agent struct {
	name string
	// install makes the agent ready and returns its command, absolute.
	install func(context.Context) ([]string, error)
	// answers are what its final answer says after an allowed and a rejected request.
	allowed, rejected string
}

// The two are examples of the protocol's SDKs. Neither asks a model: each plays the
// same turn of about five seconds, two tool calls long, and asks before the second.
var agents = []agent{
	{
		name:     "acp-go-sdk v0.13.5, example/agent",
		install:  goExample,
		allowed:  "successfully updated the configuration",
		rejected: "skip the configuration update",
	},
	{
		name:     "@agentclientprotocol/sdk 1.9.0, examples/agent.js",
		install:  npmExample,
		allowed:  "successfully updated the configuration",
		rejected: "skip the configuration update",
	},
}

// goExample builds the example agent of the SDK at the version that go.mod has.
func goExample(ctx context.Context) ([]string, error) {
	file, err := filepath.Abs(filepath.Join(cache, "go-example-agent"))
	if err != nil {
		return nil, err
	}
	return []string{file}, command(ctx, ".", "go", "build", "-o", file, "github.com/coder/acp-go-sdk/example/agent")
}

// npmExample installs what npm/package-lock.json pins. Nothing of it runs on install.
func npmExample(ctx context.Context) ([]string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Join(cache, "npm"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("internal/interop/npm", name))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	if err := command(ctx, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return nil, err
	}
	return []string{node, filepath.Join(dir, "node_modules/@agentclientprotocol/sdk/dist/examples/agent.js")}, nil
}

// command runs a program; what it said is in the error.
func command(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", cmd, err), errors.New(string(out)))
	}
	return nil
}
