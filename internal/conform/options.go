package conform

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/errand-acp/errand/envscrub"
)

// Command says which program is the agent, in the words of client.Command.
type Command struct {
	Path string
	Args []string
	// Dir is the directory that the process is started in; empty: a scratch directory. Its
	// sessions are in scratch directories whatever this is.
	Dir     string
	Env     []string        // KEY=VALUE entries that reach it whatever they are
	Inherit envscrub.Policy // what else of this process's environment does
}

// Options are how an agent is tried. The zero value is what fits most.
type Options struct {
	// Timeout is how long an answer is waited for; 60 s. A turn is one answer.
	Timeout time.Duration
	// ExitTimeout is how long the agent may take to exit when it should, and to end what
	// was cancelled; 10 s.
	ExitTimeout time.Duration
	// Parallel is how many agents run at the same time at the most; 2.
	Parallel int
	// Only and Skip choose rules by their ids, or patterns of ids as in path.Match.
	// Without Only all are meant.
	Only, Skip []string
	// Prompts are texts that replace those of [DefaultPrompts]: what makes one agent call a
	// tool says nothing to another.
	Prompts map[PromptKind]string
	// AuthMethod is the id of an advertised method that authenticate is called with.
	// Without it no method is: it may open a browser.
	AuthMethod string
	// FreshHome gives each agent an empty home directory.
	FreshHome bool
	// Progress, if not nil, is told the name of each scene that begins, by several
	// goroutines, one at a time.
	Progress func(scene string)
}

// PromptKind is what a prompt is to make an agent do.
type PromptKind string

// DefaultPrompts returns the prompt of each kind there is.
func DefaultPrompts() map[PromptKind]string { return maps.Clone(defaultPrompts) }

// PromptKinds returns the kinds of prompts, sorted.
func PromptKinds() []PromptKind { return slices.Sorted(maps.Keys(defaultPrompts)) }

const (
	maxWait     = 24 * time.Hour
	maxParallel = 16
)

// Validate returns what is wrong with o, a *UsageError.
func (o *Options) Validate() error {
	_, err := o.complete()
	return err
}

// complete returns o with what it does not say, or what is wrong with it.
func (o *Options) complete() (*Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	for _, d := range []struct {
		name string
		at   *time.Duration
		def  time.Duration
	}{
		{"Timeout", &c.Timeout, 60 * time.Second},
		{"ExitTimeout", &c.ExitTimeout, 10 * time.Second},
	} {
		if *d.at < 0 || *d.at > maxWait {
			return nil, usage("%s: %v is outside the usable range (more than 0, at most %v)", d.name, *d.at, maxWait)
		}
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	if c.Parallel < 0 || c.Parallel > maxParallel {
		return nil, usage("%d agents at once (Parallel): there may be 1 to %d", c.Parallel, maxParallel)
	}
	if c.Parallel == 0 {
		c.Parallel = 2
	}
	prompts := DefaultPrompts()
	for kind, text := range c.Prompts {
		if _, ok := prompts[kind]; !ok {
			return nil, usage("there is no kind of prompt %q: %s", kind, join(PromptKinds()))
		}
		if strings.TrimSpace(text) == "" {
			return nil, usage("the prompt %s is empty", kind)
		}
		prompts[kind] = text
	}
	c.Prompts = prompts
	for _, list := range [][]string{c.Only, c.Skip} {
		for _, pattern := range list {
			if err := checkPattern(pattern); err != nil {
				return nil, err
			}
		}
	}
	if len(c.rules()) == 0 {
		return nil, usage("no rule is left to try")
	}
	return &c, nil
}

// checkPattern refuses what means no rule: a check that tries nothing passes.
func checkPattern(pattern string) error {
	for _, r := range Rules() {
		match, err := path.Match(pattern, r.ID)
		if err != nil {
			return usage("the pattern %q: %w", pattern, err)
		}
		if match {
			return nil
		}
	}
	return usage("there is no rule %q", pattern)
}

// rules are those that are chosen.
func (o *Options) rules() []Rule {
	any := func(patterns []string, id string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { match, _ := path.Match(p, id); return match })
	}
	return slices.DeleteFunc(Rules(), func(r Rule) bool {
		return len(o.Only) > 0 && !any(o.Only, r.ID) || any(o.Skip, r.ID)
	})
}

func join[T ~string](list []T) string {
	var s []string
	for _, e := range list {
		s = append(s, string(e))
	}
	return strings.Join(s, ", ")
}

// leftTimeout is how long what an agent has started may take to go once the agent has.
const leftTimeout = 2 * time.Second
