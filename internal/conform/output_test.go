package conform

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/transcript"
)

// hostile are texts that would like to be more than text.
var hostile = []string{
	"\x1b[2J\x1b]0;owned\a", "\u202e\u2066\u200b", "\x00\x01\x08\x0b\x0c\x7f\u0085\u2028\u2029", "\xff\xfe\xc3", "\ufffe\uffff",
	`]]><failure message="x"/>`, `" onload="`, "<!-- -->", "&amp;&#0;&bogus;", "line\nline\r\nline\r", "a\tb", `\u001b`, `{"a":1}`,
	strings.Repeat("long ", 10_000), strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
}

// hostileReport is a report in which everything that comes from an agent is one of them.
func hostileReport(text string) *Report {
	quoted, _ := json.Marshal(text)
	frame := json.RawMessage(`{"jsonrpc":"2.0","method":` + string(quoted) + `,"params":{"text":` + string(quoted) + `}}`)
	raw := json.RawMessage("{\"raw\":\"" + strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, text) + "\xff\"}")
	r := &Report{
		Command: []string{text}, Agent: &Peer{text, text}, Capabilities: json.RawMessage(quoted),
		WithheldEnv: []string{}, Scenes: []SceneReport{{Name: "scene", Stopped: text}}, Findings: []Finding{},
	}
	for _, v := range []Verdict{Pass, Fail, Warn, NotApplicable} {
		f := Finding{Rule: Rules()[0], Verdict: v, Why: text, Scene: "scene", Entries: shown([]transcript.Entry{
			{From: transcript.FromAgent, Frame: frame}, {From: transcript.FromAgent, Frame: raw},
			{From: transcript.FromAgent, Text: text}, {From: transcript.FromStderr, Text: text, Bytes: 1 << 20},
			{End: &transcript.End{Rung: "eof"}},
		})}
		r.Findings = append(r.Findings, f)
		r.Counts.add(v)
	}
	return r
}

func TestHostileTable(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		table := hostileReport(text).Table()
		for _, r := range table {
			if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
				t.Errorf("%.40q: the table has %q", text, r)
				break
			}
		}
		for line := range strings.Lines(table) {
			if len(line) > 8<<10 {
				t.Errorf("%.40q: the table has a line of %d bytes", text, len(line))
			}
		}
		// What the agent wrote adds no line: one for each rule, and one for each frame.
		if want, got := strings.Count(hostileReport("x").Table(), "\n"), strings.Count(table, "\n"); got != want {
			t.Errorf("%.40q: the table has %d lines, want %d", text, got, want)
		}
	}
}

func TestHostileJSON(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		b, err := json.Marshal(hostileReport(text))
		if err != nil {
			t.Errorf("%.40q: %v", text, err)
			continue
		}
		var back Report
		if err := json.Unmarshal(b, &back); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
		if !utf8.Valid(b) || bytes.ContainsAny(b, "\x00\x1b\n") {
			t.Errorf("%.40q: the JSON has bytes that it must not have", text)
		}
		if diff := cmp.Diff(strings.ToValidUTF8(text, "\ufffd"), back.Findings[1].Why); diff != "" && utf8.ValidString(text) {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestHostileJUnit(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		for _, failOn := range []Level{Must, Manners, Never} {
			var b bytes.Buffer
			if err := hostileReport(text).WriteJUnit(&b, failOn); err != nil {
				t.Fatal(err)
			}
			var failures, skipped, cases, outs int
			d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%.40q: %v\n%s", text, err, b.Bytes())
				}
				if e, ok := token.(xml.StartElement); ok {
					switch e.Name.Local {
					case "testcase":
						cases++
					case "failure":
						failures++
					case "skipped":
						skipped++
					case "system-out":
						outs++
					}
				}
			}
			wantFailures := map[Level]int{Must: 2, Manners: 2, Never: 0}[failOn] // the rule's level is must
			if cases != 4 || skipped != 1 || failures != wantFailures || outs != 2-wantFailures {
				t.Errorf("%.40q, %s: %d cases, %d failures, %d skipped, %d outs", text, failOn, cases, failures, skipped, outs)
			}
			for _, r := range b.String() {
				if r != '\n' && r != '\t' && r < ' ' || r == 0xfffe || r == 0xffff {
					t.Errorf("%.40q: it has %q, which XML 1.0 does not know", text, r)
					break
				}
			}
		}
	}
}

// What the exit status goes by.
func TestFailed(t *testing.T) {
	report := func(level Level, v Verdict) *Report {
		return &Report{Findings: []Finding{{Rule: Rule{Level: level}, Verdict: v}}}
	}
	for _, tt := range []struct {
		level Level
		v     Verdict
		want  map[Level]bool
	}{
		{Must, Fail, map[Level]bool{Must: true, Should: true, Manners: true, Never: false}},
		{Should, Warn, map[Level]bool{Must: false, Should: true, Manners: true, Never: false}},
		{Manners, Warn, map[Level]bool{Must: false, Should: false, Manners: true, Never: false}},
		{Must, Pass, map[Level]bool{Must: false, Should: false, Manners: false, Never: false}},
		{Must, NotApplicable, map[Level]bool{Must: false, Should: false, Manners: false, Never: false}},
	} {
		for failOn, want := range tt.want {
			if got := report(tt.level, tt.v).Failed(failOn); got != want {
				t.Errorf("%s %s with --fail-on %s: %v, want %v", tt.level, tt.v, failOn, got, want)
			}
		}
	}
}
