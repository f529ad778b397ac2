package modelserver

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tools of agents as they are: what is called to write a file and to run a command.
func TestChoice(t *testing.T) {
	for name, c := range map[string]struct {
		tools string // name to schema
		free  string
		write *call
		run   *call
	}{
		"none": {tools: `{"read":{"properties":{"path":{}}}}`},
		"names in camel case": {
			tools: `{"write":{"properties":{"filePath":{},"content":{}}},"edit":{"properties":{"filePath":{},"newString":{}}}}`,
			write: &call{tool: "write", args: map[string]any{"filePath": "/f", "content": "T"}},
		},
		"what is required is given": {
			tools: `{"Bash":{"properties":{"command":{"type":"string"},"description":{"type":"string"},"timeout":{"type":"integer"},"background":{"type":["boolean","null"]},"env":{"type":"object"},"tags":{"type":"array"}},
				"required":["command","description","timeout","background","env","tags"]}}`,
			write: &call{tool: "Bash", args: map[string]any{"command": "printf '%s' 'T' > '/f'", "description": "as the prompt asked", "timeout": 1000, "background": false, "env": map[string]any{}, "tags": []any{}}},
			run:   &call{tool: "Bash", args: map[string]any{"command": "ls", "description": "as the prompt asked", "timeout": 1000, "background": false, "env": map[string]any{}, "tags": []any{}}},
		},
		"the words of a command": {
			tools: `{"shell":{"properties":{"command":{"type":"array"}}}}`,
			write: &call{tool: "shell", args: map[string]any{"command": []string{"sh", "-c", "printf '%s' 'T' > '/f'"}}},
			run:   &call{tool: "shell", args: map[string]any{"command": []string{"sh", "-c", "ls"}}},
		},
		"a list of commands": {
			tools: `{"run_commands":{"properties":{"commands":{"type":"array"}}},"write_to_file":{"properties":{"path":{},"contents":{}}}}`,
			write: &call{tool: "write_to_file", args: map[string]any{"path": "/f", "contents": "T"}},
			run:   &call{tool: "run_commands", args: map[string]any{"commands": []string{"ls"}}},
		},
		"a patch": {
			tools: `{"exec_command":{"properties":{"cmd":{"type":"string"}}}}`, free: "apply_patch",
			write: &call{tool: "apply_patch", free: true, text: "*** Begin Patch\n*** Add File: /f\n+T\n*** End Patch\n"},
			run:   &call{tool: "exec_command", args: map[string]any{"cmd": "ls"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var schemas map[string]schema
			if err := json.Unmarshal([]byte(c.tools), &schemas); err != nil {
				t.Fatal(err)
			}
			var tools []tool
			for name, s := range schemas {
				tools = append(tools, tool{name: name, schema: s})
			}
			if c.free != "" {
				tools = append(tools, tool{name: c.free, free: true})
			}
			if diff := cmp.Diff(c.write, writeCall(tools, "/f", "T"), cmp.AllowUnexported(call{})); diff != "" {
				t.Errorf("write (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.run, runCall(tools, "ls"), cmp.AllowUnexported(call{})); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
		})
	}
}
