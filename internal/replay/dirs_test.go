package replay

import (
	"fmt"
	"strings"
	"testing"
)

// places is a conversation in two sessions, each in a directory; says is what is said of both,
// with %[1]s for the one and %[2]s for the other, in a prompt and by the agent.
func places(first int, one, two, asks, says string) string {
	text := func(form string) string { return fmt.Sprintf(form, one, two) }
	var b strings.Builder
	fmt.Fprintf(&b, "> %d session/new {\"cwd\":%q}\n< %d = {\"sessionId\":\"A\"}\n", first, one, first)
	fmt.Fprintf(&b, "> %d session/new {\"cwd\":%q}\n< %d = {\"sessionId\":\"B\"}\n", first+1, two, first+1)
	for i, session := range []string{"A", "B"} {
		id := first + 2 + i
		fmt.Fprintf(&b, "> %d session/prompt {\"sessionId\":%q,\"prompt\":%q}\n", id, session, text(asks))
		fmt.Fprintf(&b, "< session/update {\"sessionId\":%q,\"update\":%q}\n< %d = {}\n", session, text(says), id)
	}
	return b.String()
}

// Two directories may change places, lie in each other, and become one.
func TestTwoDirectories(t *testing.T) {
	const both = "%[1]s, %[2]s, %[1]s/f and %[2]s/f"
	tests := []struct{ name, one, two, liveOne, liveTwo string }{
		{"one is where the other was", "/w/one", "/w/two", "/w/two", "/w/three"},
		{"the other one is", "/w/one", "/w/two", "/w/zero", "/w/one"},
		{"they change places", "/w/one", "/w/two", "/w/two", "/w/one"},
		{"one stays", "/w/one", "/w/two", "/w/one", "/w/three"},
		{"one stays, and the other is one below it", "/w/one", "/w/two", "/w/one", "/w/one/two"},
		{"the shorter one becomes the longer", "/longer/path", "/s", "/tmp", "/tmp/a"},
		{"one in the other, and no longer", "/w", "/w/two", "/a", "/b"},
		{"one in the other, and the other way round", "/w", "/w/two", "/w/two", "/w"},
		{"below where it was", "/d", "/e", "/d/sub", "/d/sub/d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := recording(t, places(1, tt.one, tt.two, both, both)+"end 0 eof")
			live := places(21, tt.liveOne, tt.liveTwo, both, both) + "eof\nend 0"
			for range often {
				serve(t, rec, Options{}).converse(live)
				serve(t, rec, Options{Lenient: true}).converse(live)
			}
		})
	}
}

// Two sessions in one directory may be in two now, and the other way round.
func TestDirectoryOfTheSession(t *testing.T) {
	talk := func(first int, one, two string) string {
		return fmt.Sprintf(`> %[1]d session/new {"cwd":%[5]q}
			< %[1]d = {"sessionId":"A","in":%[5]q}
			> %[2]d session/new {"cwd":%[6]q}
			< %[2]d = {"sessionId":"B","in":%[6]q}
			> %[3]d session/prompt {"sessionId":"B","prompt":"in %[6]s/f"}
			< session/update {"sessionId":"B","update":"in %[6]s/f"}
			< 7 fs/read_text_file {"sessionId":"B","path":"%[6]s/f"}
			> 7 = {"content":"in %[6]s"}
			< %[3]d = {"in":"%[6]s"}
			> %[4]d session/prompt {"sessionId":"A","prompt":"in %[5]s/f"}
			< session/update {"sessionId":"A","update":"in %[5]s/f"}
			< %[4]d = {"in":"%[5]s"}
			`, first, first+1, first+2, first+3, one, two)
	}
	for _, dirs := range [][4]string{{"/d", "/d", "/l1", "/l2"}, {"/d", "/d", "/d", "/l2"}, {"/d", "/d", "/l1", "/d"}, {"/d", "/e", "/l", "/l"}} {
		rec := recording(t, talk(1, dirs[0], dirs[1])+"end 0 eof")
		for range often {
			serve(t, rec, Options{}).converse(talk(21, dirs[2], dirs[3]) + "eof\nend 0")
		}
	}
	// A session may be loaded again, elsewhere.
	const again = `> 1 session/load {"sessionId":"s","cwd":"%[1]s"}
		< 1 = {"in":"%[1]s"}
		> 2 session/load {"sessionId":"s","cwd":"%[2]s"}
		< 2 = {"in":"%[2]s"}
		`
	serve(t, recording(t, fmt.Sprintf(again, "/d", "/d")+"end 0 eof"), Options{}).converse(fmt.Sprintf(again, "/x", "/y") + "eof\nend 0")
}

// Paths are also written as URLs, and as JSON may have them.
func TestPathForms(t *testing.T) {
	tests := []struct{ name, recorded, live, says, want string }{
		{"a URL", "/d", "/tmp/with space", "at /d/f, file:///d/f and (file:/d) or file://localhost/d.", "at /tmp/with space/f, file:///tmp/with%20space/f and (file:/tmp/with%20space) or file://localhost/tmp/with%20space."},
		{"a URL of what was escaped", "/with space/100%", "/x", "file:///with%20space/100%25/a%20b /with space/100%/a%20b", "file:///x/a%20b /x/a%20b"},
		{"escaped in another way", "/Größe (1)", "/x y", "file:///Gr%c3%b6%C3%9Fe%20%281%29/f", "file:///x%20y/f"},
		{"the root", "/d", "/", "/d /d/ /d/f file:///d/f file:///d", "/ / /f file:///f file:///"},
		{"names that go on", "/d", "/x", "/dd /d.txt /d-1 /d_ /d~ /d@2 /d+ file:///d%20e ~/d ../d a/d http://d/e ${A}/d", "/dd /d.txt /d-1 /d_ /d~ /d@2 /d+ file:///d%20e ~/d ../d a/d http://d/e ${A}/d"},
		{"sentences", "/d", "/x", "/d. /d... (/d) “/d” '/d': `/d`, --in=/d;/d", "/x. /x... (/x) “/x” '/x': `/x`, --in=/x;/x"},
		{"a slash at its end", "/d/", "/x/y/", "/d/f in /d", "/x/y/f in /x/y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			talk := func(id int, dir, says string) string {
				return fmt.Sprintf("> %d session/new {\"cwd\":%q}\n< %d = {\"sessionId\":\"s\"}\n> %d session/prompt {\"sessionId\":\"s\",\"text\":%q}\n< session/update {\"sessionId\":\"s\",\"update\":%q}\n< %d = {}\n", id, dir, id, id+1, says, says, id+1)
			}
			serve(t, recording(t, talk(1, tt.recorded, tt.says)+"end 0 eof"), Options{}).converse(talk(11, tt.live, tt.want) + "eof\nend 0")
		})
	}
	t.Run("letters that are escaped in JSON", func(t *testing.T) {
		serve(t, recording(t, `> 1 session/new {"cwd":"/gr\u00f6\u00dfe"}
			< 1 = {"sessionId":"s","a":"\/gr\u00f6\u00dfe\/f","b":"\u003c/größe\n/größe","/gr\u00f6\u00dfe/g":["\u003c"]}
			end 0 eof`), Options{}).converse(`> 1 session/new {"cwd":"/x\"<y"}
			< 1 = {"sessionId":"s","a":"/x\"<y/f","b":"</x\"<y\n/x\"<y","/x\"<y/g":["\u003c"]}
			eof
			end 0`)
	})
	t.Run("ids are no paths", func(t *testing.T) {
		serve(t, recording(t, `> 1 session/new {"cwd":"/d"}
			< 1 = {"sessionId":"/d/s.json"}
			> 2 session/prompt {"sessionId":"/d/s.json"}
			< {"jsonrpc":"2.0","id":"/d/1","method":"fs/read_text_file","params":{"sessionId":"/d/s.json","path":"/d/s.json"}}
			> {"jsonrpc":"2.0","id":"/d/1","result":{}}
			< 2 = {}
			end 0 eof`), Options{}).converse(`> 1 session/new {"cwd":"/x"}
			< 1 = {"sessionId":"/d/s.json"}
			> 2 session/prompt {"sessionId":"/d/s.json"}
			< {"jsonrpc":"2.0","id":"/d/1","method":"fs/read_text_file","params":{"sessionId":"/d/s.json","path":"/x/s.json"}}
			> {"jsonrpc":"2.0","id":"/d/1","result":{}}
			< 2 = {}
			eof
			end 0`)
	})
}
