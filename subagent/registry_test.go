package subagent_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/subagent"
)

// careless is a provider that checks nothing itself.
type careless struct {
	name    string
	started int
}

func (p *careless) Name() string                        { return p.name }
func (p *careless) Capabilities() []subagent.Capability { return nil }
func (p *careless) Start(context.Context, subagent.Request) (subagent.Run, error) {
	p.started++
	return nil, errors.New("it was started")
}

func TestRegistry(t *testing.T) {
	var agents subagent.Registry // the zero value is ready to use
	if names := agents.Names(); len(names) != 0 {
		t.Errorf("names %q of an empty registry", names)
	}
	if agents.Remove("a") {
		t.Error("removed from an empty registry")
	}
	a, b := &careless{name: "a"}, &careless{name: "b"}
	for _, p := range []subagent.Provider{b, a} {
		if err := agents.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if names := agents.Names(); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("names %q", names)
	}
	if p, err := agents.Get("a"); p != a || err != nil {
		t.Errorf("Get: %v, %v", p, err)
	}
	if p, err := agents.Get("A"); p != nil || !errors.Is(err, subagent.ErrUnknownProvider) {
		t.Errorf("Get of an unknown one: %v, %v", p, err)
	}
	for name, p := range map[string]subagent.Provider{"nil": nil, "no name": &careless{}} {
		if err := agents.Add(p); err == nil {
			t.Errorf("%s was added", name)
		} else {
			asError(t, err, client.KindConfig)
		}
	}
	if err := agents.Add(&careless{name: "a"}); !errors.Is(err, subagent.ErrDuplicateProvider) {
		t.Errorf("a second a: %v", err)
	}
	if p, _ := agents.Get("a"); p != a {
		t.Error("the second a took the first one's place")
	}
}

// What can be refused for any provider is refused before it is asked.
func TestRegistryChecksForTheCareless(t *testing.T) {
	p := &careless{name: "careless"}
	agents, err := subagent.NewRegistry(p)
	if err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	req := subagent.Request{Dir: t.TempDir(), Prompt: subagent.Text("go")}
	_, err = agents.Start(done, "careless", req)
	asError(t, err, client.KindCancelled)
	_, err = subagent.Delegate(done, p, req)
	asError(t, err, client.KindCancelled)
	req.Mode = "plan"
	_, err = agents.Start(t.Context(), "careless", req)
	asError(t, err, client.KindCapability)
	_, err = subagent.Delegate(t.Context(), p, req)
	asError(t, err, client.KindCapability)
	if p.started != 0 {
		t.Errorf("it was started %d times", p.started)
	}
}

func TestRegistryFromManyGoroutines(t *testing.T) {
	var agents subagent.Registry
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				agents.Add(&careless{name: "a"})
				agents.Get("a")
				agents.Names()
				agents.Remove("a")
			}
		})
	}
	group.Wait()
	if names := agents.Names(); len(names) != 0 {
		t.Errorf("names %q", names)
	}
}

func TestNeeds(t *testing.T) {
	all := subagent.Request{Model: "m", Mode: "m", OutputSchema: []byte("{}"), MaxDepth: new(int), Tools: []string{}, Transcript: transcript.NewWriter(nil)}
	want := []subagent.Capability{
		subagent.CapabilityModel, subagent.CapabilityMode, subagent.CapabilityOutputSchema, subagent.CapabilityMaxDepth, subagent.CapabilityToolFilter,
		subagent.CapabilityTranscript,
	}
	if got := all.Needs(); !slices.Equal(got, want) {
		t.Errorf("needs %q, want %q", got, want)
	}
	plain := subagent.Request{Prompt: subagent.Text("x"), Dir: "/", ParentDir: "/", Labels: map[string]string{"a": "b"}}
	if got := plain.Needs(); got != nil {
		t.Errorf("a plain request needs %q", got)
	}
}
