package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/errand-acp/errand/client"
)

// choice is the agent that was chosen, with what is known of it.
type choice struct {
	name    string
	command client.Command
	graces  client.Graces
	sweep   client.SweepMode
	hints   []string // variables that it is known to want
	install string   // how to install it
	absent  bool     // node is there and what it is to run is not
	wrapped bool     // it is started by another program, wherever that takes it
	notes   []string // warnings that the result is to carry beside its own
}

const demoName = "demo"

const demoNote = "no agent was named (--agent, a COMMAND after --, or $ERRAND_AGENT), so this is the built-in demo agent; no model is behind it"

// chooseAgent decides which agent is meant: --agent, a command after --, or what
// environment holds, the value of $ERRAND_AGENT. With none of them it is the demo
// agent where somebody looks on: a job must not be answered by a demo.
func (f *runFlags) chooseAgent(command []string, environment string, terminal bool) (choice, error) {
	switch {
	case f.agentSet && f.command:
		return choice{}, errors.New("--agent and a COMMAND after -- exclude each other")
	case f.agentSet:
		return presetChoice("--agent", f.agent)
	case f.command && (len(command) == 0 || command[0] == ""):
		return choice{}, errors.New("there is no COMMAND after --")
	case f.command:
		return choice{
			name:    commandName(command[0]),
			command: client.Command{Path: command[0], Args: command[1:]},
		}, nil
	case strings.ContainsRune(environment, '/') || strings.ContainsRune(environment, os.PathSeparator):
		return choice{name: commandName(environment), command: client.Command{Path: environment}}, nil
	case environment != "":
		return presetChoice("$ERRAND_AGENT", environment)
	case terminal:
		c, err := presetChoice("", demoName)
		c.notes = append(c.notes, demoNote)
		return c, err
	}
	return choice{}, errors.New("no agent: name one with --agent, after --, or in $ERRAND_AGENT ('errand agents' lists them)")
}

func presetChoice(source, name string) (choice, error) {
	p, err := lookupPreset(name)
	if err != nil {
		return choice{}, fmt.Errorf("%s: %w", source, err)
	}
	c := choice{name: p.Name, command: p.Command(), graces: p.Graces, sweep: p.Sweep, hints: p.SecretEnv, install: p.Install}
	if p.Unverified {
		c.notes = append(c.notes, fmt.Sprintf("the preset %s is unverified: it starts %q as the agent's documentation says, and nobody has driven that with errand yet",
			p.Name, strings.Join(append([]string{p.Path}, p.Args...), " ")))
	}
	return c, nil
}

func lookupPreset(name string) (client.Preset, error) {
	if name == demoName {
		return demoPreset()
	}
	p, ok := client.LookupPreset(name)
	if !ok {
		meant := ""
		if near, ok := nearPreset(name); ok {
			meant = fmt.Sprintf(" (is it %s?)", near.Name)
		}
		return p, fmt.Errorf("there is no agent %q%s; 'errand agents' lists them, and any other is started with -- COMMAND", name, meant)
	}
	return p, nil
}

// demoPreset is this program as an agent.
func demoPreset() (client.Preset, error) {
	self, err := os.Executable()
	if err != nil {
		return client.Preset{}, fmt.Errorf("the built-in agent: %w", err)
	}
	return client.Preset{
		Name: demoName, Title: "The built-in agent (no model)",
		Path: self, Args: []string{demoName},
		Env: []string{}, SecretEnv: []string{},
		Install: "nothing: it comes with errand",
		Quirks:  []string{"says what it was asked and writes errand-demo.txt if it may"},
	}, nil
}
