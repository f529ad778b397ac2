//go:build unix

package subagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
	"github.com/errand-acp/errand/stopreason"
	"github.com/errand-acp/errand/subagent"
)

// The result lists what was read, written and run through us, and null where nothing
// can be.
func TestHostedInTheResult(t *testing.T) {
	const acts = `on session/prompt
  request fs/read_text_file {"sessionId":"$session","path":"$cwd/a"}
  request fs/write_text_file {"sessionId":"$session","path":"$cwd/b","content":"text"}
  request terminal/create {"sessionId":"$session","command":"/bin/sh","args":["-c","exit 3"]}
  set t "$answer.terminalId"
  request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}
  request terminal/create {"sessionId":"$session","command":"/bin/sh","args":["-c","sleep 1000"]}
  text done`
	s := play(t, acts, &subagent.ACPOptions{Files: client.FilesWrite, Terminals: true, Permission: permission.Allow()})
	check.Equal(t, "error", os.WriteFile(filepath.Join(s.Dir, "a"), []byte("abc"), 0o666), nil)
	res := s.run("go")
	ended(t, res, stopreason.Completed, "")
	var got struct {
		Files []struct {
			Op, Path string
			Bytes    int
		}
		Commands []struct {
			Command []string
			Exit    *struct {
				Code   *int
				Signal *string
			}
		}
	}
	text, err := json.Marshal(res)
	check.Equal(t, "error", err, nil)
	check.Equal(t, "error", json.Unmarshal(text, &got), nil)
	if len(got.Files) != 2 || got.Files[0].Op != "read" || got.Files[0].Bytes != 3 || got.Files[1].Op != "write" || got.Files[1].Path != s.Dir+"/b" {
		t.Errorf("files: %+v", got.Files)
	}
	if len(got.Commands) != 2 || got.Commands[0].Exit == nil || got.Commands[0].Exit.Code == nil || *got.Commands[0].Exit.Code != 3 ||
		got.Commands[1].Exit == nil || got.Commands[1].Exit.Signal == nil {
		t.Errorf("commands: %s", text)
	}
	check.Equal(t, "permissions", len(res.Permissions), 3) // the write and two commands
	check.Equal(t, "tool calls", len(res.ToolCalls), 0)    // they are not the agent's
	check.Equal(t, "warnings", len(res.Warnings), 0)       // nor its questions

	plain := play(t, "on session/prompt; text hello", nil).run("go")
	if plain.Files != nil || plain.Commands != nil {
		t.Errorf("without the services there are files %v and commands %v", plain.Files, plain.Commands)
	}
}

// The names are a contract: what does not apply is null, and none is left out.
func TestHostedContract(t *testing.T) {
	s := play(t, `on session/prompt
  request fs/read_text_file {"sessionId":"$session","path":"$cwd/a"}
  request fs/write_text_file {"sessionId":"$session","path":"$cwd/a","content":"x"}
  request terminal/create {"sessionId":"$session","command":"true"}
  set t "$answer.terminalId"
  request terminal/wait_for_exit {"sessionId":"$session","terminalId":"$t"}
  request terminal/create {"sessionId":"$session","command":"true","args":["x"],"cwd":"/nonexistent"}
  request terminal/create {"sessionId":"$session","command":"no-such-program"}
  text "done"`, &subagent.ACPOptions{Files: client.FilesWrite, Terminals: true, Permission: permission.Allow()})
	res := s.run("go")
	ended(t, res, stopreason.Completed, "")
	for i := range res.Files {
		res.Files[i].Ms = 0
	}
	for i := range res.Commands {
		res.Commands[i].Ms = 0
	}
	got, err := json.MarshalIndent(map[string]any{"files": res.Files, "commands": res.Commands}, "", " ")
	check.Equal(t, "error", err, nil)
	session, dir := *res.SessionID, s.Dir
	const command = `"sessionId":"SESSION","toolCallId":%s,"terminalId":%s,"command":%s,"dir":"%s","exit":%s,"outputBytes":0,"truncated":false,"error":%s,"ms":0`
	want := `{"commands":[
		{` + fmt.Sprintf(command, `"errand-terminal-2"`, `"errand-terminal-2"`, `["true"]`, dir, `{"code":0,"signal":null}`, `null`) + `},
		{` + fmt.Sprintf(command, `null`, `null`, `["true","x"]`, "/nonexistent", `null`, `"cwd: directory \"/nonexistent\": no such file or directory"`) + `},
		{` + fmt.Sprintf(command, `"errand-terminal-3"`, `null`, `["no-such-program"]`, dir, `null`, `"ERROR"`) + `}],
	"files":[
		{"sessionId":"SESSION","toolCallId":null,"op":"read","path":"DIR/a","bytes":0,"missing":true,"error":null,"ms":0},
		{"sessionId":"SESSION","toolCallId":"errand-1","op":"write","path":"DIR/a","bytes":1,"missing":false,"error":null,"ms":0}]}`
	var indented bytes.Buffer
	check.Equal(t, "error", json.Indent(&indented, []byte(want), "", " "), nil)
	if e := res.Commands[len(res.Commands)-1].Error; e != nil {
		text, _ := json.Marshal(*e)
		got = bytes.ReplaceAll(got, text, []byte(`"ERROR"`)) // it says where it was looked for
	}
	r := strings.NewReplacer("SESSION", session, "DIR", dir)
	if diff := cmp.Diff(r.Replace(indented.String()), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Their facts are there, with all that facts have.
	for _, p := range res.Permissions {
		text, err := json.Marshal(p.Facts)
		check.Equal(t, "error", err, nil)
		for _, name := range []string{`"odd":`, `"line":`, `"program":`} {
			if len(p.Facts.Commands)+len(p.Facts.Paths) > 0 && name == `"odd":` || len(p.Facts.Commands) > 0 {
				check.Has(t, string(text), name)
			}
		}
	}
}

// What is under way at the end is in the result, and no line follows an audit's last.
func TestHostedAtTheEnd(t *testing.T) {
	var lines bytes.Buffer
	s := play(t, `on session/prompt
  background
    request fs/read_text_file {"sessionId":"$session","path":"$cwd/huge","line":2}
  end
  background
    request fs/read_text_file {"sessionId":"$session","path":"$cwd/huge","line":3}
  end
  wait file "$cwd/go"
  text done`, &subagent.ACPOptions{Files: client.FilesRead, Audit: &subagent.Audit{W: &lines}})
	check.Equal(t, "error", os.WriteFile(filepath.Join(s.Dir, "huge"), nil, 0o666), nil)
	check.Equal(t, "error", os.Truncate(filepath.Join(s.Dir, "huge"), 1<<40), nil)
	s.Touch("go")
	res := s.run("go")
	ended(t, res, stopreason.Completed, "")
	all := strings.Split(strings.TrimSpace(lines.String()), "\n")
	if last := all[len(all)-1]; !strings.Contains(last, `"type":"end"`) {
		t.Errorf("the last line is %s", last)
	}
	if n := strings.Count(lines.String(), `"type":"file"`); n != len(res.Files) {
		t.Errorf("%d files in the audit, %d in the result", n, len(res.Files))
	}
	for _, f := range res.Files {
		if f.Error == nil {
			t.Errorf("a read without end has ended: %+v", f)
		}
	}
}

// A command is another one where its arguments lead elsewhere than when it was asked for.
func TestHostedGrantOfACommand(t *testing.T) {
	const script = `on session/prompt
  permission c1 "Show" kind=execute input={"command":"cat","args":["link"]}
    option yes allow_once Yes
    option no reject_once No
  end
  request terminal/create {"sessionId":"$session","command":"cat","args":["link"]}
  text "[$error.message]"`
	for name, swap := range map[string]bool{"the same": false, "a link that leads elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			var questions atomic.Int32
			var s *scene
			policy := permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
				if questions.Add(1) > 1 {
					return permission.Reject().Decide(ctx, req)
				}
				d := permission.Allow().Decide(ctx, req)
				return d
			})
			s = play(t, strings.Replace(script, "  request terminal", "  write asked\n  wait file $cwd/go\n  request terminal", 1), &subagent.ACPOptions{Terminals: true, Permission: policy})
			link := filepath.Join(s.Dir, "link")
			check.Equal(t, "error", os.WriteFile(link, nil, 0o666), nil)
			run := s.start(t.Context())
			s.Await("asked")
			if swap {
				check.Equal(t, "error", os.Remove(link), nil)
				check.Equal(t, "error", os.Symlink("/etc/hostname", link), nil)
			}
			s.Touch("go")
			outcome(t, run)
			res := closed(t, run)
			want := "[]"
			if swap {
				want = "[not permitted (reject)]"
			}
			check.Equal(t, "output", res.Output, want)
		})
	}
}

// What the agent has asked for and was allowed it is not asked again when it does
// exactly that; anything else is a new question. The names are PARITY's.
func TestHostedGrants(t *testing.T) {
	const asked = `on session/prompt
  permission c1 "Write a" kind=edit path=$cwd/a input={"path":"$cwd/a","content":"text"} old=- new=text
    option yes allow_once Yes
    option no reject_once No
    when allowed
      text "allowed "
  end
`
	write := func(path, content string) string {
		return `  request fs/write_text_file {"sessionId":"$session","path":"$cwd/` + path + `","content":"` + content + `"}
  text "$error.message."
`
	}
	for _, tt := range []struct {
		name, script string
		questions    int32
		output       string
	}{
		{"exactly that", write("a", "text"), 1, "allowed ."},
		{"C9 once, not twice", write("a", "text") + write("a", "text"), 2, "allowed .."},
		{"C9 another text", write("a", "other"), 2, "allowed ."},
		{"C9 another file", write("b", "text"), 2, "allowed ."},
		{"C9 a lie about the old text", write("there", "text"), 2, "allowed ."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var questions atomic.Int32
			policy := permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
				questions.Add(1)
				return permission.Allow().Decide(ctx, req)
			})
			script := strings.Replace(asked, " old=-", "", 1) + tt.script
			if strings.Contains(tt.script, "/there") { // the diff shows a part of it as if it were all
				script = strings.ReplaceAll(strings.ReplaceAll(asked, "$cwd/a", "$cwd/there"), "old=-", "old=part") + tt.script
			}
			s := play(t, script, &subagent.ACPOptions{Files: client.FilesWrite, Permission: policy})
			check.Equal(t, "error", os.WriteFile(filepath.Join(s.Dir, "there"), []byte("part and more"), 0o666), nil)
			res := s.run("go")
			ended(t, res, stopreason.Completed, "")
			check.Equal(t, "output", res.Output, tt.output)
			check.Equal(t, "questions", questions.Load(), tt.questions)
		})
	}
}
