package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/canary"
)

// aviary is the script of an agent that puts a secret, $c, wherever the command line has a
// place for it, and says nothing itself.
const aviary = `
stderr "at the start $c\n"
noise "at the start $c"
on initialize
  answer {"agentInfo": {"name": "agent $c", "version": "$c"}}
on session/prompt
  stderr "in the turn $c\nand $c"
  noise "in the turn $c"
  plan "use $c"
  tool c1 "with $c" kind=execute status=in_progress
  update {"sessionUpdate": "tool_call", "toolCallId": "x $c"}
  tool c2 "with ${pad}$c" status=failed
  permission c3 "may I $c" input={"$c": "$c"}
    option yes allow_once "$c"
    option sure allow_once "$c"
  end
`

// A secret is in nothing that the program shows, in no mode, however its run ends; but for
// the agent's own words, of which there are none here.
func TestCanary(t *testing.T) {
	const secret = `qx"jvk\zwypmhgtrbd/QXJVKZWY`
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	// Titles are cut on the screen, here in the middle of the secret.
	head := fmt.Sprintf("read %q; set c \"$answer\"; set pad x size=145B\n", file)
	for ending, src := range map[string]string{
		"completes":     aviary + `stop end_turn`,
		"ends oddly":    aviary + `stop "odd $c"`,
		"fails":         aviary + `fail 401 "no: $c" {"$c": ["$c", "{\"k\":\"$c\"}"]}`,
		"dies":          aviary + `raise KILL`,
		"hangs":         aviary + `wait forever`,
		"exits":         `stderr "no: $c\nreally: $c"; noise "no: $c"; exit 3`,
		"needs login":   `on session/new; fail -32000 "log in: $c" {"authMethods": [{"id": "m $c"}]}`,
		"is no agent":   `on initialize; reply ["$c"]`,
		"other version": `on initialize; reply {"protocolVersion": "$c"}`,
	} {
		for mode, flags := range map[string][]string{
			"plain": nil, "quiet": {"--quiet"}, "json": {"--json"}, "events": {"--events"},
		} {
			for place, env := range map[string][2]string{
				"held back": {"MY_TOKEN=" + secret, ""}, "let through": {"MY_TOKEN=" + secret, "MY_TOKEN"}, "explicit": {"", "MY_TOKEN=" + secret},
			} {
				if place != "held back" && mode != "json" && mode != "plain" {
					continue
				}
				t.Run(ending+", "+mode+", "+place, func(t *testing.T) {
					t.Parallel()
					p := newProgram(t)
					args := append([]string{"run", "--permission", "allow", "--idle-timeout", "300ms", "--cancel-grace", "100ms"}, flags...)
					if env[0] != "" {
						p.Env = []string{env[0]}
					}
					if env[1] != "" {
						args = append(args, "--env", env[1])
					}
					got := p.run(append(append(args, "hi"), scripted(t, head+src)...)...)
					stdout := got.stdout
					if mode == "events" {
						stdout = ""
						for line := range strings.Lines(got.stdout) {
							if !strings.Contains(line, `"type":"update"`) { // its own words
								stdout += line
							}
						}
					}
					// The id of a tool call has to match what the agent says of it.
					stdout = strings.ReplaceAll(stdout, `"x qx\"jvk\\zwypmhgtrbd/QXJVKZWY"`, "")
					for what, text := range map[string]string{"stdout": stdout, "stderr": got.stderr} {
						for _, where := range canary.Find(secret, text) {
							t.Errorf("%s%s", what, where)
						}
					}
					if all := stdout + got.stderr; !strings.Contains(all, "[redacted]") && !(mode == "quiet" && ending == "completes") {
						t.Errorf("there was nothing to redact:\n%s", all)
					}
				})
			}
		}
	}
}

// The JSON libraries of agents escape what they like, as they like: whoever decodes what is
// shown, as a golden file does, finds no secret in it either.
func TestCanaryEscaped(t *testing.T) {
	const secret = `wJalrXUtn+K7/MD'ENG<b&Px"RfiCYé🔑==EXAMPLE`
	// escapes writes text as it stands in JSON, with these characters as \u003d or \u003D.
	escapes := func(text, these, format string) string {
		var b strings.Builder
		for _, c := range text {
			switch {
			case these == "" || strings.ContainsRune(these, c) || c > '~' && these != "/":
				for _, u := range utf16.Encode([]rune{c}) {
					fmt.Fprintf(&b, format, u)
				}
			case c == '"' || c == '\\':
				b.WriteString(`\` + string(c))
			default:
				b.WriteRune(c)
			}
		}
		return b.String()
	}
	files := map[string]*strings.Builder{"raw": {}, "stderr": {}}
	raw := func(step, text string) { files[step].WriteString(text + "\n") }
	for _, inString := range []func(string) string{
		func(text string) string { return escapes(text, `+'"<>&`, `\u%04X`) }, // System.Text.Json
		func(text string) string { return escapes(text, `='<>&`, `\u%04x`) },  // Gson
		func(text string) string { return strings.ReplaceAll(escapes(text, "/", `\u%04x`), `\u002f`, `\/`) },
		func(text string) string { return escapes(text, "", `\u%04x`) },
	} {
		inJSON := `{"key":"` + inString(secret) + `"}`
		const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":%s}}`
		raw("raw", fmt.Sprintf(update, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"it is `+inString(secret)+` "}}`))
		raw("raw", fmt.Sprintf(update, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"`+inString(inJSON)+` "}}`))
		raw("raw", fmt.Sprintf(update, `{"sessionUpdate":"tool_call","toolCallId":"c1","title":"curl `+inString(secret)+`","rawInput":"`+inString(inJSON)+`","rawOutput":{"`+inString(secret)+`":1}}`))
		raw("raw", fmt.Sprintf(update, `{"sessionUpdate":"tool_call_update","toolCallId":"c1","title":"`+inString(inJSON)+`"}`))
		raw("raw", inJSON+" is noise")
		raw("stderr", inJSON)
		raw("stderr", `{"log":"`+inString(inJSON)+`"}`)
	}
	src, dir := "on session/prompt\n", t.TempDir()
	for step, lines := range files {
		file := filepath.Join(dir, step)
		if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		src += fmt.Sprintf("read %q; %s \"$answer\"\n", file, step)
	}
	src += `fail -32603 "no"`

	// decoded is text as people read it who decode it, once and again.
	unquote := regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)
	decoded := func(text string) []string {
		all := []string{text}
		for range 4 {
			text = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\/`, `/`).Replace(unquote.ReplaceAllStringFunc(text, func(u string) string {
				n, _ := strconv.ParseUint(u[2:], 16, 16)
				return string(rune(n))
			}))
			all = append(all, text)
		}
		return all
	}
	shows := func(t *testing.T, what, text string) {
		t.Helper()
		if !strings.Contains(text, "[redacted]") {
			t.Errorf("%s: there was nothing to redact:\n%s", what, text)
		}
		for _, text := range decoded(text) {
			for _, where := range canary.Find(secret, text) {
				t.Errorf("%s%s", what, where)
			}
		}
	}
	for mode, flags := range map[string][]string{"plain": nil, "json": {"--json"}, "events": {"--events"}} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.Env = []string{"MY_TOKEN=" + secret}
			file := filepath.Join(t.TempDir(), "talk.ndjson")
			got := p.run(append(append([]string{"run", "--transcript", file, "hi"}, flags...), scripted(t, src)...)...)
			switch mode {
			case "plain": // stdout is the agent's own words
				shows(t, "stderr", got.stderr)
			case "json":
				shows(t, "result", withoutOwnWords(t, got.stdout))
			case "events":
				for line := range strings.Lines(got.stdout) {
					if strings.Contains(line, `"type":"end"`) {
						shows(t, "event", withoutOwnWords(t, line))
					} else if !strings.Contains(line, `"type":"update"`) && canary.Find(secret, decoded(line)) != nil {
						t.Errorf("event shows it: %s", line)
					}
				}
			}
			written, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			shows(t, "transcript", string(written))
			shows(t, "errand transcript", p.run("transcript", file).stdout)
			talk, err := transcript.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var golden strings.Builder
			if _, err := talk.Normalize(transcript.IDs(), transcript.Times()).WriteTo(&golden); err != nil {
				t.Fatal(err)
			}
			shows(t, "golden", golden.String())
			if n := strings.Count(golden.String(), `"frame":`); n < 20 {
				t.Errorf("%d frames are left: the others are none any more\n%s", n, golden.String())
			}
		})
	}
}

// withoutOwnWords is a result without what the agent has said.
func withoutOwnWords(t *testing.T, doc string) string {
	t.Helper()
	var res map[string]any
	if err := json.Unmarshal([]byte(doc), &res); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	inner, ok := res["result"].(map[string]any)
	if !ok {
		inner = res
	}
	delete(inner, "output")
	delete(inner, "messages")
	text, _ := json.Marshal(res) // what was unmarshaled always marshals
	return string(text)
}
