package wire

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nested is an array in an array, so many in all.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// nestedObjects is the same of objects.
func nestedObjects(depth int) string {
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

// What nests too deep or holds too much costs its frame only, and it is known what that
// was.
func TestTooComplex(t *testing.T) {
	var ran, served log
	p := dial(t, &hooks{
		run: func(_ context.Context, method, params string) { ran.add("%s %d", method, len(params)) },
		serve: func(r *Request) (any, error) {
			served.add("%s %v %d", r.Method, r.Unread, len(r.Params))
			return nil, &Error{Code: -32600, Message: "too deep"}
		},
	}, nil)
	for _, deep := range []string{nested(maxDepth + 1), nested(100_000), nestedObjects(maxDepth + 1), nestedObjects(50_000), `[1,{"a":` + nested(20_000) + `}]`, "[" + strings.Repeat("1,", maxValues) + "1]"} {
		for name, text := range map[string]string{
			"result":         `{"jsonrpc":"2.0","id":$ID,"result":` + deep + `}`,
			"member":         `{"jsonrpc":"2.0","id":$ID,"result":{"stopReason":"end_turn","_meta":` + deep + `}}`,
			"id last":        `{"result":{"_meta":` + deep + `},"id":"$ID"}`,
			"error data":     `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"m","data":` + deep + `}}`,
			"another member": `{"jsonrpc":"2.0","id":$ID,"result":1,"x":` + deep + `}`,
			"array":          `[{"jsonrpc":"2.0","method":"notify/a"},{"jsonrpc":"2.0","id":$ID,"result":` + deep + `}]`,
		} {
			call := p.call(t.Context(), "peer/call")
			p.send("%s", strings.ReplaceAll(text, "$ID", string(p.read().ID)))
			_, err := p.result(call)
			_, ok := errors.AsType[*TooComplexError](err)
			if e, _ := errors.AsType[*CallError](err); !ok || !e.Sent {
				t.Errorf("%s: %v", name, err)
			}
		}
		before := p.conn.Stats().Dropped
		p.send(`{"jsonrpc":"2.0","method":"notify/a","params":%s}`, deep)
		p.send(`{"params":{"a":[%s]},"method":"notify/a"}`, deep)
		p.send(`{"jsonrpc":"2.0","id":"q","method":"ask/a","params":{"x":%s}}`, deep)
		if m := p.read(); string(m.ID) != `"q"` || string(m.Error) != `{"code":-32600,"message":"too deep"}` {
			t.Errorf("request: %s %s", m.ID, m.Error)
		}
		if got := p.conn.Stats().Dropped - before; got != 2 {
			t.Errorf("%d notifications dropped, want 2", got)
		}
		noise := p.conn.Stats().NoiseLines
		p.send(`{"level":"info","id":1,"msg":%s}`, deep)
		p.send(`%s`, deep)
		p.send(`%s`, deep[:len(deep)/2])
		p.send(`{"jsonrpc":"2.0","method":"notify/b","params":[1]}`)
		eventually(t, "it goes on", func() bool { return len(ran.all()) > 0 })
		if got := p.conn.Stats().NoiseLines - noise; got != 3 {
			t.Errorf("%d lines of noise, want 3", got)
		}
		if diff := cmp.Diff([]string{"ask/a the frame nests deeper than 10000 levels or holds more than 1048576 values 0"}, served.all()); diff != "" {
			t.Errorf("served (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]string{"notify/b 3"}, ran.all()); diff != "" {
			t.Errorf("ran (-want +got)\n%s", diff)
		}
		ran, served = log{}, log{}
	}
	if s := p.conn.Stats(); s.Panics > 0 || s.Late+s.Duplicate+s.Stray > 0 {
		t.Errorf("%+v", s)
	}
}

// What nests as deep as it may is read whole.
func TestDeep(t *testing.T) {
	p := dial(t, &hooks{}, nil)
	call := p.call(t.Context(), "peer/call")
	p.read()
	want := nested(maxDepth)
	p.send(`{"jsonrpc":"2.0","id":1,"result":%s}`, want)
	if text, err := p.result(call); text != want || err != nil {
		t.Errorf("%.100s, %v", text, err)
	}
}
