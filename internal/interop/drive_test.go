package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
	"github.com/errand-acp/errand/internal/conform"
)

// fakeNPM makes this script the only program in PATH, called npm.
func fakeNPM(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
}

// An agent is skipped where it cannot be had. That it is not what is pinned is a failure.
func testInstallFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("npm is a shell script here")
	}
	says := func(code string) string {
		return "echo 'npm error code " + code + "\nnpm error what npm says of it' >&2; exit 1"
	}
	for what, c := range map[string]struct {
		npm     string
		skipped bool
	}{
		"no npm":                  {skipped: true},
		"nobody listens":          {npm: says("ECONNREFUSED"), skipped: true},
		"a connection that ends":  {npm: says("ECONNRESET"), skipped: true},
		"no such host":            {npm: says("ENOTFOUND"), skipped: true},
		"no name server":          {npm: says("EAI_AGAIN"), skipped: true},
		"no answer":               {npm: says("ETIMEDOUT"), skipped: true},
		"no answer in time":       {npm: says("ERR_SOCKET_TIMEOUT"), skipped: true},
		"no more of the answer":   {npm: says("EIDLETIMEOUT"), skipped: true},
		"no route":                {npm: says("ENETUNREACH"), skipped: true},
		"npm is told to be off":   {npm: says("ENOTCACHED"), skipped: true},
		"another system":          {npm: says("EBADPLATFORM"), skipped: true},
		"an npm of old":           {npm: "echo 'npm ERR! code ENOTFOUND' >&2; exit 1", skipped: true},
		"another digest":          {npm: says("EINTEGRITY")},
		"another lock file":       {npm: says("EUSAGE")},
		"no such version":         {npm: says("ETARGET")},
		"no such package":         {npm: says("E404")},
		"a proxy that says no":    {npm: says("E403"), skipped: true},
		"a registry that is down": {npm: says("E503"), skipped: true},
		"no space":                {npm: says("ENOSPC")},
		"an npm that breaks":      {npm: "exit 1"},
		"an npm that is killed":   {npm: "kill -9 $$"},
		"a digest, and a network": {npm: "echo 'npm error code EINTEGRITY\nnpm error wanted npm error code ENOTFOUND' >&2; exit 1"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			fakeNPM(t, c.npm)
			chosen, err := choose([]string{"gemini"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = driveAll(t.Context(), chosen, func(context.Context, *agent, string) (*report, error) {
				t.Error("an agent that is not there is driven")
				return nil, errors.New("not there")
			}, &out)
			if c.skipped {
				check.Has(t, out.String(), "SKIPPED gemini")
				check.Equal(t, "error", err, nil)
				return
			}
			check.Lacks(t, out.String(), "SKIPPED")
			if err == nil {
				t.Fatal("no error")
			}
			check.Has(t, err.Error(), "gemini", "npm ci")
			if _, exited := errors.AsType[*exec.ExitError](err); !exited {
				t.Errorf("error %v does not say how npm ended", err)
			}
		})
	}
}

// What an agent does otherwise than the last time is told, and a report of what failed
// replaces none.
func TestReportsChange(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("npm is a shell script here")
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join(folder, "reports"), 0o755); err != nil {
		t.Fatal(err)
	}
	fakeNPM(t, "exit 0")
	chosen, err := choose([]string{"gemini"})
	if err != nil {
		t.Fatal(err)
	}
	drive := func(r *report, driveErr error) (told string) {
		var out bytes.Buffer
		err := driveAll(t.Context(), chosen, func(context.Context, *agent, string) (*report, error) { return r, driveErr }, &out)
		if !errors.Is(err, driveErr) {
			t.Errorf("error %v, want %v", err, driveErr)
		}
		return out.String()
	}
	good := &report{
		Version: "1.0.0", Cases: map[string]string{"prompt": "`end_turn`", "wrong key": "-"}, Ended: "exit status 0, eof", Kit: "passes",
		Verdicts: map[string]conform.Verdict{"exit-on-eof": conform.Pass, "old": conform.Pass},
	}
	disturbed := &report{
		Version: "1.0.1", Cases: map[string]string{"prompt": "no answer", "wrong key": "-"}, Ended: "signal SIGKILL, sigkill", Kit: "fails",
		Verdicts: map[string]conform.Verdict{"exit-on-eof": conform.Fail, "new": conform.Pass},
	}
	check.Equal(t, "the first", drive(good, nil), "\nChanged in the reports:\ngemini, report: (none) -> its first\n")
	check.Equal(t, "the same", drive(good, nil), "\nChanged in the reports: nothing\n")
	failure := errors.New("of the interop test")
	check.Equal(t, "a failure", drive(disturbed, failure), "\nChanged in the reports: nothing\n")
	if diff := cmp.Diff(`
Changed in the reports:
gemini, exit-on-eof: pass -> fail
gemini, new: (none) -> pass
gemini, old: pass -> (none)
gemini, process ended by: exit status 0, eof -> signal SIGKILL, sigkill
gemini, prompt: `+"`end_turn`"+` -> no answer
gemini, test kit: passes -> fails
gemini, version: 1.0.0 -> 1.0.1
`, drive(disturbed, nil)); diff != "" {
		t.Errorf("disturbed (-want +got):\n%s", diff)
	}
}
