package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/permission"
)

// hosted is a scene with what was read, written and run through us.
type hosted struct {
	*scene
	mu       sync.Mutex // guards what is below: it is told on other goroutines
	files    []client.FileRecord
	commands []client.CommandRecord
}

func host(t *testing.T, o client.Options, src string) *hosted {
	t.Helper()
	h := &hosted{scene: play(t, src)}
	o.Observe, o.ObservePermission = h.opts.Observe, h.opts.ObservePermission
	o.ObserveFile = func(r client.FileRecord) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.files = append(h.files, r)
	}
	o.ObserveCommand = func(r client.CommandRecord) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.commands = append(h.commands, r)
	}
	h.opts = o
	return h
}

// says runs one turn and asserts the text of it.
func (h *hosted) answers(want string) {
	h.Helper()
	h.completes(h.session(), "go", "end_turn")
	h.agent.Close()
	if got := h.text(); got != want {
		h.Errorf("the agent says %q, want %q", got, want)
	}
}

func (h *hosted) write(name, text string) {
	h.Helper()
	require(h.TB.(*testing.T), os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o666))
}

func (h *hosted) holds(name, want string) {
	h.Helper()
	got, err := os.ReadFile(filepath.Join(h.Dir, name))
	if err != nil && want != "" || string(got) != want {
		h.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
}

// decided asserts the decisions, as "method-kind title: decision by rule".
func (h *hosted) decided(want ...string) {
	h.Helper()
	got := []string{}
	for _, r := range h.permissions() {
		got = append(got, fmt.Sprintf("%s %s: %s by %s", *r.Kind, strings.ReplaceAll(*r.Title, h.Dir, "."), r.Decision, r.Rule))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		h.Errorf("permissions (-want +got):\n%s", diff)
	}
}

// served asserts the files, as "op path bytes error".
func (h *hosted) served(want ...string) {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	got := []string{}
	for _, f := range h.files {
		text := fmt.Sprintf("%s %s %d", f.Op, strings.ReplaceAll(f.Path, h.Dir, "."), f.Bytes)
		if f.Missing {
			text += " missing"
		}
		if f.Error != nil {
			text += " " + *f.Error
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		h.Errorf("files (-want +got):\n%s", diff)
	}
}

// What is advertised is what is served, in every combination.
func TestHostedCapabilities(t *testing.T) {
	const asks = `
on session/prompt
  request fs/read_text_file {"sessionId":"$session","path":"$cwd/file"}
  text "$error.code "
  request fs/write_text_file {"sessionId":"$session","path":"$cwd/file","content":"x"}
  text "$error.code "
  request terminal/create {"sessionId":"none","command":"none"}
  text "$error.code"
`
	for _, files := range []client.FileAccess{client.FilesNone, client.FilesRead, client.FilesWrite} {
		for _, terminals := range []bool{false, true} {
			t.Run(fmt.Sprintf("files %q, terminals %v", files, terminals), func(t *testing.T) {
				h := host(t, client.Options{Files: files, Terminals: terminals, Permission: permission.Allow()}, asks)
				h.write("file", "text")
				const none = "-32601"
				want := []string{none, none, none}
				if files != client.FilesNone {
					want[0] = ""
				}
				if files == client.FilesWrite {
					want[1] = ""
				}
				if terminals {
					want[2] = "-32602" // there is no such session
				}
				h.answers(strings.Join(want, " "))
				told := string(h.Params("initialize"))
				for text, granted := range map[string]bool{
					`"readTextFile":true`: files != client.FilesNone, `"writeTextFile":true`: files == client.FilesWrite, `"terminal":true`: terminals,
				} {
					if strings.Contains(told, text) != granted {
						t.Errorf("initialize says %s, and %s is %v", told, text, granted)
					}
				}
			})
		}
	}
}

func TestHostedFiles(t *testing.T) {
	read := func(path string) string {
		return `
  request fs/read_text_file {"sessionId":"$session","path":"` + path + `"}
  text "[$answer.content|$error.message]"`
	}
	write := func(path, text string) string {
		return `
  request fs/write_text_file {"sessionId":"$session","path":"` + path + `","content":"` + text + `"}
  text "[$error.message]"`
	}
	const turn = "on session/prompt"

	t.Run("read", func(t *testing.T) {
		h := host(t, client.Options{Files: client.FilesRead}, turn+read("$cwd/file")+`
  request fs/read_text_file {"sessionId":"$session","path":"$cwd/file","line":2,"limit":1}
  text "[$answer.content]"`+read("$cwd/none")+read("/etc/passwd")+read("file")+read("$cwd"))
		h.write("file", "one\ntwo\nthree\n")
		h.answers("[one\ntwo\nthree\n|][two\n][|no such file][|it is outside the workspace][|not an absolute path][|it is a directory]")
		h.decided()
		h.served("read ./file 14", "read ./file 4", "read ./none 0 no such file or directory", "read /etc/passwd 0 it is outside the workspace",
			"read file 0 not an absolute path", "read . 0 it is a directory")
	})
	t.Run("write", func(t *testing.T) {
		h := host(t, client.Options{Files: client.FilesWrite, Permission: permission.Allow()}, turn+read("$cwd/sub/new")+write("$cwd/sub/new", "text")+read("$cwd/sub/new")+write("/etc/new", "x"))
		h.answers("[|][][text|][it is outside the workspace]")
		h.holds("sub/new", "text")
		h.decided("edit Write ./sub/new: allowed by allow")
		h.served("read ./sub/new 0 missing", "write ./sub/new 4", "read ./sub/new 4", "write /etc/new 0 it is outside the workspace")
	})
	t.Run("a write is put to the policy", func(t *testing.T) {
		h := host(t, client.Options{Files: client.FilesWrite}, turn+write("$cwd/file", "new"))
		h.write("file", "old")
		h.answers("[not permitted (reject)]")
		h.holds("file", "old")
		h.decided("edit Write ./file: denied by reject")
		h.served("write ./file 0 not permitted (reject)")
	})
	t.Run("so is a read of a sensitive file", func(t *testing.T) {
		for _, name := range []string{".env", "key.pem"} {
			h := host(t, client.Options{Files: client.FilesRead}, turn+read("$cwd/"+name)+read("$cwd/link"))
			h.write(name, "SECRET")
			require(t, os.Symlink(name, h.Dir+"/link"))
			h.answers("[|not permitted (reject)][|not permitted (reject)]")
			h.decided("read Read ./"+name+": denied by reject", "read Read ./"+name+": denied by reject")
		}
		h := host(t, client.Options{Files: client.FilesRead, Permission: permission.Allow()}, turn+read("$cwd/.env"))
		h.write(".env", "SECRET")
		h.answers("[SECRET|]")
	})
	t.Run("rules see every read", func(t *testing.T) {
		rules := &permission.Rules{Default: permission.EffectAllow, Rules: []permission.Rule{{Name: "notes", Effect: permission.EffectDeny, Paths: []string{"./notes/**"}}}}
		h := host(t, client.Options{Files: client.FilesRead, Permission: rules}, turn+read("$cwd/file")+read("$cwd/notes/a"))
		h.write("file", "text")
		h.answers("[text|][|not permitted (deny: notes)]")
	})
	t.Run("of another session", func(t *testing.T) {
		h := host(t, client.Options{Files: client.FilesWrite, Permission: permission.Allow()}, turn+`
  request fs/write_text_file {"sessionId":"session-2","path":"$cwd/file","content":"x"}
  text "$error.message"`)
		h.answers("no session of this connection has that id")
		h.holds("file", "")
	})
	t.Run("a question that is open at cancel comes to nothing", func(t *testing.T) {
		asked := make(chan struct{})
		policy := permission.PolicyFunc(func(ctx context.Context, req permission.Request) permission.Decision {
			close(asked)
			<-ctx.Done()
			return permission.Decision{OptionID: "allow", Rule: "too late"}
		})
		h := host(t, client.Options{Files: client.FilesWrite, Permission: policy}, turn+write("$cwd/file", "new")+"\n  wait cancel")
		session := h.session()
		ctx, cancel := context.WithCancel(t.Context())
		turn := h.ask(ctx, session, "go")
		<-asked
		cancel()
		if answer, err := h.await(turn); err != nil || !answer.Cancelled {
			t.Errorf("the turn ended with %+v, %v", answer, err)
		}
		h.agent.Close()
		h.holds("file", "")
		h.decided("edit Write ./file: cancelled by turn cancelled")
	})
	t.Run("but the next turn is another one", func(t *testing.T) {
		h := host(t, client.Options{Files: client.FilesWrite, Permission: permission.Allow()}, "on session/prompt\n  if $prompt is first\n    text waiting\n    wait cancel\n  else"+write("$cwd/file", "new")+"\n  end")
		session := h.session()
		ctx, cancel := context.WithCancel(t.Context())
		turn := h.ask(ctx, session, "first")
		h.says("waiting")
		cancel()
		h.await(turn)
		h.completes(session, "second", "end_turn")
		h.agent.Close()
		h.holds("file", "new")
	})
	t.Run("a secret in a path is told nobody", func(t *testing.T) {
		h := host(t, client.Options{Files: client.FilesWrite, Permission: permission.Allow()}, turn+write("$cwd/$env.API_KEY", "x"))
		h.command.Env = append(h.command.Env, "API_KEY=canary-12345678")
		h.answers("[]")
		for _, f := range h.files {
			if strings.Contains(fmt.Sprintf("%+v", f), "canary") {
				t.Errorf("a file record holds the secret: %+v", f)
			}
		}
	})
}

// D8: the agent sees other paths than we do. What it names is translated back before the
// policy sees it, and what it cannot see is refused before anything is started.
func TestD8PathsInTwoWorlds(t *testing.T) {
	rules := &permission.Rules{Rules: []permission.Rule{{Name: "src", Effect: permission.EffectAllow, Paths: []string{"./src/**"}}}}
	ask := func(path string) string {
		return `
  permission c1 "Edit" kind=edit path=` + path + ` input={"file_path":"` + path + `"}
    option yes allow_once Yes
    option no reject_once No
    when allowed
      text "allowed "
    when rejected
      text "rejected "
  end`
	}
	h := host(t, client.Options{Files: client.FilesWrite, Terminals: true, Permission: rules}, "on session/prompt\n  text \"$cwd \""+
		ask("/workspace/src/a.go")+ask("/workspace/other.go")+ask("/elsewhere/src/a.go")+ask("/workspace/src/../../x")+`
  request fs/write_text_file {"sessionId":"$session","path":"/workspace/src/new","content":"text"}
  text "[$error.message]"
  request fs/read_text_file {"sessionId":"$session","path":"`+"$pwd"+`/src/new"}
  text "[$error.message]"
  request terminal/create {"sessionId":"$session","command":"true","cwd":"/elsewhere"}
  text "[$error.message]"`)
	require(t, os.Mkdir(h.Dir+"/src", 0o777))
	h.command.Paths = []client.PathPair{{Ours: h.Dir, Theirs: "/workspace"}}
	h.answers("/workspace allowed rejected rejected rejected [][it is outside the workspace][cwd: it does not exist on this side]")
	h.holds("src/new", "text")

	none := play(t, "")
	none.command.Paths = []client.PathPair{{Ours: h.Dir + "/src", Theirs: "/workspace"}}
	e := none.fails(t.Context(), client.KindConfig, client.StepConfig)
	if !strings.Contains(e.Error(), "where the agent lives") {
		t.Errorf("the error is %v", e)
	}
	none.NotStarted()
}
