package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/proc"
)

// agentInfo is a preset, in the form of `errand agents --json`, and the file that
// would run.
type agentInfo struct {
	Name      string           `json:"name"`
	Title     string           `json:"title"`
	Verified  bool             `json:"verified"` // somebody has driven it with errand
	Command   []string         `json:"command"`
	File      *string          `json:"file"` // null where it is not installed
	Install   string           `json:"install"`
	Env       []string         `json:"env"`
	SecretEnv []string         `json:"secretEnv"`
	Graces    map[string]int64 `json:"gracesMs"` // those that are not the default
	Sweep     client.SweepMode `json:"sweep"`
	Quirks    []string         `json:"quirks"`
}

func newAgents(con *console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents that --agent knows, and which file would run",
		Long: `Agents lists the presets of --agent: how each agent is started, with what waits
and variables, whether it is installed, and which file would run. Any other ACP agent
is started with its command: errand run "…" -- COMMAND [ARG...]

An agent that is marked unverified is as its documentation says: nobody has driven it
with errand yet.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := listAgents()
			if err != nil {
				return err
			}
			text := agentTable(list)
			if asJSON {
				text = encode(list)
			}
			_, err = con.out.WriteString(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print them as one JSON array, with all that is known of each")
	return cmd
}

// listAgents returns the presets with what this machine has of them.
func listAgents() ([]agentInfo, error) {
	demo, err := demoPreset()
	if err != nil {
		return nil, err
	}
	dir, _ := os.Getwd() // one that is gone has no modules either
	var list []agentInfo
	for _, p := range append([]client.Preset{demo}, client.Presets()...) {
		info := agentInfo{
			Name: p.Name, Title: p.Title, Verified: !p.Unverified, Command: append([]string{p.Path}, p.Args...), Install: p.Install,
			Env: p.Env, SecretEnv: p.SecretEnv, Graces: map[string]int64{}, Sweep: cmp.Or(p.Sweep, client.SweepRun), Quirks: p.Quirks,
		}
		for name, d := range map[string]time.Duration{
			"cancel": p.Graces.Cancel, "close": p.Graces.Close, "eof": p.Graces.EOF, "term": p.Graces.Term, "kill": p.Graces.Kill,
		} {
			if d != 0 {
				info.Graces[name] = d.Milliseconds()
			}
		}
		if file, err := agentFile(p, dir, os.Environ()); err == nil {
			info.File = &file
		}
		list = append(list, info)
	}
	return list, nil
}

// nodeModules are the files that node, by the command of a preset, looks for in
// node_modules: that node is installed says nothing of them.
var nodeModules = map[string]string{"example-ts": "@agentclientprotocol/sdk/dist/examples/agent.js"}

// agentFile returns the file that would run as the preset, in dir with env.
func agentFile(p client.Preset, dir string, env []string) (string, error) {
	file, err := proc.LookPath(p.Path, env)
	if module := nodeModules[p.Name]; err == nil && module != "" {
		return findModule(module, dir, env)
	}
	return file, err
}

// findModule looks for a module's file where node does: in the node_modules of dir and
// of those above it, and in $NODE_PATH.
func findModule(module, dir string, env []string) (string, error) {
	var places []string
	for {
		places = append(places, filepath.Join(dir, "node_modules"))
		above := filepath.Dir(dir)
		if above == dir {
			break
		}
		dir = above
	}
	for _, entry := range slices.Backward(env) { // the last one counts
		if path, ok := strings.CutPrefix(entry, "NODE_PATH="); ok {
			places = append(places, filepath.SplitList(path)...)
			break
		}
	}
	for _, place := range places {
		file := filepath.Join(place, filepath.FromSlash(module))
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("there is no %s in node_modules: %w", module, fs.ErrNotExist)
}

func agentTable(list []agentInfo) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tAGENT\tFILE")
	for _, a := range list {
		file := "not installed: " + a.Install
		if a.File != nil {
			file = *a.File
		}
		title := a.Title
		if !a.Verified {
			title += " (unverified)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", a.Name, title, file)
	}
	w.Flush()
	return b.String()
}
