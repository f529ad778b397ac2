// Package bench measures what Errand costs, always as a ratio to something else in
// the same run: a whole run to the least that any client must do ([Minimal]), updates
// to the connection of acp-go-sdk.
//
//	go test -run '^$' -bench . ./internal/bench
//
// `make bench` does that and writes docs/benchmarks.md from it.
package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Minimal hands one prompt to the agent at path and returns its raw answer to that. It
// is what a whole run is compared with: os/exec, one bufio.Reader, constant frames,
// close stdin, wait. It checks nothing, bounds nothing and answers nothing, so it is
// for an agent that is known to behave and asks no permission.
func Minimal(path string, args []string, dir, prompt string) (answer []byte, err error) {
	quotedDir, err := json.Marshal(dir)
	if err != nil {
		return nil, err
	}
	quotedPrompt, err := json.Marshal(prompt)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		stdin.Close()
		err = errors.Join(err, cmd.Wait())
	}()

	r := bufio.NewReader(stdout)
	call := func(id int, method, params string) ([]byte, error) {
		if _, err := fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			return nil, err
		}
		want := fmt.Appendf(nil, `"id":%d,`, id)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil || bytes.Contains(line, want) {
				return line, err
			}
		}
	}
	if _, err := call(0, "initialize", `{"protocolVersion":1,"clientCapabilities":{}}`); err != nil {
		return nil, err
	}
	session, err := call(1, "session/new", fmt.Sprintf(`{"cwd":%s,"mcpServers":[]}`, quotedDir))
	if err != nil {
		return nil, err
	}
	_, rest, _ := bytes.Cut(session, []byte(`"sessionId":"`))
	id, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		return nil, fmt.Errorf("no session id in %s", session)
	}
	answer, err = call(2, "session/prompt", fmt.Sprintf(`{"sessionId":"%s","prompt":[{"type":"text","text":%s}]}`, id, quotedPrompt))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return answer, err
}
