package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/client/acptest"
	"github.com/errand-acp/errand/internal/check"
)

// scripted is an agent of a script, with a key and a model that it does not ask.
func scripted(t *testing.T, src string) *agent {
	cmd := acptest.Script(t, src)
	return &agent{
		name: "scripted", model: true, asks: true, ok: true,
		command: append([]string{cmd.Path}, cmd.Args...), env: append(cmd.Env, "KEY={key}"),
	}
}

// cells drives an agent through all cases.
func cells(t *testing.T, errand string, a *agent) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, c := range cases {
		cell, _, err := c.drive(t.Context(), errand, a, t.TempDir())
		if err != nil {
			cell = "FAILED"
			t.Log(c.title, err)
		}
		got[c.title] = cell
	}
	return got
}

// What agents do is told as it was.
func TestCases(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program that nobody answers through is a shell")
	}
	errand := buildErrand(t)
	got := cells(t, errand, scripted(t, honest))
	want := map[string]string{
		"prompt":               "`end_turn`",
		"request allowed":      "asks, writes, `end_turn`",
		"request rejected":     "asks, writes nothing, `end_turn`",
		"cancel in mid turn":   "`cancelled`",
		"cancel while it asks": "`cancelled`",
		"wrong key":            "`end_turn`, the error as text",
		"model fails (500)":    "`end_turn`, the error as text",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("honest (-want +got):\n%s", diff)
	}

	const hostile = `
on session/prompt
  text "no"
  fail 401 "no"

on session/prompt "Fail with"
  stop end_turn

on session/prompt "Count"
  text "one"
  wait cancel
  stop end_turn

on session/prompt "Write"
  write hello.txt "PONG"
`
	a := scripted(t, hostile)
	a.ok = false
	got = cells(t, errand, a)
	want = map[string]string{
		"prompt":               "error `agent` (401), without the text",
		"request allowed":      "asks nothing, writes, `end_turn`",
		"request rejected":     "asks nothing, **writes**, `end_turn`",
		"cancel in mid turn":   "`end_turn`",
		"cancel while it asks": "asks nothing",
		"wrong key":            "error `agent` (401)",
		"model fails (500)":    "`end_turn`, without a word",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hostile (-want +got):\n%s", diff)
	}
	a.ok = true
	for title, cell := range cells(t, errand, a) {
		if title == "wrong key" || title == "model fails (500)" {
			continue // which may be told in any way
		}
		check.Equal(t, title+", of an agent that is known to do it right", cell, "FAILED")
	}
}

// A report is read, and one in which nothing could be tried is an error.
func TestCheckAgent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("errand is a shell script")
	}
	for verdict, broken := range map[string]bool{"pass": false, "fail": true} {
		errand := filepath.Join(t.TempDir(), "errand")
		program := "#!/bin/sh\necho '" + `{"findings":[{"rule":{"id":"one"},"verdict":"` + verdict + `"}]}` + "'\n"
		if err := os.WriteFile(errand, []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
		findings, err := checkAgent(t.Context(), errand, scripted(t, honest), t.TempDir())
		if (err != nil) != broken || len(findings) != 1 || findings[0].Rule.ID != "one" {
			t.Errorf("%s: %+v, error %v", verdict, findings, err)
		}
	}
}

// No value of a key stands in a command line.
func TestKeyIsPassedByName(t *testing.T) {
	a := &agent{env: []string{"A=1", "API_KEY={key}", "URL={url}"}}
	if diff := cmp.Diff([]string{"--env", "API_KEY"}, a.pass()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	env := a.envAt(&place{home: "/h", url: "http://u", key: "secret"})
	check.Has(t, strings.Join(env, "\n"), "API_KEY=secret", "URL=http://u", "HOME=/h", "HTTPS_PROXY=http://127.0.0.1:9")
}
