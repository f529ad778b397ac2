package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// fewValues lowers what a frame may hold, for a test that would take long.
func fewValues(t *testing.T) {
	before := maxValues
	t.Cleanup(func() { maxValues = before }) // after what dial cleans up
	maxValues = 1 << 13
}

// tooComplex returns values that nest too deep or hold too much.
func tooComplex() []string {
	return []string{
		nested(maxDepth + 1), nestedObjects(50_000), `[1,{"a":` + nested(20_000) + `}]`,
		"[" + strings.Repeat("1,", maxValues) + "1]", "{" + strings.Repeat(`"":[],`, maxValues) + `"b":{}}`,
	}
}

// What nests too deep or holds too much costs the field that it is in, and only where the
// frame cannot do without that, the frame; then it is known what that was.
func TestTooComplex(t *testing.T) {
	fewValues(t)
	var ran, served log
	p := dial(t, &hooks{
		run: func(_ context.Context, method, params string) { ran.add("%s %s", method, params) },
		serve: func(r *Request) (any, error) {
			served.add("%s %v %d", r.Method, r.Unread, len(r.Params))
			return nil, &Error{Code: -32600, Message: "too deep"}
		},
	}, nil)
	for _, c := range tooComplex() {
		for _, tt := range []struct{ name, reply, want string }{
			{"a result that is a list", `{"jsonrpc":"2.0","id":$ID,"result":[$C]}`, ""},
			{"in a list", `[{"jsonrpc":"2.0","method":"notify/a"},{"jsonrpc":"2.0","id":$ID,"result":[$C]}]`, ""},
			{"member", `{"jsonrpc":"2.0","id":$ID,"result":{"stopReason":"end_turn","_meta":$C}}`, `{"stopReason":"end_turn","_meta":null}`},
			{"deeper", `{"jsonrpc":"2.0","id":$ID,"result":{"_meta": {"a":[1,{"b": $C }]} , "stopReason":"end_turn"}}`, `{"_meta": null , "stopReason":"end_turn"}`},
			{"id last", `{"result":{"_meta":$C},"id":"$ID"}`, `{"_meta":null}`},
			{"error data", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"m","data":$C}}`, "error -32603: m"},
			{"another member", `{"jsonrpc":"2.0","id":$ID,"result":1,"x":$C}`, "1"},
			{"several", `{"a":$C,"jsonrpc":"2.0","id":$ID,"result":{"b":$C,"c":"d","e":$C},"f":$C}`, `{"b":null,"c":"d","e":null}`},
			{"two in a list", `[{"jsonrpc":"2.0","method":"notify/a","params":{"_meta":$C}},{"jsonrpc":"2.0","id":$ID,"result":{"a":$C}}]`, `{"a":null}`},
		} {
			call := p.call(t.Context(), "peer/call")
			p.send("%s", strings.NewReplacer("$ID", string(p.read().ID), "$C", c).Replace(tt.reply))
			got, err := p.result(call)
			if _, ok := errors.AsType[*TooComplexError](err); ok {
				if e, _ := errors.AsType[*CallError](err); tt.want != "" || !e.Sent {
					t.Errorf("%s: %v", tt.name, err)
				}
			} else if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%s of %.20s: %.200s, want %s", tt.name, c, got, tt.want)
			}
		}
		before := p.conn.Stats()
		p.send(`{"jsonrpc":"2.0","method":"notify/c","params":[%s]}`, c)
		p.send(`{"params":{"a":"b","update":{"x":1,"y":[%s],"content":{"z":%[1]s,"text":"t"}}},"method":"notify/d"}`, c)
		p.send(`{"params":{"update":{"x":1,"content":[{"content":{"z":%s}},{}]}},"method":"notify/e"}`, c)
		p.send(`{"params":{"update":[%s]},"method":"notify/g"}`, c)
		p.send(`{"jsonrpc":"2.0","id":"q","method":"ask/a","params":{"x":%s}}`, c)
		if m := p.read(); string(m.ID) != `"q"` || string(m.Error) != `{"code":-32600,"message":"too deep"}` {
			t.Errorf("request: %s %s", m.ID, m.Error)
		}
		if got := p.conn.Stats(); got.Dropped-before.Dropped != 2 || got.Complex != got.Dropped || got.Reduced-before.Reduced != 2 {
			t.Errorf("before %+v, then %+v", before, got)
		}
		p.send(`{"level":"info","id":1,"msg":%s}`, c)
		p.send(`%s`, c)
		p.send(`%s`, c[:len(c)/2])
		p.send(`{"jsonrpc":"2.0","method":"notify/h","params":{"x":%s}} and more`, c)
		p.send(`{"jsonrpc":"2.0","method":"notify/i","params":[1]}`)
		eventually(t, "it goes on", func() bool { all := ran.all(); return len(all) > 0 && all[len(all)-1] == "notify/i [1]" })
		if got := p.conn.Stats().NoiseLines - before.NoiseLines; got != 4 {
			t.Errorf("%d lines of noise, want 4", got)
		}
		if diff := cmp.Diff([]string{"ask/a the frame nests deeper than 10000 levels or holds more than 8192 values 0"}, served.all()); diff != "" {
			t.Errorf("served (-want +got)\n%s", diff)
		}
		want := []string{
			"notify/a ", `notify/a {"_meta":null}`,
			`notify/d {"a":"b","update":{"x":1,"y":null,"content":{"z":null,"text":"t"}}}`,
			`notify/e {"update":{"x":1,"content":[{"content":{"z":null}},{}]}}`,
			"notify/i [1]",
		}
		if diff := cmp.Diff(want, ran.all()); diff != "" {
			t.Errorf("ran (-want +got)\n%.2000s", diff)
		}
		ran, served = log{}, log{}
	}
	if s := p.conn.Stats(); s.Panics > 0 || s.Late+s.Duplicate+s.Stray > 0 {
		t.Errorf("%+v", s)
	}
}

// How much a frame may hold is counted for each of an array by itself.
func TestTooComplexIsAboutOneFrame(t *testing.T) {
	fewValues(t)
	var ran log
	p := dial(t, &hooks{run: func(_ context.Context, method, params string) { ran.add("%s %d", method, len(params)) }}, nil)
	many := "[" + strings.Repeat("1,", maxValues*3/5) + "1]"
	p.send(`[%s]`, strings.Join(slices.Repeat([]string{`{"jsonrpc":"2.0","method":"notify/a","params":{"x":` + many + `}}`}, 2), ","))
	eventually(t, "they have come", func() bool { return len(ran.all()) == 2 })
	if got := ran.all()[1]; got != fmt.Sprintf("notify/a %d", len(many)+len(`{"x":}`)) {
		t.Errorf("%s", got)
	}
	if s := p.conn.Stats(); s.Dropped+s.Reduced+s.NoiseLines > 0 {
		t.Errorf("%+v", s)
	}
	p.send(`{"jsonrpc":"2.0","method":"notify/b"}{"jsonrpc":"2.0","method":"notify/c","params":{"a":[%s,%[1]s],"b":7}} {"jsonrpc":"2.0","method":"notify/d"}`, many)
	eventually(t, "the glued ones have come", func() bool { return len(ran.all()) == 5 })
	if diff := cmp.Diff([]string{"notify/b 0", "notify/c 16", "notify/d 0"}, ran.all()[2:]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s := p.conn.Stats(); s.Reduced != 1 || s.Dropped+s.NoiseLines > 0 {
		t.Errorf("%+v", s)
	}
}

// Of what is too much together the largest goes first, and no more than need be.
func TestReduce(t *testing.T) {
	fewValues(t)
	list := func(n int) string { return "[1" + strings.Repeat(",1", n-1) + "]" }
	third := list(maxValues / 3)
	for name, tt := range map[string]struct{ text, want string }{
		"the largest":          {`{"params":{"a":` + third + `,"b":` + list(maxValues) + `,"c":2}}`, `{"params":{"a":` + third + `,"b":null,"c":2}}`},
		"what is over":         {`{"params":{"a":` + third + `,"b":` + third + `,"c":[` + third + `,[]]}}`, `{"params":{"a":` + third + `,"b":` + third + `,"c":null}}`},
		"at two levels":        {`{"params":{"_meta":` + third + `,"update":{"_meta":` + list(maxValues+1) + `,"content":{"text":"x"}}}}`, `{"params":{"_meta":` + third + `,"update":{"_meta":null,"content":{"text":"x"}}}}`},
		"in an error":          {`{"error":{"code":1,"data":` + list(maxValues) + `}}`, `{"error":{"code":1,"data":null}}`},
		"text is no structure": {`{"params":{"b":["]}\"\\",` + list(maxValues)[1:] + `,"update":{"content":{"text":"[[{{\""}}}}`, `{"params":{"b":null,"update":{"content":{"text":"[[{{\""}}}}`},
		"a list of content":    {`{"params":{"update":{"a":1,"content":[{"content":{"_meta":1}},` + list(maxValues) + `]}}}`, `{"params":{"update":{"a":1,"content":null}}}`},
		"deep in a list":       {`{"params":{"update":{"a":1,"content":[[` + nested(maxDepth) + `]]}}}`, `{"params":{"update":{"a":1,"content":null}}}`},
		"pairs":                {`{"params":{"a":[{}` + strings.Repeat(`,{"]":["]",{"[":[]}]}`, maxValues/5) + `],"b":{}}}`, `{"params":{"a":null,"b":{}}}`},
		"nothing helps":        {`{"params":{"update":{"content":{"text":"x"` + strings.Repeat(`,"a":1`, maxValues) + `}}}}`, ""},
		"no end":               {`{"params":{"a":` + list(maxValues) + `}`, ""},
		"more":                 {`{"params":{"a":` + list(maxValues) + `}}}`, ""},
	} {
		if got := string(reduce([]byte(tt.text))); got != tt.want {
			t.Errorf("%s: %.200s", name, got)
		}
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
