package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/envscrub"
)

func ExampleLookupPreset() {
	p, ok := client.LookupPreset("opencode")
	fmt.Println(ok, p.Path, p.Args, p.SecretEnv[0])
	// Output: true opencode [acp] OPENROUTER_API_KEY
}

// Each agent that was driven to find out how it behaves has a preset. eof and term
// are how long it was seen to take, "never" being more than a minute.
func TestPresetFitsWhatWasSeen(t *testing.T) {
	const never = 70 * time.Second
	rows := []struct {
		preset, command string
		eof, eofInTurn  time.Duration
		term            time.Duration
		sharedDaemon    bool
	}{
		{preset: "example-go", command: "agent"},
		{preset: "example-ts", command: "node -e"},
		{preset: "opencode", command: "opencode acp", eof: 100 * time.Millisecond},
		{preset: "gemini", command: "gemini --acp", eof: 40 * time.Millisecond, eofInTurn: 29 * time.Second},
		{preset: "claude", command: "claude-agent-acp", eof: 30 * time.Millisecond},
		{preset: "claude-code", command: "claude-code-acp", eof: never, eofInTurn: never},
		{preset: "codex", command: "codex-acp", eof: 2 * time.Second},
		{preset: "codex-zed", command: "codex-acp", eof: never, eofInTurn: never},
		{preset: "qwen", command: "qwen --acp", eof: 50 * time.Millisecond},
		{preset: "copilot", command: "copilot --acp", eof: 50 * time.Millisecond, eofInTurn: 2 * time.Second},
		{preset: "cline", command: "cline --acp", eof: 9 * time.Second, term: never, sharedDaemon: true},
		{preset: "pi", command: "pi-acp", eof: 20 * time.Millisecond},
	}
	var names []string
	for _, row := range rows {
		names = append(names, row.preset)
		t.Run(row.preset, func(t *testing.T) {
			p, ok := client.LookupPreset(row.preset)
			if !ok {
				t.Fatal("there is no such preset")
			}
			if got := strings.Join(append([]string{p.Path}, p.Args...), " "); !strings.HasPrefix(got, row.command) {
				t.Errorf("command %q, want %q", got, row.command)
			}
			eof, term := orDefault(p.Graces.EOF, client.DefaultGraces.EOF), orDefault(p.Graces.Term, client.DefaultGraces.Term)
			// One that ends by itself gets the time to; one that does not costs no more
			// than it has to.
			if row.eof < never && eof < row.eof*3/2 && eof < row.eof+3*time.Second {
				t.Errorf("EOF grace %v is too short for an agent that takes %v", eof, row.eof)
			}
			if row.eof == never && eof > time.Second {
				t.Errorf("EOF grace %v is wasted on an agent that never ends", eof)
			}
			if row.eofInTurn > 10*time.Second && eof > time.Second {
				t.Errorf("EOF grace %v is wasted in the middle of a turn", eof)
			}
			if row.term == never && term > time.Second {
				t.Errorf("SIGTERM grace %v is wasted on an agent that ignores it", term)
			}
			if got := p.Sweep == client.SweepGroup; got != row.sharedDaemon {
				t.Errorf("sweep %q, shares a daemon: %v", p.Sweep, row.sharedDaemon)
			}
		})
	}
	slices.Sort(names)
	var have, all []string
	for _, p := range client.Presets() {
		all = append(all, p.Name)
		if !p.Unverified {
			have = append(have, p.Name)
		}
	}
	if !slices.Equal(names, have) {
		t.Errorf("verified presets %v, want %v: each was driven", have, names)
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("presets %v: sorted, each once", all)
	}
}

// What nobody has driven is said to be so, and claims nothing that only driving it shows.
func TestUnverifiedPresets(t *testing.T) {
	want := map[string]string{
		"goose": "goose acp", "kimi": "kimi acp", "hermes": "hermes acp", "dcode": "dcode --acp", "dsh": "dsh --profile acp",
	}
	got := map[string]string{}
	for _, p := range client.Presets() {
		if !p.Unverified {
			continue
		}
		got[p.Name] = strings.Join(append([]string{p.Path}, p.Args...), " ")
		if p.Graces != (client.Graces{}) || p.Sweep != "" {
			t.Errorf("%s: graces %+v, sweep %q: nobody has seen that", p.Name, p.Graces, p.Sweep)
		}
		if len(p.SecretEnv) == 0 {
			t.Errorf("%s: an agent with a model has a credential", p.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unverified presets (-want +got):\n%s", diff)
	}
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

func TestPresetsAreUsable(t *testing.T) {
	for _, p := range client.Presets() {
		t.Run(p.Name, func(t *testing.T) {
			if p.Title == "" || p.Install == "" {
				t.Error("title and install are for people: neither may be empty")
			}
			if err := p.Graces.Validate(); err != nil {
				t.Error(err)
			}
			c := p.Command("EXTRA=1")
			if err := c.Validate(); err != nil {
				t.Error(err)
			}
			if last := c.Env[len(c.Env)-1]; last != "EXTRA=1" {
				t.Errorf("the caller's entry is not the last: %q", c.Env)
			}
			// What envscrub would hold back has no place in a preset's variables, and
			// what it would let through needs no hint.
			if _, report := envscrub.Scrub(p.Env, envscrub.Policy{}); len(report.Withheld()) > 0 {
				t.Errorf("its variables hold a secret: %v", report.Withheld())
			}
			for _, name := range p.SecretEnv {
				if _, report := envscrub.Scrub([]string{name + "=x"}, envscrub.Policy{}); len(report.Withheld()) == 0 {
					t.Errorf("%s is named as a secret but is not held back", name)
				}
			}
		})
	}
	if _, ok := client.LookupPreset("Gemini"); ok {
		t.Error("names are taken as they are written")
	}
}

// What a caller does to a preset reaches nobody else.
func TestPresetsAreCopies(t *testing.T) {
	p, _ := client.LookupPreset("opencode")
	p.Args[0], p.SecretEnv[0], p.Env[0] = "x", "x", "x"
	client.Presets()[0].Env[0] = "x"
	again, _ := client.LookupPreset("opencode")
	if again.Args[0] == "x" || again.SecretEnv[0] == "x" || again.Env[0] == "x" || client.Presets()[0].Env[0] == "x" {
		t.Error("a change reached the table")
	}
}
