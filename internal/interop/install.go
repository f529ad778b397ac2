package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
)

// cache is where agents are installed; git ignores it.
const cache = ".cache/interop"

// locks has a folder for each agent from npm: package.json names its one package, and
// package-lock.json pins that and all it depends on, with digests.
//
//go:embed npm
var locks embed.FS

// install makes the agent ready and returns where it is, absolute.
func (a *agent) install(ctx context.Context) (root string, err error) {
	root, err = filepath.Abs(filepath.Join(cache, a.name))
	if err != nil {
		return "", err
	}
	if a.npm {
		return root, npmInstall(ctx, a.name, root)
	}
	return root, command(ctx, ".", "go", "build", "-o", filepath.Join(root, "agent"), a.goPackage)
}

// npmInstall installs into root what is pinned for the agent, and nothing else: npm ci
// refuses a package.json that says otherwise and packages that have another digest. No
// script of a package runs.
func npmInstall(ctx context.Context, name, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for _, file := range []string{"package.json", "package-lock.json"} {
		text, err := locks.ReadFile(path.Join("npm", name, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, file), text, 0o644); err != nil {
			return err
		}
	}
	err := command(ctx, root, "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund",
		"--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000") // a network that is not there is soon known
	if err != nil && (errors.Is(err, exec.ErrNotFound) || slices.Contains(notHere, npmCode(err.Error()))) {
		return fmt.Errorf("%w: %w", errNotHere, err)
	}
	return err
}

// errNotHere is that an agent cannot be had here, which is nobody's fault. Whatever else
// npm complains of is a failure: above all that a package is not the one that is pinned.
var errNotHere = errors.New("it cannot be installed here")

// notHere are npm's codes for a network that is not there, or lets nobody out, and for another
// system.
var notHere = []string{
	"ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "ENOTCACHED",
	"ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "ECONNECTIONTIMEOUT", "EIDLETIMEOUT", "ERESPONSETIMEOUT", "ETRANSFERTIMEOUT",
	"E403", "E407", "E429", "E500", "E502", "E503", "E504",
	"EBADPLATFORM",
}

var codeLine = regexp.MustCompile(`(?m)^npm (?:error|ERR!) code (\S+)\r?$`)

// npmCode is the code of what npm says went wrong.
func npmCode(said string) string {
	if found := codeLine.FindStringSubmatch(said); found != nil {
		return found[1]
	}
	return ""
}

// version is the version that the lock file pins of the agent's own package.
func (a *agent) version() (string, error) {
	if !a.npm {
		return "", nil
	}
	text, err := locks.ReadFile(path.Join("npm", a.name, "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &manifest); err != nil {
		return "", err
	}
	for _, version := range manifest.Dependencies { // there is one
		return version, nil
	}
	return "", fmt.Errorf("npm/%s/package.json names no package", a.name)
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
