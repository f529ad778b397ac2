package acptest

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/errand-acp/errand/client/transcript"
)

// Golden compares a conversation with the one in a file, a transcript, and fails the test
// where they differ. What differs from run to run is first replaced by the rules, in both:
// ids, times, versions, the paths of the test.
//
//	agent.Close()
//	acptest.Golden(t, "testdata/hello.ndjson", agent.Transcript(),
//		transcript.IDs(), transcript.Times(), transcript.Versions(), transcript.Path(dir, "$DIR"))
//
// A conversation is whole once the agent was closed. Lines of stderr come by a way of their
// own, sooner or later among the frames: transcript.Without leaves them out. The order of
// members in a JSON object makes no difference. With the flag -update, which [UpdateFlag]
// declares, the file is written anew, and its directory made, if the test has not failed.
func Golden(t testing.TB, file string, got *transcript.Transcript, rules ...transcript.Rule) {
	t.Helper()
	if got == nil {
		t.Fatalf("acptest: Golden: there is no conversation to compare with %s: nil", file)
	}
	got = got.Normalize(rules...)
	if updating() {
		if t.Failed() {
			t.Logf("acptest: Golden: %s is not written: the test has failed", file)
			return
		}
		if err := write(file, got); err != nil {
			t.Fatalf("acptest: Golden: %v", err)
		}
		t.Logf("acptest: Golden: %s is written", file)
		return
	}
	want, err := transcript.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Fatalf("acptest: Golden: there is no %s; to write it: %s", file, updateCommand(t))
	case err != nil:
		t.Fatalf("acptest: Golden: %v", err)
	}
	if diff := diff(lines(want.Normalize(rules...)), lines(got)); diff != "" {
		t.Errorf("acptest: Golden: the conversation is not that of %s (-want +got); if that is meant: %s\n%s",
			file, updateCommand(t), diff)
	}
}

func write(file string, t *transcript.Transcript) error {
	var b bytes.Buffer
	if _, err := t.WriteTo(&b); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o666)
}

// updateCommand is how the test's golden files are written, and those of no other: for
// go test each part of a name is a pattern of its own.
func updateCommand(t testing.TB) string {
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	command := "go test -run '" + strings.ReplaceAll(strings.Join(parts, "/"), "'", `'\''`) + "' -update"
	if flag.Lookup("update") == nil {
		command += " (call acptest.UpdateFlag in TestMain for that flag)"
	}
	return command
}
