package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client"
	"github.com/errand-acp/errand/client/transcript"
	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/permission"
)

// recorded lets an agent be recorded.
func (s *scene) recorded() *buffer {
	var file buffer
	s.opts.Transcript = transcript.NewWriter(&file)
	return &file
}

// conversation reads what must be one conversation.
func (s *scene) conversation(file *buffer) *transcript.Transcript {
	s.Helper()
	if err := s.opts.Transcript.Err(); err != nil {
		s.Errorf("the transcript is not complete: %v", err)
	}
	all, err := transcript.Read(strings.NewReader(file.String()))
	if err != nil || len(all) != 1 {
		s.Fatalf("%d conversations, %v:\n%s", len(all), err, file)
	}
	return all[0]
}

// inShort is a transcript without what differs from run to run.
func inShort(t *transcript.Transcript) []string {
	var lines []string
	for _, e := range t.Entries {
		line := string(e.From) + ": "
		switch {
		case e.End != nil:
			line = "end: " + e.End.String()
		case e.Frame == nil:
			line += e.Text
			if e.Bytes > 0 {
				line = fmt.Sprintf("%s: %d of %d bytes", e.From, len(e.Text), e.Bytes)
			}
		case e.Method() != "":
			line += e.Method()
		default:
			line += "answer " + string(e.ID())
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *scene) recordedAs(file *buffer, want ...string) *transcript.Transcript {
	s.Helper()
	got := s.conversation(file)
	if diff := cmp.Diff(want, inShort(got)); diff != "" {
		s.Errorf("recorded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(false, got.Cut); diff != "" {
		s.Errorf("cut (-want +got):\n%s", diff)
	}
	at := time.Duration(0)
	for _, e := range got.Entries {
		if e.At < at {
			s.Errorf("time goes back: %v after %v", e.At, at)
		}
		at = e.At
	}
	return got
}

// A whole conversation is there, in the order in which it happened, and byte for byte.
func TestTranscript(t *testing.T) {
	s := play(t, `stderr "one\ntwo"
		on session/prompt
			text "hello"
			permission c1 "Edit" kind=edit
				option yes allow_once Yes
			end
			stop end_turn
		on eof
			stderr "\nthree\n\nfour"`)
	s.opts.RunID = "RUN1"
	s.opts.Permission = permission.Allow()
	file := s.recorded()
	before := time.Now()
	s.completes(s.session(), "go", "end_turn")
	s.close(s.agent, client.RungEOF, "exit status 0")

	want := []string{
		"client: initialize", "agent: answer 1", "client: session/new", "agent: answer 2", "client: session/prompt",
		"agent: session/update", "agent: session/request_permission", "client: answer 1", "agent: answer 3",
	}
	got := s.conversation(file)
	var frames, stderr []string
	for _, line := range inShort(got) {
		if text, ok := strings.CutPrefix(line, "stderr: "); ok {
			stderr = append(stderr, text)
		} else {
			frames = append(frames, line)
		}
	}
	if diff := cmp.Diff(append(want, "end: exit status 0, after eof"), frames); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one", "two", "three", "", "four"}, stderr); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
	h := got.Header
	if h.StartedAt.Before(before.Add(-time.Second)) || h.StartedAt.After(time.Now()) {
		t.Errorf("started at %v", h.StartedAt)
	}
	h.StartedAt = time.Time{}
	self := client.Self()
	if diff := cmp.Diff(transcript.Header{
		Version: 1, RunID: "RUN1", Client: transcript.Peer{Name: self.Name, Version: self.Version},
		Command: s.agent.Command(), Dir: s.agent.Dir(),
	}, h); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	// What the agent has read is what is said to have been written.
	var written bytes.Buffer
	for _, e := range got.Entries {
		if e.From == transcript.FromClient {
			fmt.Fprintf(&written, "%s\n", e.Frame)
		}
	}
	for i, f := range s.Frames() {
		line, _ := written.ReadString('\n')
		check.Has(t, line, f.Method)
		check.Has(t, line, string(f.Params))
		if line == "" {
			t.Errorf("frame %d is not there", i)
		}
	}
}

// Whatever the bytes look like, there is a line for each.
func TestTranscriptOfBytes(t *testing.T) {
	const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`
	say := func(text string) string { return fmt.Sprintf(update, text) }
	quoted := func(text string) string {
		return `raw "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", `\r`, "\n", `\n`).Replace(text) + `"`
	}
	s := play(t, "on session/prompt\n"+strings.Join([]string{
		quoted(say("split")[:20]), "wait 20ms", quoted(say("split")[20:] + "\n"),
		quoted(say("crlf") + "\r\n"),
		quoted("\n\n  \n"),
		quoted("\ufeff" + say("bom") + "\n"),
		quoted("[" + say("a") + "," + say("b") + "]\n"),
		quoted(say("glued") + say("again") + "\n"),
		quoted("{ \"level\" : \"info\", \"url\" : \"<&>\" }\n"),
		quoted("npm warn\r\n"),
		quoted(say("then") + " trailing\n"),
		`raw "{\"not\":\"utf8 \xff\"}\n"`, `raw "noise \xff\n"`,
		`raw "escape \x1b[31mred\n"`,
		"stop end_turn", "on eof", quoted(`{"never":"ended`),
	}, "\n"))
	file := s.recorded()
	s.completes(s.session(), "go", "end_turn")
	s.close(s.agent, client.RungEOF, "exit status 0")
	var got []string
	for _, e := range s.conversation(file).Entries[5:] {
		if e.From == transcript.FromAgent {
			got = append(got, string(e.Frame)+"|"+e.Text)
		}
	}
	want := []string{
		say("split") + "|", say("crlf") + "|", say("bom") + "|", "[" + say("a") + "," + say("b") + "]|",
		say("glued") + "|", say("again") + "|", `{ "level" : "info", "url" : "<&>" }|`, "|npm warn",
		"|" + say("then") + " trailing", "{\"not\":\"utf8 \ufffd\"}|", "|noise \ufffd", "|escape \x1b[31mred",
		`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}|`, `|{"never":"ended`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	check.Equal(t, "control characters in the file", strings.ContainsAny(file.String(), "\x1b\r"), false)
}

// A line that is too long is there with its beginning and its length, and costs no more.
func TestTranscriptOfLongLines(t *testing.T) {
	const size = 3 << 20
	s := play(t, fmt.Sprintf(`on session/prompt
		raw "noise " size=%[1]d
		raw "\n"
		raw "{\"a\":\"" size=%[1]d
		raw "\"}\n"
		stderr "long " size=%[1]d
		stderr "\n"
		stop end_turn`, size))
	s.opts.MaxMessageBytes = 1 << 20
	file := s.recorded()
	s.completes(s.session(), strings.Repeat("prompt", size/6), "end_turn") // ours have no bound
	s.close(s.agent, client.RungEOF, "exit status 0")
	var got []string
	for _, e := range s.conversation(file).Entries {
		if e.Bytes > 0 {
			if len(e.Text) > 64<<10 || e.Bytes < size || e.Bytes > size+100 {
				t.Errorf("%d bytes are kept, of %d", len(e.Text), e.Bytes)
			}
			got = append(got, fmt.Sprintf("%s %.5s", e.From, e.Text))
		} else if len(e.Text) > 0 {
			t.Errorf("%q", e.Text)
		}
		if e.Method() == "session/prompt" && len(e.Frame) < size {
			t.Errorf("of the prompt %d bytes", len(e.Frame))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{`agent noise`, `agent {"a":`, "stderr long "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// However a conversation ends, its end is there.
func TestTranscriptOfEnds(t *testing.T) {
	t.Run("no such program", func(t *testing.T) {
		s := play(t, "")
		s.command.Path = "no-such-program"
		file := s.recorded()
		s.fails(t.Context(), client.KindSpawn, client.StepSpawn)
		got := s.recordedAs(file, "end: it was not started")
		check.Equal(t, "command", got.Header.Command[0], "no-such-program")
	})
	t.Run("gone at once", func(t *testing.T) {
		s := play(t, `stderr "bad key\n"
			exit 3`)
		file := s.recorded()
		s.fails(t.Context(), client.KindExit, client.StepInitialize)
		got := inShort(s.conversation(file))
		slices.Sort(got[:2]) // they come by two ways
		if diff := cmp.Diff([]string{"client: initialize", "stderr: bad key", "end: exit status 3, after exit"}, got); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
	})
	t.Run("another version", func(t *testing.T) {
		s := play(t, `on initialize; answer {"protocolVersion":7}`)
		file := s.recorded()
		s.fails(t.Context(), client.KindVersion, client.StepInitialize)
		s.recordedAs(file, "client: initialize", "agent: answer 1", "end: exit status 0, after eof")
	})
	t.Run("no session", func(t *testing.T) {
		s := play(t, `on session/new; fail -32000 "log in"`)
		file := s.recorded()
		s.fails(t.Context(), client.KindAuthRequired, client.StepNewSession)
		s.recordedAs(file, "client: initialize", "agent: answer 1", "client: session/new", "agent: answer 2", "end: exit status 0, after eof")
	})
	t.Run("killed in a turn", func(t *testing.T) {
		s := play(t, `on session/prompt; text "so far"; wait forever`)
		file := s.recorded()
		session := s.session()
		turn := s.ask(t.Context(), session, "go")
		s.says("so far")
		s.agent.Kill()
		s.await(turn)
		s.recordedAs(file, "client: initialize", "agent: answer 1", "client: session/new", "agent: answer 2",
			"client: session/prompt", "agent: session/update", "end: signal SIGKILL, after sigkill")
	})
	t.Run("crashed in a frame", func(t *testing.T) {
		s := play(t, `on session/prompt
			raw "{\"jsonrpc\":\"2.0\",\"id\""
			exit 7`)
		file := s.recorded()
		s.prompt(s.session(), "go")
		s.agent.Close()
		s.recordedAs(file, "client: initialize", "agent: answer 1", "client: session/new", "agent: answer 2",
			"client: session/prompt", `agent: {"jsonrpc":"2.0","id"`, "end: exit status 7, after exit")
	})
	t.Run("cancelled", func(t *testing.T) {
		s := play(t, `on session/prompt; text "so far"; wait cancel; stop cancelled`)
		file := s.recorded()
		session := s.session()
		ctx, cancel := context.WithCancel(t.Context())
		turn := s.ask(ctx, session, "go")
		s.says("so far")
		cancel()
		s.await(turn)
		s.close(s.agent, client.RungEOF, "exit status 0")
		s.recordedAs(file, "client: initialize", "agent: answer 1", "client: session/new", "agent: answer 2",
			"client: session/prompt", "agent: session/update", "client: session/cancel", "agent: answer 3", "end: exit status 0, after eof")
	})
	t.Run("a prompt that nobody reads", func(t *testing.T) {
		// The agent is gone with less than the whole prompt in its pipe.
		s := play(t, `on session/new; answer {}; stdin stop`)
		file := s.recorded()
		session := s.session()
		turn := s.ask(t.Context(), session, strings.Repeat("x", 1<<20))
		s.until("the prompt is recorded", func() bool { return strings.Contains(file.String(), "session/prompt") })
		s.agent.Kill()
		s.await(turn)
		s.recordedAs(file, "client: initialize", "agent: answer 1", "client: session/new", "agent: answer 2",
			"client: session/prompt", "end: signal SIGKILL, after sigkill")
	})
}

// No secret gets into a transcript, wherever it stands and wherever it is cut.
func TestTranscriptRedaction(t *testing.T) {
	const number = "8675309867"
	t.Setenv("ERRAND_TEST_TOKEN", canary)
	t.Setenv("ERRAND_TEST_PIN_SECRET", number)
	quoted := strings.Trim(fmt.Sprintf("%q", canary), `"`)
	src := fmt.Sprintf(`stderr "key %[1]s\n"
		noise "noise %[1]s"
		on session/prompt
			text "said %[1]s"
			text "beside it"
			raw "{\"id\":%[2]s,\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}\n"
			raw "["
			raw "\"%[1]s\"]\n"
			raw "{\"cut\":\""
			repeat 70000
				raw "%[1]s"
			end
			raw "\"}\n"
			stop end_turn
		on eof
			raw "unfinished can"
			raw "ary-\"01"`, strings.ReplaceAll(quoted, `$`, `$$`), number)
	s := play(t, src)
	s.opts.MaxMessageBytes = 1 << 20
	file := s.recorded()
	s.completes(s.session(), "the key is "+canary, "end_turn")
	s.close(s.agent, client.RungEOF, "exit status 0")
	for _, secret := range []string{canary, quoted, "canary", number} {
		if i := strings.Index(file.String(), secret); i >= 0 {
			t.Errorf("%q shows: %.200s", secret, file.String()[max(0, i-100):])
		}
	}
	got := s.conversation(file)
	var texts []string
	for _, e := range got.Entries {
		if e.From == transcript.FromAgent && e.Text != "" && e.Bytes == 0 {
			texts = append(texts, e.Text)
		}
	}
	want := []string{"noise [redacted]", `{"id":[redacted],"jsonrpc":"2.0","method":"session/update"}`, "unfinished [redacted]"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	check.Has(t, file.String(), `"text":"said [redacted]"`, `"text":"beside it"`, `"text":"the key is [redacted]"`, `key [redacted]`)

	s = play(t, "")
	s.command.Args = append(s.command.Args[:len(s.command.Args):len(s.command.Args)], "--token="+canary)
	file = s.recorded()
	s.fails(t.Context(), client.KindExit, client.StepInitialize)
	check.Lacks(t, file.String(), canary, quoted, "canary")
	check.Has(t, file.String(), "--token=[redacted]")
}

// stuckWriter blocks after its first lines until it is released.
type stuckWriter struct {
	free     int64
	calls    atomic.Int64
	released chan struct{}
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	if w.calls.Add(1) > w.free {
		<-w.released
	}
	return len(p), nil
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A writer that fails, panics or blocks changes nothing for the run, and is told of.
func TestTranscriptWriters(t *testing.T) {
	const flood = `on session/prompt
		burst 30000 "some text, which is as long as text is that an agent writes at once, or nearly so: %s"
		stop end_turn`
	src := fmt.Sprintf(flood, strings.Repeat("x", 300))
	stuck := &stuckWriter{released: make(chan struct{})}
	defer close(stuck.released)
	broken := errors.New("no space left")
	lines := 0
	for name, to := range map[string]io.Writer{
		"it fails": writerFunc(func([]byte) (int, error) { return 0, broken }),
		"it fails later": writerFunc(func(p []byte) (int, error) {
			if lines++; lines > 10 {
				return 0, broken
			}
			return len(p), nil
		}),
		"it writes in part":     writerFunc(func(p []byte) (int, error) { return len(p) / 2, nil }),
		"it panics":             writerFunc(func([]byte) (int, error) { panic("hopeless") }),
		"it ends the goroutine": writerFunc(func([]byte) (int, error) { runtime.Goexit(); return 0, nil }),
		"it blocks":             stuck,
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, src)
			s.opts.Observe = nil
			s.opts.Transcript = transcript.NewWriter(to)
			s.completes(s.session(), "go", "end_turn")
			s.close(s.agent, client.RungEOF, "exit status 0")
			if err := s.opts.Transcript.Err(); err == nil {
				t.Error("nobody is told")
			}
		})
	}
}

// What a slow writer holds back is let go when the turn is to end.
func TestTranscriptWriterIsSlowAtTheEnd(t *testing.T) {
	for name, stop := range map[string]func(s *scene, session *client.Session, cancel func()){
		"context": func(_ *scene, _ *client.Session, cancel func()) { cancel() },
		"cancel":  func(_ *scene, session *client.Session, _ func()) { session.Cancel() },
		"cancel by the connection": func(s *scene, session *client.Session, _ func()) {
			if err := s.agent.Conn().Cancel(s.Context(), acp.CancelNotification{SessionId: session.ID()}); err != nil {
				s.Error(err)
			}
		},
		"close": func(s *scene, _ *client.Session, _ func()) {
			closing := make(chan struct{})
			go func() { // ends with Close
				defer close(closing)
				s.agent.Close()
			}()
			s.Cleanup(func() { receive(s, closing) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, fmt.Sprintf(`on session/prompt; burst 3000 "%s"; wait cancel; stop cancelled`, strings.Repeat("x", 4<<10)))
			s.opts.Observe, s.opts.Graces.Cancel = nil, hang
			// It goes on, and so is not given up for longer than the test waits.
			lines, free := 0, make(chan struct{})
			s.opts.Transcript = transcript.NewWriter(writerFunc(func(p []byte) (int, error) {
				if lines++; lines > 8 {
					select {
					case <-free:
					case <-time.After(time.Second):
					}
				}
				return len(p), nil
			}))
			session := s.session()
			defer close(free)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			turn := s.ask(ctx, session, "go")
			s.until("the agent is held back", s.agent.HeldBack)
			stop(s, session, cancel)
			answer, err := s.await(turn)
			s.ended(answer, err, "cancelled")
		})
	}
}

// What is written to an agent is never held back.
func TestTranscriptWriterBlocksNoPrompt(t *testing.T) {
	s := play(t, `on session/prompt; append seen "x"; wait forever`)
	stuck := &stuckWriter{free: 5, released: make(chan struct{})}
	s.opts.Transcript = transcript.NewWriter(stuck)
	one, two := s.session(), s.newSession(s.agent, s.Dir)
	first := s.ask(t.Context(), one, strings.Repeat("x", 5<<20))
	s.until("it blocks", func() bool { return stuck.calls.Load() > stuck.free })
	second := s.ask(t.Context(), two, "go")
	s.until("both prompts have come", func() bool {
		seen, _ := os.ReadFile(filepath.Join(s.Dir, "seen"))
		return strings.Count(string(seen), "x") == 2
	})
	// Nobody has given it up, so nobody has waited as long as for that.
	if err := s.opts.Transcript.Err(); err != nil {
		t.Errorf("the prompt has waited: %v", err)
	}
	close(stuck.released)
	s.agent.Kill()
	s.await(first)
	s.await(second)
}

// A writer that is only slow gets everything.
func TestTranscriptSlowWriter(t *testing.T) {
	s := play(t, `on session/prompt; text "hello"; stop end_turn`)
	var file buffer
	s.opts.Transcript = transcript.NewWriter(writerFunc(func(p []byte) (int, error) {
		time.Sleep(20 * time.Millisecond)
		return file.Write(p)
	}))
	s.completes(s.session(), "go", "end_turn")
	s.close(s.agent, client.RungEOF, "exit status 0")
	s.recordedAs(&file, "client: initialize", "agent: answer 1", "client: session/new", "agent: answer 2",
		"client: session/prompt", "agent: session/update", "agent: answer 3", "end: exit status 0, after eof")
}

// Many updates are all there, in order, and what was written takes no memory.
func TestTranscriptOfManyUpdates(t *testing.T) {
	const updates = 20_000
	client.PatientRecording(t) // before play, so that it outlasts the agent
	s := play(t, fmt.Sprintf(`on session/prompt; burst %d "chunk $i;%s"; stop end_turn`, updates, strings.Repeat("x", 4<<10)))
	s.opts.Observe = nil
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var chunks, bad int
	var peak uint64
	s.opts.Transcript = transcript.NewWriter(writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("agent_message_chunk")) {
			if chunks++; !bytes.Contains(p, fmt.Appendf(nil, `"chunk %d;`, chunks)) {
				bad++
			}
			if chunks%(updates/4) == 0 {
				peak = max(peak, heap())
			}
		}
		return len(p), nil
	}))
	// However busy the machine is: that it hangs is for the deadline of all tests.
	answer, err := s.session().Prompt(t.Context(), textPrompt("go"), nil)
	s.ended(answer, err, "end_turn")
	s.close(s.agent, client.RungEOF, "exit status 0")
	if err := s.opts.Transcript.Err(); err != nil {
		t.Error(err)
	}
	check.Equal(t, "updates recorded", chunks, updates)
	check.Equal(t, "out of order", bad, 0)
	if limit := before + 40<<20; peak > limit {
		t.Errorf("the heap has grown from %d MiB to %d", before>>20, peak>>20)
	}
}

// Conversations one after the other can be in one transcript.
func TestTranscriptOfSeveral(t *testing.T) {
	var one buffer
	w := transcript.NewWriter(&one)
	for i := range 2 {
		s := play(t, fmt.Sprintf(`on session/prompt; text "talk %d"; stop end_turn`, i))
		s.opts.Transcript = w
		s.completes(s.session(), "go", "end_turn")
		s.close(s.agent, client.RungEOF, "exit status 0")
	}
	all, err := transcript.Read(strings.NewReader(one.String()))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	for i, talk := range all {
		check.Has(t, talk.String(), fmt.Sprintf("talk %d", i))
		check.Equal(t, "entries", len(talk.Entries), 8)
	}
}
