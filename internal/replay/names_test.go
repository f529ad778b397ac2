package replay

import (
	"fmt"
	"strings"
	"testing"
)

// often is how often a conversation is held that has to come out the same each time.
const often = 30

// terminals is a turn in which the agent makes terminals and speaks of them afterwards; called
// are the ids that the parent gives them.
func terminals(arrows string, id int, called ...string) string {
	us, them := arrows[:1], arrows[1:]
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d session/prompt {\"sessionId\":\"s\"}\n", us, id)
	for i, name := range called {
		fmt.Fprintf(&b, "%s %d terminal/create {\"sessionId\":\"s\",\"command\":\"c%d\"}\n%s %d = {\"terminalId\":%q}\n", them, 100+i, i, us, 100+i, name)
	}
	for i, name := range called {
		fmt.Fprintf(&b, "%s %d terminal/release {\"sessionId\":\"s\",\"terminalId\":%q}\n%s %d = {}\n", them, 200+i, name, us, 200+i)
	}
	return b.String()
}

// Ids that the parent chooses anew may be those that it had chosen for something else, and
// what else the agent says is not changed for them.
func TestTerminalsOverlap(t *testing.T) {
	const says = `session/update {"sessionId":"s","update":{"toolCallId":"3","title":"4","content":[{"type":"terminal","terminalId":"%s"},{"type":"content","content":{"type":"text","text":"3"}}],"rawInput":{"terminal_id":"%s","n":["2","3"],"3":"4"}}}` + "\n"
	rec := recording(t, opening+terminals("><", 3, "2", "3", "4")+"< "+fmt.Sprintf(says, "3", "4")+"< 3 = {}\nend 0 eof")
	for _, o := range []Options{{}, {Lenient: true}} {
		for range often {
			serve(t, rec, o).converse(hello + terminals("><", 12, "1", "2", "3") + "< " + fmt.Sprintf(says, "2", "3") + "< 12 = {}\neof\nend 0")
			serve(t, rec, o).converse(hello + terminals("><", 12, "4", "2", "3") + "< " + fmt.Sprintf(says, "2", "3") + "< 12 = {}\neof\nend 0")
		}
	}
}

// Each session may have a terminal of the same name.
func TestTerminalsOfSessions(t *testing.T) {
	talk := func(first int, one, two string) string {
		var b strings.Builder
		id := first
		turn := func(session, asks, answer string) {
			fmt.Fprintf(&b, "> %[1]d session/prompt {\"sessionId\":%[2]q}\n< 7 terminal/%[3]s\n> 7 = %[4]s\n< %[1]d = {}\n", id, session, asks, answer)
			id++
		}
		for _, session := range []string{"A", "B"} {
			fmt.Fprintf(&b, "> %[1]d session/new {}\n< %[1]d = {\"sessionId\":%[2]q}\n", id, session)
			id++
		}
		turn("A", `create {"sessionId":"A"}`, fmt.Sprintf(`{"terminalId":%q}`, one))
		turn("B", `create {"sessionId":"B"}`, fmt.Sprintf(`{"terminalId":%q}`, two))
		turn("A", fmt.Sprintf(`kill {"sessionId":"A","terminalId":%q}`, one), "{}")
		turn("B", fmt.Sprintf(`kill {"sessionId":"B","terminalId":%q}`, two), "{}")
		turn("A", fmt.Sprintf(`kill {"sessionId":"child","terminalId":%q}`, one), "{}")
		return b.String()
	}
	for range often {
		serve(t, recording(t, talk(1, "1", "1")+"end 0 eof"), Options{}).converse(talk(21, "5", "6") + "eof\nend 0")
	}
}

// What looks like a name that a rule has put in is one in a conversation that has such.
func TestOnlyNormalizedHasNames(t *testing.T) {
	for _, said := range []string{"$HOME", "$session-1", "at $time", "$run", "$version"} {
		raw := opening + `> 3 session/prompt {"sessionId":"s","prompt":"` + said + `"}
			< session/update {"sessionId":"s","text":"` + said + `"}
			< 3 = {}
			end 0 eof`
		for _, of := range []string{"", "normalized $DIR $X\n"} {
			l := serve(t, recording(t, of+raw), Options{})
			l.converse(hello + `> 12 session/prompt {"sessionId":"s","prompt":"rm -rf /"}`)
			if d := l.difference(); !strings.Contains(d.Text, "at params.prompt: recorded ") {
				t.Errorf("%s%s: %s", of, said, d.Text)
			}
		}
		live := `> 12 session/prompt {"sessionId":"s","prompt":"` + strings.Replace(said, "$", "it is ", 1) + `"}
			< session/update {"sessionId":"s","text":"` + said + `"}
			< 12 = {}
			eof
			end 0`
		for range often {
			l := serve(t, recording(t, "normalized $HOME ids times versions\n"+raw), Options{})
			switch said {
			case "at $time":
				live = strings.Replace(live, "it is time", "2026-01-02", 1)
			}
			l.converse(hello + live)
		}
	}
}

// What the agent said is the parent's word for it only where it is an id.
func TestNamesInText(t *testing.T) {
	for range often {
		serve(t, recording(t, `normalized ids $X
			> 1 session/load {"sessionId":"$session-1","cwd":"/rec","name":"$X"}
			< session/update {"sessionId":"$session-1","update":{"text":"$session-1","name":"$X","_meta":{"parentSessionId":"$session-1"}}}
			< 1 = {}
			end 0 eof`), Options{}).converse(`
			> 1 session/load {"sessionId":"mine","cwd":"/rec","name":"x"}
			< session/update {"sessionId":"mine","update":{"text":"$session-1","name":"$X","_meta":{"parentSessionId":"mine"}}}
			< 1 = {}
			eof
			end 0`)
	}
}
