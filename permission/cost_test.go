package permission_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/errand-acp/errand/permission"
)

// repeated is a list of n texts, each of its number.
func repeated(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}

// input is a call of kind edit with that raw input.
func input(v any) string {
	text, _ := json.Marshal(map[string]any{"kind": "edit", "rawInput": v})
	return string(text)
}

// costly are calls that somebody made to tire us.
var costly = map[string]string{
	"flags that hold a denied program": exec(append([]string{"sh"}, repeated("-"+strings.Repeat("rm", 32)+"%.0d", 400)...)...),
	"a line of words":                  exec("sh", "-c", strings.Join(repeated("rm%d", 10_000), " ")),
	"words of many elements":           exec(append([]string{"cat"}, repeated(strings.Repeat("a/", 1500)+"x%d", 300)...)...),
	"words of many ..":                 exec(append([]string{"cat"}, repeated(strings.Repeat("../", 1300)+"x%d", 300)...)...),
	"a flag of a megabyte":             exec("cat", "-"+strings.Repeat("a", 1<<20)),
	"a path of a megabyte":             exec("cat", strings.Repeat("a/", 1<<19)),
	"values of a megabyte":             exec("cat", strings.Repeat("a=", 1<<19)),
	"a URL of URLs":                    exec("curl", strings.Repeat("http://a", 1<<17)),
	"patterns under one key":           input(map[string]any{"x": repeated("e?v%d", 50_000)}),
	"patterns of many elements":        input(map[string]any{"include": repeated("*e*n*v*/*g*i*t*/*s*s*h*/%d", 2000)}),
	"sets under one key":               input(map[string]any{"include": repeated("["+strings.Repeat("a-", 1000)+"]%d", 500)}),
	"braces":                           input(map[string]any{"x": repeated(strings.Repeat("{", 2000)+strings.Repeat("}", 2000)+"%d", 1000)}),
	"paths":                            input(map[string]any{"paths": repeated("a/%d", 100_000)}),
	"a patch of many files":            input(map[string]any{"x": strings.Join(repeated("+++ a%d\n", 1<<17), "")}),
	"keys":                             input(keyed("k%d", 100_000, "a/b")),
	"keys for commands":                input(keyed("%d_command", 3_000, strings.Repeat("x", 1<<9))),
	"keys for arguments":               input(keyed("arg"+"s%.0d%s", 3_000, "x")),
	"variables":                        `{"kind":"execute","rawInput":{"command":"ls","env":` + jsonOf(repeated("A%d=x", 100_000)) + `}}`,
}

func keyed(format string, n int, value string) map[string]any {
	out := map[string]any{}
	for i := range n {
		if strings.Contains(format, "%s") {
			out[fmt.Sprintf(format, 0, strings.Repeat("-", i))] = value
		} else {
			out[fmt.Sprintf(format, i)] = value
		}
	}
	return out
}

// patience is longer than any of them takes on a machine that has other work, and shorter than
// what grows with the square of the call.
const patience = time.Minute

// What a call costs is bounded, and one that costs too much is for somebody to look at.
func TestCost(t *testing.T) {
	policy := rules(t, `{"default":"allow","sensitive":"allow","rules":[
		{"effect":"deny","commands":[["rm","-rf","x"],["git","push","**"],["*","--force"]]},
		{"effect":"deny","paths":["./secret/**","**/*.pem","**/a/**/b/**/c*"]}, {"effect":"deny","hosts":["evil.com"]}]}`)
	for name, text := range costly {
		t.Run(name, func(t *testing.T) {
			req := call(t, text)
			req.Dir = t.TempDir()
			resolved := 0
			req.Resolve = func(path string) (string, error) { resolved++; return resolveAsItIs(path) }
			req.LookPath = found
			start := time.Now()
			v := policy.Explain(req)
			if took := time.Since(start); took > patience {
				t.Errorf("it took %s", took)
			}
			if resolved > 10_000 {
				t.Errorf("%d paths were resolved", resolved)
			}
			if v.Effect != permission.EffectAsk || v.Rule != "too large to be looked at whole" {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// resolveAsItIs costs what it costs to look for a path that is not there.
func resolveAsItIs(path string) (string, error) {
	for at := path; len(at) > 1; at = at[:max(1, strings.LastIndexByte(at, '/'))] {
		if _, err := os.Lstat(at); err == nil {
			break
		}
	}
	return linked(nil)(path)
}
