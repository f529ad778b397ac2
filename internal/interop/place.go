package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/errand-acp/errand/internal/modelserver"
)

// place is where one run takes place: nothing of it is there before or afterwards.
type place struct {
	temp string // the folder that has all but root
	root string // where the agent is installed
	home string // its HOME
	dir  string // its directory
	url  string // of the model server
	key  string // of the API
}

// newPlace makes the folders, and the agent's files in them.
func newPlace(a *agent, root, url, key string) (_ *place, err error) {
	temp, err := os.MkdirTemp("", "errand-interop")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(temp)
		}
	}()
	if temp, err = filepath.EvalSymlinks(temp); err != nil { // some compare paths by their text
		return nil, err
	}
	p := &place{temp: temp, root: root, home: filepath.Join(temp, "home"), dir: filepath.Join(temp, "project"), url: url, key: key}
	for _, dir := range []string{p.home, p.dir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for name, text := range a.files {
		file := filepath.Join(p.home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(fill(text, p)), 0o600); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// at calls do with a place for one run, and a model server beside it.
func (a *agent) at(ctx context.Context, root string, wrongKey bool, do func(*place) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := modelserver.Start(ctx)
	if err != nil {
		return err
	}
	key := modelserver.Key
	if wrongKey {
		key = "wrong-" + key
	}
	p, err := newPlace(a, root, server.URL(), key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(p.temp)
	return do(p)
}

// commandAt is the agent's command here.
func (a *agent) commandAt(p *place) []string {
	words := slices.Clone(a.command)
	for i, word := range words {
		words[i] = fill(word, p)
	}
	return words
}

// envAt is the agent's environment here: its own variables, and beyond them no more than
// a program needs, without a way out to the network.
func (a *agent) envAt(p *place) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "LANG=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
	}
	for _, entry := range a.env {
		env = append(env, fill(entry, p))
	}
	return env
}

// pass are errand's flags that let the agent have the variable of its key, whose value
// stands in no command line.
func (a *agent) pass() []string {
	var flags []string
	for _, entry := range a.env {
		if name, value, _ := strings.Cut(entry, "="); strings.Contains(value, "{key}") {
			flags = append(flags, "--env", name)
		}
	}
	return flags
}
