package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A request without a usable method is answered all the same, under its id, and costs
// nothing else; what only looks like one is noise.
func TestInvalidRequest(t *testing.T) {
	const limit = 4 << 10
	big := strings.Repeat("x", limit)
	for _, tt := range []struct {
		name, line string
		id         string // what is answered; empty for noise
	}{
		{"empty method", `{"jsonrpc":"2.0","id":7,"method":""}`, `7`},
		{"null method", `{"jsonrpc":"2.0","id":"u-1","method":null,"params":{}}`, `"u-1"`},
		{"number", `{"jsonrpc":"2.0","id":7,"method":123}`, `7`},
		{"object", `{"jsonrpc":"2.0","id":7,"method":{"name":"ask/a"}}`, `7`},
		{"array", `{"jsonrpc":"2.0","id":7,"method":["ask/a"]}`, `7`},
		{"boolean", `{"jsonrpc":"2.0","id":7,"method":true}`, `7`},
		{"no method", `{"jsonrpc":"2.0","id":7,"params":{"sessionId":"s"}}`, `7`},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":1}`, `null`},
		{"float id", `{"jsonrpc":"2.0","method":1,"id":1.50}`, `1.50`},
		{"huge id", `{"jsonrpc":"2.0","id":99999999999999999999999999999999999,"method":1}`, `99999999999999999999999999999999999`},
		{"an id of ours", `{"jsonrpc":"2.0","id":1,"method":""}`, `1`},
		{"another version", `{"jsonrpc":"1.0","id":7,"method":""}`, `7`},
		{"version as a number", `{"jsonrpc":2.0,"id":7,"method":""}`, `7`},
		{"null result and error", `{"jsonrpc":"2.0","id":7,"method":5,"params":null,"error":null}`, `7`},
		{"two methods", `{"jsonrpc":"2.0","id":7,"method":"ask/a","method":5}`, `7`},
		{"oversized, number", `{"jsonrpc":"2.0","id":7,"method":123,"params":"` + big + `"}`, `7`},
		{"oversized, no method", `{"jsonrpc":"2.0","params":"` + big + `","id":"x"}`, `"x"`},
		{"too deep", `{"jsonrpc":"2.0","id":7,"method":null,"params":` + nested(maxDepth+1) + `}`, `7`},
		{"in an array", `[{"jsonrpc":"2.0","id":7,"method":""}]`, `7`},

		{"log", `{"level":"info","id":7,"msg":"x"}`, ``},
		{"log with a method", `{"level":"info","id":7,"method":404,"params":{}}`, ``},
		{"log with an empty method", `{"id":7,"method":""}`, ``},
		{"version is null", `{"jsonrpc":null,"id":7,"method":""}`, ``},
		{"no id", `{"jsonrpc":"2.0","method":7}`, ``},
		{"nothing but an id", `{"jsonrpc":"2.0","id":7}`, ``},
		{"oversized log", `{"level":"info","id":7,"method":404,"msg":"` + big + `"}`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := dial(t, &hooks{}, &Options{MaxMessageBytes: limit})
			if strings.HasPrefix(tt.name, "too deep") {
				p = dial(t, &hooks{}, nil)
			}
			call := p.call(t.Context(), "peer/call")
			p.read()
			p.send("%s", tt.line)
			if tt.id != "" {
				m := p.read()
				got := []string{string(m.ID), string(m.Result), string(m.Error)}
				if diff := cmp.Diff([]string{tt.id, "", `{"code":-32600,"message":"Invalid request"}`}, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			// It goes on, and nothing else was answered.
			p.send(`{"jsonrpc":"2.0","id":"next","method":"ask/a"}`)
			if m := p.read(); string(m.ID) != `"next"` {
				t.Errorf("answered: %s %s%s", m.ID, m.Result, m.Error)
			}
			p.send(`{"jsonrpc":"2.0","id":1,"result":"ok"}`)
			if text, err := p.result(call); text != `"ok"` || err != nil {
				t.Errorf("%s, %v", text, err)
			}
			noise := int64(0)
			if tt.id == "" {
				noise = 1
			}
			if s := p.conn.Stats(); s.NoiseLines != noise || s.Late+s.Duplicate+s.Stray+s.Panics > 0 {
				t.Errorf("%+v", s)
			}
			eventually(t, "nothing is queued", func() bool { return p.conn.queued.Load() == 0 })
		})
	}
}
