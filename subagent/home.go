package subagent

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/home"
)

// Home gives each run of a provider a home directory of its own, so that runs of one agent
// at the same time share no settings, caches, locks or sockets, and none of them changes
// the user's. The zero value is an empty home.
//
// The agent finds it by HOME, and in it what XDG_CONFIG_HOME, XDG_DATA_HOME,
// XDG_STATE_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR and TMPDIR lead to (on Windows
// USERPROFILE, HOMEDRIVE, HOMEPATH and HOME, and APPDATA, LOCALAPPDATA, TEMP and TMP). A
// variable that leads to another place by itself still does (GOCACHE, CARGO_HOME, …):
// Command.Inherit can hold it back, Command.Env can set it. Ports are not covered.
//
// It is removed when everything the run started has ended, also where the run did not
// start; what cannot be removed is a warning in the result. A program that is killed leaves
// the homes of its runs behind: directories named errand-home-* in Parent. Nor does it keep
// anything from an agent that knows where else to look: it is no sandbox.
type Home struct {
	// Seed lists what is copied into each home before the agent starts, in this order:
	// settings, say, or the credentials it logs in with.
	Seed []HomeFile
	// Parent is the directory that homes are made in; empty means that for temporary
	// files. Paths of sockets are short: so should this be.
	Parent string
}

// HomeFile is a file or a directory that every home begins with.
type HomeFile struct {
	// From is what is copied: a regular file, or a directory with what is in it; a
	// relative path is relative to this process's directory. Links in a directory have to
	// lead to what is in it. Nobody but the user gets any rights to the copies.
	From string
	// To is where in the home, a relative path with slashes and without "..". A directory
	// may be copied to ".", the home itself.
	To string
}

// checked returns h with its paths made absolute, or an error if no home could be made.
func (h *Home) checked(cmd client.Command) (*Home, error) {
	for _, entry := range slices.Concat(cmd.Inherit.Set, cmd.Env) {
		if name, _, _ := strings.Cut(entry, "="); home.IsHome(name) {
			return nil, configError("Home: the agent cannot have a home of its own and %s from Command.Env or Inherit.Set", name)
		}
	}
	abs := &Home{Parent: h.Parent, Seed: slices.Clone(h.Seed)}
	for _, path := range abs.paths() {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, configError("Home: %q: %w", *path, err)
		}
	}
	if err := home.Check(abs.Parent, abs.seeds()); err != nil {
		return nil, configError("Home: %w", err)
	}
	return abs, nil
}

func (h *Home) paths() []*string {
	paths := []*string{&h.Parent}
	for i := range h.Seed {
		paths = append(paths, &h.Seed[i].From)
	}
	return paths
}

func (h *Home) seeds() []home.Seed {
	seeds := make([]home.Seed, len(h.Seed))
	for i, s := range h.Seed {
		seeds[i] = home.Seed(s)
	}
	return seeds
}

// make makes a home within the time for a start, and puts it into the environment of cmd,
// where what the caller sets comes after it.
func (h *Home) make(ctx context.Context, cmd *client.Command, timeout time.Duration) (*home.Home, error) {
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if timeout != client.NoTimeout {
		bounded, cancel = context.WithTimeout(ctx, cmp.Or(timeout, client.DefaultStartTimeout))
	}
	defer cancel()
	made, err := home.Make(bounded, h.Parent, h.seeds())
	if err != nil {
		kind := client.KindSpawn
		switch {
		case ctx.Err() != nil:
			kind, err = contextKind(ctx), errors.Join(err, contextError(ctx))
		case bounded.Err() != nil:
			kind = client.KindStartupTimeout
		}
		return nil, &Error{Kind: kind, Step: client.StepSpawn, Message: "the home of the run could not be made: " + err.Error(), Err: err}
	}
	cmd.Inherit.Set = append(made.Env(), cmd.Inherit.Set...)
	return made, nil
}
