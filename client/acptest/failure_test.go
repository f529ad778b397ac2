package acptest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/permission"
)

// turnOf starts an agent that follows the script, and a turn.
func turnOf(t testing.TB, src string, o *acptest.Options) (*acptest.Agent, *acptest.Turn) {
	t.Helper()
	agent := acptest.Start(t, acptest.Script(t, src), o)
	return agent, agent.Session("").Prompt("go")
}

// What a test sees that fails, for each way to fail.
func TestFailures(t *testing.T) {
	t.Parallel()
	// What never comes is not waited for as long as what may be slow.
	never := func(a *acptest.Agent) { a.SetTimeout(time.Second) }
	allow := &acptest.Options{Client: client.Options{Permission: permission.Allow()}}
	turn := func(src string, o *acptest.Options, expect func(a *acptest.Agent, turn *acptest.Turn)) func(testing.TB) {
		return func(t testing.TB) {
			a, turn := turnOf(t, src, o)
			expect(a, turn)
		}
	}
	for name, test := range map[string]func(t testing.TB){
		"text that does not come": turn(`stderr "a warning\n"; on session/prompt; text "Hello, "; text "you"`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Text("Hello"); turn.Text("world") }),
		"text in time": turn(`on session/prompt; text "Hello"; wait forever`, nil,
			func(a *acptest.Agent, turn *acptest.Turn) {
				for len(turn.Updates()) == 0 {
					time.Sleep(time.Millisecond)
				}
				never(a)
				turn.Text("world")
			}),
		"no text at all": turn(`on session/prompt; thought "hm"`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Text("") }),
		"text in the wrong order": turn(`on session/prompt; text "one"; text "two"`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Text("two"); turn.Text("one") }),
		"a tool call of another kind": turn(`on session/prompt; tool a "Read a" kind=read; tool b "Run b" kind=execute`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.ToolCall("edit") }),
		"no tool call": turn("", nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.ToolCall("edit") }),
		"a call that failed": turn(`on session/prompt; tool a "Read a" kind=read; tool-update a status=failed; wait forever`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.ToolCall("read").Status("completed") }),
		"a call that goes on": turn(`on session/prompt; tool a "Read a" kind=read path=a.txt status=in_progress`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.ToolCall("read").Status("completed") }),
		"a call of another file": turn(`on session/prompt; tool a "Read a" kind=read path=/a.txt`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.ToolCall("read").Path("/b.txt") }),
		"a permission nobody expects": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Text("Done") }),
		"a permission of another kind": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Permission("execute") }),
		"a permission nobody expects at the end": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn") }),
		"a permission nobody answers": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Permission("edit"); turn.Stop("end_turn") }),
		"a permission that does not come": turn("", nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Permission("edit") }),
		"a permission in a turn that nobody awaits": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.ToolCall("edit"); turn.ToolCall("edit") }),
		"a permission while an update is awaited": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Session().Update("current_mode_update") }),
		"a permission while the end of the agent is awaited": turn(writer, nil,
			func(a *acptest.Agent, _ *acptest.Turn) { a.Wait() }),
		"a permission between turns while an update is awaited": turn(`
on session/prompt
  stop end_turn
  permission a "A" kind=edit
    option no reject_once "No"
  end`, nil,
			func(a *acptest.Agent, turn *acptest.Turn) {
				turn.Stop("end_turn")
				a.AwaitAsk()
				never(a)
				turn.Session().Update("current_mode_update")
			}),
		"a permission for a call that is known": turn(`
on session/prompt
  tool call-1 "Write hello.txt" kind=edit
  request session/request_permission {"sessionId": $session, "toolCall": {"toolCallId": "call-1"}, "options": []}`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn") }),
		"a permission for a call with the title of a kind": turn(`
on session/prompt
  request session/request_permission {"sessionId": $session, "toolCall": {"toolCallId": "call-1", "title": "edit"}, "options": []}`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn") }),
		"an option that is not offered": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Permission("edit").Select("perhaps") }),
		"nothing that allows": turn(`on session/prompt; permission a "A"; option no reject_once "No"; end`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Permission("A").Allow() }),
		"nothing at all offered": turn(`on session/prompt; permission a "A"; end`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Permission("A").Reject() }),
		"an answer twice": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) {
				p := turn.Permission("")
				p.Allow()
				turn.Stop("end_turn")
				p.Reject()
			}),
		"an answer beside the policy": turn(writer, allow,
			func(_ *acptest.Agent, turn *acptest.Turn) {
				p := turn.Permission("")
				turn.Stop("end_turn")
				p.Allow()
			}),
		"an answer after a cancel": turn(writer, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) {
				p := turn.Permission("")
				turn.Cancel()
				turn.Stop("cancelled")
				p.Allow()
			}),
		"another stop reason": turn(`on session/prompt; stop refusal`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn") }),
		"no stop reason": turn(`on session/prompt; reply {"done": true}`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn") }),
		"an end that does not come": turn(`on session/prompt; wait forever`, nil,
			func(a *acptest.Agent, turn *acptest.Turn) { never(a); turn.Stop("end_turn") }),
		"an error for an end": turn(`on session/prompt; fail -32603 "no \"key\"" {"a": 1}`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn") }),
		"an end for an error": turn("", nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Error("") }),
		"another kind of error": turn(`on session/prompt; fail -32603 "no"`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Error(client.KindExit) }),
		"an agent that dies": turn(`on session/prompt; text "half"; stderr "panic: oh\n"; noise "panicking"; exit 2`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Text("whole") }),
		"an agent that dies in a turn that nobody awaits": turn(`on session/prompt; text "half"; stderr "panic: oh\n"; exit 3`, nil,
			func(a *acptest.Agent, turn *acptest.Turn) { turn.Text("half"); <-a.Client().Exited() }),
		"an agent that dies in a turn of which nobody minds the end": turn(`on session/prompt; text "half"; raise KILL`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Output() }),
		"an update that does not come": turn(`on session/prompt; plan "a"`, nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Update("plan"); turn.Update("plan") }),
		"a file that is not written": turn("", nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.File(client.FileWrite, "a.txt") }),
		"a command that is not run": turn("", nil,
			func(_ *acptest.Agent, turn *acptest.Turn) { turn.Command("make") }),
		"another exit status": turn(`on eof; exit 4`, nil,
			func(a *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn"); a.Close().Clean() }),
		"no signal": turn(`on eof; exit 4`, nil,
			func(a *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn"); a.Close().Signal("SIGTERM") }),
		"an agent that is deaf": turn(`on eof; wait forever`, &acptest.Options{Client: client.Options{Graces: client.Graces{EOF: 100 * time.Millisecond}}},
			func(a *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn"); a.Close().Clean() }),
		"a process left in its group": turn(`on session/prompt; spawn; wait forever; end`,
			&acptest.Options{Client: client.Options{Graces: client.Graces{EOF: 2 * time.Second, Term: time.Minute}}},
			func(a *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn"); a.Close().Clean() }),
		"noise on stdout": turn(`on session/prompt; noise "starting…\x1b[31m"`, nil,
			func(a *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn"); a.Close().Clean() }),
		"an agent that lives on": turn("", nil,
			func(a *acptest.Agent, turn *acptest.Turn) { turn.Stop("end_turn"); never(a); a.Wait() }),
		"a second prompt": func(t testing.TB) {
			s := acptest.Start(t, acptest.Script(t, `on session/prompt; wait forever`), nil).Session("")
			s.Prompt("one")
			s.Prompt("two").Stop("end_turn")
		},
		"no update between turns": func(t testing.TB) {
			a, turn := turnOf(t, "", nil)
			turn.Stop("end_turn")
			s := a.Session("")
			never(a)
			s.Update("available_commands_update")
		},
		"no update of an agent that has gone": func(t testing.TB) {
			s := acptest.Start(t, acptest.Script(t, `on session/prompt; exit 0`), nil).Session("")
			s.Prompt("go").Error(client.KindExit)
			s.Update("available_commands_update")
		},
		"no session": func(t testing.TB) {
			acptest.Start(t, acptest.Script(t, `on session/new; fail -32000 "Log in first"`), nil).Session("")
		},
		"no directory": func(t testing.TB) {
			acptest.Start(t, acptest.Script(t, ""), nil).Session("testdata/no such directory")
		},
		"no start": func(t testing.TB) {
			acptest.Start(t, acptest.Script(t, `stderr "no model\n"; exit 1`), nil)
		},
		"no program": func(t testing.TB) {
			acptest.Start(t, client.Command{Path: "no-such-agent"}, nil)
		},
		"a bad timeout": func(t testing.TB) {
			acptest.Start(t, client.Command{Path: "no-such-agent"}, &acptest.Options{Timeout: -1})
		},
		"a bad script": func(t testing.TB) { acptest.Script(t, "no such statement") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := try(t, test)
			if !f.Failed() {
				t.Fatal("the test passes")
			}
			golden(t, filepath.Join("testdata", "failures", strings.ReplaceAll(name, " ", "-")+".txt"), f.constant())
		})
	}
}

// An agent that dies in its turn fails the test, unless the test has looked at that, or that
// turn is another test's.
func TestDeathInATurn(t *testing.T) {
	t.Parallel()
	const script = `
on session/prompt "die"
  text "half"
  exit 3
on session/prompt "end"
  fail -32603 "no"
  exit 3
on session/prompt "brittle"
  text "half"
  wait cancel
  exit 3
on session/prompt "polite"
  text "half"
  wait cancel
  exit 0
`
	for name, tt := range map[string]struct {
		test  func(t testing.TB, a *acptest.Agent)
		fails bool
	}{
		"nobody looks": {func(t testing.TB, a *acptest.Agent) {
			a.Session("").Prompt("die").Text("half")
			<-a.Client().Exited()
		}, true},
		"it dies of the cancel at the end": {func(t testing.TB, a *acptest.Agent) {
			a.Session("").Prompt("brittle").Text("half")
		}, true},
		"it goes at the cancel at the end": {func(t testing.TB, a *acptest.Agent) {
			a.Session("").Prompt("polite").Text("half")
		}, false},
		"after a turn that was well": {func(t testing.TB, a *acptest.Agent) {
			s := a.Session("")
			s.Prompt("live").Stop("end_turn")
			s.Prompt("die")
			<-a.Client().Exited()
		}, true},
		"its error is expected": {func(t testing.TB, a *acptest.Agent) { a.Session("").Prompt("die").Error(client.KindExit) }, false},
		"it is awaited":         {func(t testing.TB, a *acptest.Agent) { a.Session("").Prompt("die"); a.Wait() }, false},
		"it is closed":          {func(t testing.TB, a *acptest.Agent) { a.Session("").Prompt("die").Text("half"); a.Close() }, false},
		"another error expected": {func(t testing.TB, a *acptest.Agent) {
			a.Session("").Prompt("", acp.ImageBlock("aaaa", "image/png")).Error("")
			a.Session("").Prompt("die")
			<-a.Client().Exited()
		}, true},
		"in a subtest": {func(t testing.TB, a *acptest.Agent) {
			if sub := try(t.(*fake).TB.(*testing.T), func(t testing.TB) {
				a.With(t).Session("").Prompt("die")
				<-a.Client().Exited()
			}); !sub.Failed() || !strings.Contains(sub.text(), "while a turn was open") {
				t.Errorf("the subtest says %q", sub.text())
			}
		}, false},
		"beside a subtest": {func(t testing.TB, a *acptest.Agent) {
			a.Session("").Prompt("die")
			<-a.Client().Exited()
			if sub := try(t.(*fake).TB.(*testing.T), func(t testing.TB) { a.With(t) }); sub.Failed() {
				t.Log(sub.text())
				t.FailNow()
			}
		}, true},
		"after a turn": {func(t testing.TB, a *acptest.Agent) {
			a.Session("").Prompt("end")
			<-a.Client().Exited()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := try(t, func(t testing.TB) {
				tt.test(t, acptest.Start(t, acptest.Script(t, script), nil))
			})
			if f.Failed() != tt.fails || tt.fails && !strings.Contains(f.text(), "the agent has ended by itself while a turn was open, with exit status 3") {
				t.Errorf("it says: %s", f.text())
			}
		})
	}
}

// A request that comes when no turn is open is there for the next one.
func TestPermissionBetweenTurns(t *testing.T) {
	t.Parallel()
	f := try(t, func(t testing.TB) {
		s := acptest.Start(t, acptest.Script(t, `
on session/prompt 1
  stop end_turn
  permission a "A" kind=edit
    option no reject_once "No"
  end
on session/prompt 2
  wait forever
`), nil).Session("")
		s.Prompt("one").Stop("end_turn")
		s.Prompt("two").Stop("end_turn")
	})
	if !f.Failed() || !strings.HasPrefix(f.text(), `acptest: Stop("end_turn"): the agent asks for a permission that the test does not expect: edit "A"`) {
		t.Errorf("it says: %s", f.text())
	}
}

// Requests that come when no turn is open are there for the next one, all of them, and
// fail the test that does not look at them.
func TestPermissionsBetweenTurns(t *testing.T) {
	t.Parallel()
	const ask = `{\"jsonrpc\":\"2.0\",\"id\":\"%[1]s\",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"session-1\",\"toolCall\":{\"toolCallId\":\"%[1]s\",\"title\":\"%[1]s\"},\"options\":[{\"optionId\":\"no\",\"name\":\"No\",\"kind\":\"reject_once\"}]}}\n`
	script := "on session/prompt 1; stop end_turn; raw \"" + fmt.Sprintf(ask, "A") + fmt.Sprintf(ask, "B") + "\"; plan \"asked\"\n" +
		"on session/prompt 2; wait cancel; stop cancelled"
	const fails = `the end of the test: the agent asks for a permission that the test does not expect: "A"`
	for name, tt := range map[string]struct {
		test func(s *acptest.Session)
		want string
	}{
		"in order": {func(s *acptest.Session) {
			turn := s.Prompt("two")
			turn.Permission("A").Reject()
			turn.Permission("B").Reject()
			turn.Cancel()
			turn.Stop("cancelled")
		}, ""},
		"nobody looks": {func(*acptest.Session) {}, fails},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := try(t, func(t testing.TB) {
				s := acptest.Start(t, acptest.Script(t, script), nil).Session("")
				s.Prompt("one").Stop("end_turn")
				s.Update("plan")
				tt.test(s)
			})
			if f.Failed() != (tt.want != "") || !strings.Contains(f.text(), tt.want) {
				t.Errorf("it says: %s", f.text())
			}
		})
	}
}

// What is shown to all who read the log of a test holds no secret.
func TestFailureIsRedacted(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-and-more"
	f := try(t, func(t testing.TB) {
		cmd := acptest.Script(t, `on session/prompt; stderr "key $env.MY_API_KEY\n"; text "It is $env.MY_API_KEY"`)
		cmd.Env = []string{"MY_API_KEY=" + secret}
		turn := acptest.Start(t, cmd, nil).Session("").Prompt("go")
		turn.Text(secret) // the test sees it
		turn.Text("no")
	})
	if !f.Failed() || strings.Contains(f.text(), secret) || !strings.Contains(f.text(), "key ") {
		t.Errorf("it says: %s", f.text())
	}
	f = try(t, func(t testing.TB) {
		cmd := acptest.Script(t, `on session/prompt; text "It is $env.MY_API_KEY"`)
		cmd.Env = []string{"MY_API_KEY=" + secret}
		acptest.Start(t, cmd, nil).Session("").Prompt("go").Text("no")
	})
	if !f.Failed() || strings.Contains(f.text(), secret) || !strings.Contains(f.text(), "It is ") {
		t.Errorf("it says: %s", f.text())
	}
}

// Nor does a part of one that stands where a long text is cut.
func TestFailureIsRedactedBeforeItIsCut(t *testing.T) {
	t.Parallel()
	const secret = "zQ7kLmvB9xT4pR2wN8sD6fG1hJ3aW5eY0uI"
	for name, test := range map[string]func(t testing.TB, agent func(src string) *acptest.Turn){
		"text": func(t testing.TB, agent func(src string) *acptest.Turn) {
			agent(`text "BEFORE$env.MY_API_KEY-AFTER"`).Text("no")
		},
		"text in pieces": func(t testing.TB, agent func(src string) *acptest.Turn) {
			agent(`text "BEFORE` + secret[:12] + `"; text "` + secret[12:] + `-AFTER"`).Text("no")
		},
		"answer": func(t testing.TB, agent func(src string) *acptest.Turn) {
			agent(`reply {"x":"BEFORE$env.MY_API_KEY-AFTER"}`).Stop("end_turn")
		},
		"permission": func(t testing.TB, agent func(src string) *acptest.Turn) {
			agent(`permission "BEFORE$env.MY_API_KEY-AFTER" "BEFORE$env.MY_API_KEY-AFTER" kind=edit
				option "BEFORE$env.MY_API_KEY-AFTER" allow_once "Yes"
			end`).Stop("end_turn")
		},
		"tool call": func(t testing.TB, agent func(src string) *acptest.Turn) {
			agent(`tool a "BEFORE$env.MY_API_KEY-AFTER" kind=edit path="/BEFORE$env.MY_API_KEY-AFTER"`).ToolCall("edit").Status("completed")
		},
	} {
		for cut := range 3 {
			after := strings.Repeat("b", 375+cut*5)
			f := try(t, func(t testing.TB) {
				test(t, func(src string) *acptest.Turn {
					src = strings.NewReplacer("BEFORE", strings.Repeat("a", 1000), "AFTER", after).Replace(src)
					cmd := acptest.Script(t, "on session/prompt; "+src)
					cmd.Env = []string{"MY_API_KEY=" + secret}
					return acptest.Start(t, cmd, nil).Session("").Prompt("go")
				})
			})
			why, _, _ := strings.Cut(f.text(), "\nThe conversation")
			if !f.Failed() || strings.Contains(why, secret[len(secret)-6:]) || !strings.Contains(why, "bbb") {
				t.Errorf("%s: it says: %s", name, why)
			}
		}
	}
}

// What is shown on the terminal of who runs the test is text and nothing else.
func TestFailureIsVisible(t *testing.T) {
	t.Parallel()
	const bad = `\x1b[31m\u202e\u2028\u009b\x07\u200b\ufe0f`
	for name, test := range map[string]func(t testing.TB, agent func(src string) *acptest.Agent){
		"start": func(t testing.TB, agent func(src string) *acptest.Agent) { agent(`on initialize; fail -32000 "BAD"`) },
		"stderr": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on initialize; stderr "BAD\n"; exit 3`)
		},
		"session": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on session/new; fail -32000 "BAD\nacptest: fake" {"d":"BAD"}`).Session("")
		},
		"turn": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on session/prompt; fail -32000 "BAD\nacptest: fake"`).Session("").Prompt("go").Stop("end_turn")
		},
		"another error": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on session/prompt; fail -32000 "BAD"`).Session("").Prompt("go").Error(client.KindExit)
		},
		"stop reason": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on session/prompt; stop "BAD"`).Session("").Prompt("go").Stop("end_turn")
		},
		"text": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on session/prompt; text "BAD"; noise "BAD"; stderr "BAD\n"`).Session("").Prompt("go").Text("no")
		},
		"permission": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on session/prompt
				permission "BAD" "BAD" kind="BAD" path="/BAD"
					option "BAD" "BAD" "BAD"
				end`).Session("").Prompt("go").Stop("end_turn")
		},
		"tool call": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on session/prompt; tool "a" "BAD" kind="BAD" status="BAD" path="/BAD"`).Session("").Prompt("go").ToolCall("a").Status("completed")
		},
		"noise": func(t testing.TB, agent func(src string) *acptest.Agent) {
			agent(`on initialize; noise "BAD"`).Close().Clean()
		},
	} {
		f := try(t, func(t testing.TB) {
			test(t, func(src string) *acptest.Agent {
				return acptest.Start(t, acptest.Script(t, strings.ReplaceAll(src, "BAD", bad)), nil)
			})
		})
		if !f.Failed() || strings.ContainsAny(f.text(), "\x1b\u202e\u2028\u009b\x07\u200b\ufe0f") || strings.Contains(f.text(), "\nacptest: fake") {
			t.Errorf("%s: it says: %q", name, f.text())
		}
	}
}

// golden compares a text with a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
