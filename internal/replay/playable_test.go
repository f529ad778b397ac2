package replay

import (
	"errors"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client/transcript"
)

// What no process can do is refused before anything is served, with its line.
func TestNotPlayable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	const turn = opening + "2 a\n< ~b\n"
	tests := []struct{ name, recorded, want string }{
		{"a signal that stops", turn + "end SIGSTOP exit", "line 8 of the transcript: the agent ended by SIGSTOP, which ends no process here"},
		{"another", "end SIGTSTP exit", "line 2 of the transcript: the agent ended by SIGTSTP, which"},
		{"a signal that nobody minds", "end SIGCHLD exit", "ended by SIGCHLD, which"},
		{"a signal that wakes", "end SIGCONT sigterm", "ended by SIGCONT, which"},
		{"an unknown one", "end SIGBOGUS\x1b[31m exit", `ended by SIGBOGUS\u{1b}[31m, which`},
		{"one of a long name", "end " + strings.Repeat("S", 1e6) + " exit", "ended by SSS"},
		{"no number of one", "end signal\u00a099 exit", "ended by signal"},
		{"a status", turn + "end 777 exit", "line 8 of the transcript: the agent ended with status 777, which is none here"},
		{"a status below zero", "end -5 eof", "line 2 of the transcript: the agent ended with status -5, which"},
		{"more than it can be", "end 256 eof", "status 256, which"},
		{"the last end counts", "end 0 eof\nend 777 eof", "line 3 of the transcript: the agent ended with status 777"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			agent, err := New(recording(t, tt.recorded), Options{})
			bad, ok := errors.AsType[*transcript.Error](err)
			if !ok || agent != nil || !strings.Contains(bad.Error(), tt.want) || len(bad.Error()) > 400 {
				t.Errorf("%.500v", err)
			}
		})
	}
	for _, end := range []string{"0 eof", "255 exit", "SIGKILL sigkill", "SIGPROF exit", "SIGRTMIN exit"} {
		if strings.HasPrefix(end, "SIGRT") {
			end = "signal 40 exit" // which has no other name
		}
		tr := recording(t, "end 0 eof")
		how, rung, _ := strings.Cut(strings.Replace(end, "signal ", "signal_", 1), " ")
		how = strings.Replace(how, "_", " ", 1)
		if code, err := strconv.Atoi(how); err == nil {
			tr.Entries[0].End = &transcript.End{Code: &code, Rung: rung}
		} else {
			tr.Entries[0].End = &transcript.End{Signal: &how, Rung: rung}
		}
		if _, err := New(tr, Options{}); err != nil {
			t.Errorf("%s: %v", end, err)
		}
	}
	if _, err := New(&transcript.Transcript{Entries: []transcript.Entry{{End: &transcript.End{}}}}, Options{}); err != nil {
		t.Errorf("one that could not be started: %v", err)
	}
}

// How much a recording makes the replay write is bounded.
func TestFillingIsBounded(t *testing.T) {
	for _, tt := range []struct {
		lines []int64
		want  string // the error, empty for none
	}{
		{[]int64{64<<20 + 1, 0, 65 << 20}, ""},
		{[]int64{maxFilling}, ""},
		{[]int64{maxFilling + 2}, "line 2 of the transcript: bytes is 1073741826: "},
		{[]int64{5, math.MaxInt64}, "line 3 of the transcript: bytes is 9223372036854775807: "},
		{[]int64{maxFilling / 2, maxFilling/2 + 4}, "line 3 of the transcript: bytes is "},
	} {
		tr := &transcript.Transcript{}
		for _, n := range tt.lines {
			tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromStderr, Text: "x", Bytes: n})
		}
		if _, err := New(tr, Options{}); err == nil != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%d: %v, want %q", tt.lines, err, tt.want)
		}
	}
}

// So is how many messages it makes of a few bytes, the parent's too.
func TestBatchesAreBounded(t *testing.T) {
	array := func(n int) string { return "[" + strings.Repeat("{},", n-1) + "{}]" }
	const half = maxBatched / 2
	for _, tt := range []struct {
		arrays []int
		want   string // the error, empty for none
	}{
		{[]int{half, half}, ""},
		{[]int{half, half, 1}, "line 4 of the transcript: too many messages: "},
		{[]int{maxBatched + 1}, "line 2 of the transcript: too many messages: "},
	} {
		tr := &transcript.Transcript{}
		for _, n := range tt.arrays {
			tr.Entries = append(tr.Entries, transcript.Entry{From: transcript.FromAgent, Frame: []byte(array(n))})
		}
		if _, err := New(tr, Options{}); err == nil != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%d: %v, want %q", tt.arrays, err, tt.want)
		}
	}
	for _, n := range []int{maxBatched, maxBatched + 1} {
		if list, ok := frames([]byte(array(n))); ok != (n == maxBatched) || ok && len(list) != n {
			t.Errorf("%d messages: %d, %v", n, len(list), ok)
		}
	}
}
