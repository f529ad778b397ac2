package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/coder/acp-go-sdk"
	"github.com/spf13/cobra"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/visible"
)

func newPolicy(con *console) *cobra.Command {
	var dir, call string
	cmd := &cobra.Command{
		Use:                   "policy [flags] FILE [-- CMD [ARG...]]",
		DisableFlagsInUseLine: true,
		Short:                 "Check a policy, and say what it makes of a command",
		Long: `Policy reads the FILE of --policy and says what is wrong with it, or which of its rules
let through more, or refuse less, than they seem to.

With a CMD it says what the rules make of that: allow, ask or deny, by which rule, and
where none allows it, why those do not that may have been meant to. One CMD with blanks in
it is a line, as an agent sends one; several words are a program with its arguments. With
--call it is any tool call, as an agent describes it in session/request_permission. Nobody
is asked, and nothing is run.`,
		Example: `  errand policy policy.json
  errand policy policy.json -- 'cd sub && go test ./...'
  errand policy policy.json --call '{"kind": "edit", "locations": [{"path": ".env"}]}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 || len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
				return errors.New("it takes one FILE, and a CMD after --")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := tryPolicy(args[0], dir, call, args[1:], con)
			if err != nil {
				fmt.Fprintf(con.err, "errand: %s\n", visible.Line(err.Error()))
				return exitError(statusUsage)
			}
			_, err = con.out.WriteString(text)
			return err
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&call, "call", "", "say what the rules make of a tool call, a `JSON` object")
	cmd.Flags().StringVar(&dir, "dir", ".", "the `DIR` that paths are relative to")
	return cmd
}

// tryPolicy reads a policy and says what it makes of a call or a command, if there is one.
func tryPolicy(file, dir, call string, command []string, con *console) (string, error) {
	f := runFlags{policy: file, dir: dir}
	s := &settings{}
	rules, err := f.readRules(context.Background(), s)
	if err != nil {
		return "", err
	}
	for _, note := range s.notes {
		fmt.Fprintf(con.err, "errand: %s\n", visible.Line(note))
	}
	if dir, err = f.directory(); err != nil {
		return "", err
	}
	req := client.PolicyRequest(dir, os.Environ())
	switch {
	case call != "" && len(command) > 0:
		return "", errors.New("--call and a CMD exclude each other")
	case call != "":
		if err := json.Unmarshal([]byte(call), &req.ToolCall); err != nil {
			return "", fmt.Errorf("--call is no tool call: %w", err)
		}
	case len(command) == 1:
		req.ToolCall.RawInput = map[string]any{"command": command[0]}
	case len(command) > 1:
		req.ToolCall.RawInput = map[string]any{"command": command}
	default:
		return "", nil
	}
	if len(command) > 0 {
		kind := acp.ToolKindExecute
		req.ToolCall.Kind = &kind
	}
	v := rules.Explain(req)
	text := fmt.Sprintf("%s: %s\n", v.Effect, visible.Line(v.Rule))
	for _, why := range rules.Misses(req) {
		text += "  " + visible.Line(why) + "\n"
	}
	return text, nil
}
