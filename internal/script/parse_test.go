package script

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/errand-acp/errand/internal/check"
)

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"txt hi", `s:1: there is no statement "txt"; there are: answer, append, `},
		{"\n\n  \"text\" hi", `s:3: a statement must begin with its name, not with "text"`},
		{`x="y"`, `s:1: a statement must begin with its name`},
		{`text "hi`, `s:1: this text does not end on its line`},
		{`text "\q"`, `s:1: this text does not end on its line, or has an escape that is none of Go's`},
		{"text 'hi\n'", `s:1: this text does not end on its line`},
		{`text "a""b"`, `s:1: a blank must follow`},
		{"send {\"a\":\n\n[1}", `s:1: this JSON has no end`},
		{`send {"a":}`, `s:1: send: this is not JSON: invalid character`},
		{`send {"a":nul}`, `s:1: send: this is not JSON`},
		{"text a b", `s:1: text: "b" is too much; usage: text [TEXT] [size=SIZE]`},
		{"text siez=3", `s:1: text: there is no siez=; usage: `},
		{"text size=3 size=4", `s:1: text: size= is given twice`},
		{"text size=3XB", `s:1: text: size= must be a size: a number with B, KB, MB, KiB or MiB after it, not "3XB"`},
		{"text {}", `s:1: text: TEXT must be a text: a word, or anything in quotes, not "{}"`},
		{"exit", `s:1: exit: CODE is missing; usage: exit CODE`},
		{"exit one", `s:1: exit: CODE must be a whole number, not "one"`},
		{"wait", `s:1: wait: DURATION is missing`},
		{"wait 3", `s:1: wait: DURATION must be a duration: 300ms, 2s, not "3"`},
		{"wait for", `s:1: wait for: METHOD is missing`},
		{"answer 3", `s:1: answer: FIELDS must be a JSON object, not "3"`},
		{"update []", `s:1: update: UPDATE must be a JSON object, not "[]"`},
		{"usage used=1", `s:1: usage: size= is missing`},
		{"plan", `s:1: plan: TEXT is missing`},
		{"raise NONE", `s:1: raise: SIGNAL must be a signal: TERM, KILL, STOP, not "NONE"`},
		{"repeat x\nend", `s:1: repeat: what follows must be a number from 0 or "forever", not "x"`},
		{"repeat -1\nend", `s:1: repeat: what follows must be a number from 0`},
		{"if a was b\nend", `s:1: if: what follows must be "is" or "is-not" or "contains", not "was"`},
		{"permission c t cancel=now\nend", `s:1: permission: cancel= must be "wait" or "leave" or "withdraw", not "now"`},
		{"repeat 2\ntext a", `s:1: repeat: no "end" ends this block`},
		{"repeat 2\ntext a\non eof", `s:1: repeat: no "end" ends this block`},
		{"spawn\ntext a", `s:1: spawn: no "end" ends this block`},
		{"text a\nend", `s:2: "end" without a block that it ends`},
		{"on eof\nend", `s:2: "end" without a block that it ends`},
		{"repeat 2\nend x", `s:2: "end" stands alone on its line`},
		{"else", `s:1: else stands only in a block of if`},
		{"option a allow_once b", `s:1: option stands only in a block of permission`},
		{"permission c t\n if a is b\n  when other\n end\nend", `s:3: when stands only in a block of permission`},
		{"permission c t\n text a\nend", `s:2: permission: options, and only they, stand before the first when`},
		{"permission c t\n when other\n  option a b c\nend", `s:3: permission: options, and only they, stand before the first when`},
		{"on", `s:1: on: the event is missing; usage: on start`},
		{"on promt", `s:1: on: "promt" is no event and no method of ACP`},
		{"on sesion/prompt", `s:1: on: ACP has no method "sesion/prompt", but session/prompt; if you mean one that ACP does not have, write it in quotes`},
		{"on Session/Prompt", `s:1: on: ACP has no method "Session/Prompt", but session/prompt`},
		{"on session/updat", `s:1: on: ACP has no method "session/updat", but session/update`},
		{"on session/rewind", `s:1: on: ACP has no method "session/rewind"; if you mean`},
		{"on fs/glob", `s:1: on: ACP has no method "fs/glob"; if`},
		{"wait for session/promt", `s:1: wait for: ACP has no method "session/promt", but session/prompt`},
		{"request terminal/resize {}", `s:1: request: ACP has no method "terminal/resize"; if`},
		{"notify sessoin/update {}", `s:1: notify: ACP has no method "sessoin/update", but session/update`},
		{"on signal", `s:1: on signal: the name of the signal is missing`},
		{"on signal SIGTERM", `s:1: on signal: "SIGTERM" is no signal`},
		{"on signal TERM now", `s:1: on signal TERM: "now" is too much`},
		{"on eof 2", `s:1: on eof: "2" is too much`},
		{"on session/prompt two", `s:1: on session/prompt: "two" must be a number from 1 (the nth time) or a text in quotes (that it contains)`},
		{"on session/prompt 0", `s:1: on session/prompt: "0" must be`},
		{`on session/prompt "a" b`, `s:1: on session/prompt: "b" is too much`},
		{"on eof {}", `s:1: on: "{}" is too much`},
		{"on eof\non eof", `s:2: line 1 has the same section`},
		{"on session/prompt 2\non session/prompt 2", `s:2: line 1 has the same section`},
		{"text $promt", `s:1: there is no $promt: neither one of ours (answer, args, `},
		{"set mine a\nspawn\n text $mine\nend", `s:3: there is no $mine`},
		{"spawn\n set mine a\nend\ntext $mine", `s:4: there is no $mine`},
		{"set prompt a", `s:1: set: "prompt" is not a name that a script may set`},
		{"set a.b a", `s:1: set: "a.b" is not a name`},
	} {
		_, err := Parse("s", []byte(test.src))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q:\n got %v\nwant %s…", test.src, err, test.want)
		}
		if typed := (*Error)(nil); !errors.As(err, &typed) || typed.File != "s" || typed.Line < 1 {
			t.Errorf("%q: %#v is no *Error with file and line", test.src, err)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for _, src := range []string{
		"",
		"# only a comment",
		"text a # with a comment\n\n\ttext b\r\n",
		"text 'single $prompt'; text \"double\"; text ba're",
		"on session/prompt; repeat 2; text hi; end; stop end_turn",
		"on session/prompt\n\tif \"$params.prompt.0.text\" is a; text b; else; text c; end",
		"send {\n  \"a\": [1,\n 2]\n}",
		"reply $answer; reply null; reply \"text\"; reply 12 id=\"x\"; exit $n",
		"spawn; on session/prompt; text a; end; wait children",
		"on $/cancel_request\non _vendor\non logout\non vendor/x\non _session/prompt",
		"on \"sesion/prompt\"\non 'session/rewind' 2\non session/set_mode\non document/didOpen",
		"set m fs/glob; wait for \"session/promt\"; request 'fs/glob'; notify $m; request terminal/wait_for_exit",
		"wait 1s\ntext wait\nset a_1 b\ntext ${a_1}$$x$",
	} {
		if _, err := Parse("s", []byte(src)); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestVariablesInTextAndJSON(t *testing.T) {
	vars := func(name string) json.RawMessage {
		switch name {
		case "s":
			return quote("say \"hi\"\n")
		case "n":
			return json.RawMessage("7")
		case "o":
			return json.RawMessage(`{"a":[1]}`)
		}
		return nil
	}
	for _, test := range []struct {
		tok        token
		text, json string
	}{
		{token{kind: textToken, text: "$s|$n|${n}1|$o|$none|$$n|$5"}, "say \"hi\"\n|7|71|{\"a\":[1]}||$n|$5", `"say \"hi\"\n|7|71|{\"a\":[1]}||$n|$5"`},
		{token{kind: jsonToken, text: `{"a": "$s", "b": $s, "n": [$n, "$n", "\"$n"], "$n": $none}`},
			`{"a": "say \"hi\"\n", "b": "say \"hi\"\n", "n": [7, "7", "\"7"], "7": null}`,
			`{"a":"say \"hi\"\n","b":"say \"hi\"\n","n":[7,"7","\"7"],"7":null}`},
		{token{kind: wordToken, text: "$o"}, `{"a":[1]}`, `{"a":[1]}`},
		{token{kind: wordToken, text: "$none"}, "", "null"},
		{token{kind: wordToken, text: "12"}, "12", "12"},
	} {
		v := newValue(test.tok)
		if got := v.text(vars); got != test.text {
			t.Errorf("%s: text %q, want %q", test.tok.text, got, test.text)
		}
		if got, err := v.compact().json(vars); err != nil || string(got) != test.json {
			t.Errorf("%s: json %s, %v; want %s", test.tok.text, got, err, test.json)
		}
	}
}

// TestExamples: every example parses, and each row of the list of faults that an
// agent can commit has one.
func TestExamples(t *testing.T) {
	const dir = "../../testdata/scripted-agent/scripts"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".script")
		if !ok {
			t.Errorf("%s is no script", e.Name())
		}
		row, _, _ := strings.Cut(name, "-")
		have[row] = true
		src, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(e.Name(), src); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(string(src), "# ") {
			t.Errorf("%s does not begin with what it is", e.Name())
		}
	}
	rows := strings.Fields(`
		t01 t02 t03 t04 t05 t06 t07 t08 t09 t10 t11 t12 t13 t14 t15 t16 t17 t18 t19 t20 t21 t22 t23 t24
		o01 o02 o03 o04 o05
		l01 l02 l03 l04 l05 l06 l07 l08 l09 l10 l11 l12 l13 l14 l16 l17 l18
		p01 p02 p03 p04 p05 p06 p07 p08 p09 p10 p11
		s01 s02 s03 s04 s05 s06 s07 s08 s09 s10 s11 s12
		e01 e02 e05 e06 e07 f02 f04 honest`)
	for _, row := range rows {
		if !have[row] {
			t.Errorf("no script for %s", row)
		}
	}
	for row := range have {
		if !slices.Contains(rows, row) {
			t.Errorf("a script for %s, which is no row", row)
		}
	}
}

// Whatever the source is: an error names a line of it; and a script has every token of its
// source in it, is JSON where it says so, and is the same again when it is written out.
func FuzzParse(f *testing.F) {
	f.Add("on session/prompt\n permission c t\n  option a allow_once b\n  when allowed\n   text \"$prompt\" size=3KB\n end\n stop end_turn {\"usage\":{}}")
	f.Add("spawn stdin; on signal TERM; raw \"\\xff\"; end; wait 3ms # x")
	f.Add("send {\"a\":[$id,\"$s{\\\"}\"]} pretty\nif ${n} is '}'\nelse\nend")
	f.Add("plan a 'b' \"c\"\non session/prompt\nplan $text b")
	f.Add("text 'a; # b'; text \"$$\\n\"\tsize=3B\r\non start;text '';on any\ntext #")
	f.Fuzz(func(t *testing.T, src string) {
		check.Cost(t, len(src))
		s, err := Parse("s", []byte(src))
		if err != nil {
			if typed := (*Error)(nil); !errors.As(err, &typed) || typed.Line < 1 || typed.Line > strings.Count(src, "\n")+1 {
				t.Fatalf("%#v is no *Error with a line of the script", err)
			}
			return
		}
		tokens := 0
		s.walk(func(c *call) {
			tokens += len(c.stmt.grammar.words) + len(c.args) + len(c.rest)
			for name, v := range c.args {
				if v.kind != jsonToken {
					continue
				}
				got, err := v.json(func(string) json.RawMessage { return nil })
				if err != nil || !json.Valid(got) || strings.Contains(string(got), "\n") {
					t.Fatalf("%s of line %d is no JSON of one line: %q, %v", name, c.line, got, err)
				}
			}
			if c.child == nil {
				return
			}
			if _, err := Parse("s", []byte(c.child.text)); err != nil {
				t.Fatalf("the child's script cannot be parsed by itself: %v", err)
			}
		})
		written, want := rewritten(t, src)
		if tokens != want {
			t.Errorf("the script has %d tokens of %d", tokens, want)
		}
		again, err := Parse("s", []byte(written))
		if err != nil {
			t.Fatalf("written as %q: %v", written, err)
		}
		// Where it stands differs.
		for _, s := range []*Script{s, again} {
			for _, sec := range s.sections {
				sec.line = 0
			}
			s.walk(func(c *call) {
				c.line = 0
				if c.child != nil {
					c.child.text = ""
					for _, sec := range c.child.script.sections {
						sec.line = 0
					}
				}
			})
		}
		if !reflect.DeepEqual(s, again) {
			t.Errorf("it is another script when it is written as %q", written)
		}
	})
}

// rewritten writes the tokens of a script, one statement a line and every text in double
// quotes, and counts those of the statements: a flag once, a heading and an end not.
func rewritten(t *testing.T, src string) (text string, tokens int) {
	lex := &lexer{name: "s", src: src}
	lines, err := lex.lines()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, line := range lines {
		for _, tok := range line.tokens {
			if tok.key != "" {
				b.WriteString(tok.key + "=")
			}
			if tok.kind == textToken {
				tok.text = strconv.Quote(tok.text)
			}
			b.WriteString(tok.text + " \t")
		}
		b.WriteString("# its end ; \n\n")
		if first := line.tokens[0].text; first == "on" || first == "end" {
			continue
		}
		stmt, args := findStatement(line.tokens)
		flags := map[string]bool{}
		tokens += len(line.tokens)
		for _, tok := range args {
			if tok.kind == wordToken && tok.key == "" && slices.Contains(stmt.grammar.flags, tok.text) {
				if flags[tok.text] {
					tokens--
				}
				flags[tok.text] = true
			}
		}
	}
	return b.String(), tokens
}

// walk calls f for every statement, those in blocks and of spawned scripts too.
func (s *Script) walk(f func(*call)) {
	var body func([]*call)
	body = func(calls []*call) {
		for _, c := range calls {
			f(c)
			for _, part := range c.clauses {
				if part.head != nil {
					f(part.head)
				}
				body(part.body)
			}
			if c.child != nil {
				c.child.script.walk(f)
			}
		}
	}
	body(s.start)
	for _, sec := range s.sections {
		if sec.event != "start" { // its body is in s.start
			body(sec.body)
		}
	}
}
