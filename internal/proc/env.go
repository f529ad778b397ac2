package proc

import (
	"cmp"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// RunVariable is the environment variable by which the processes of a run are
// known: a colon list to which every Errand on the way down appends its run's id.
const RunVariable = "ERRAND_RUN"

// childEnv returns the environment of s's child and the run's id in it.
//
// The list of runs is the one in s.Env or, where that has none, this process's own:
// a scrubbed environment must not take a nested child out of the run around it.
func childEnv(s Spec) (env []string, runID string, err error) {
	for i, entry := range s.Env {
		if strings.ContainsRune(entry, 0) {
			return nil, "", &Error{What: "environment variable", Name: variable(s.Env, i), Err: errNUL}
		}
	}
	runs := runsOf(s.Env)
	runID = cmp.Or(s.RunID, rand.Text())
	if strings.ContainsAny(runID, ":\x00") {
		return nil, "", &Error{What: "run id", Name: runID, Err: errors.New("contains a colon or a NUL")}
	}
	// A sweep for the id of a run around us would end ourselves.
	if slices.Contains(strings.Split(os.Getenv(RunVariable)+":"+runs, ":"), runID) {
		return nil, "", &Error{What: "run id", Name: runID, Err: errors.New("is already that of a run around this one")}
	}
	// Environ drops all but the last entry of a name, and adds what Windows
	// cannot do without.
	cmd := exec.Cmd{Env: InRun(append(slices.Clone(s.Env), "PWD="+s.Dir), runID)}
	return cmd.Environ(), runID, nil
}

// InRun appends the run to the list of those that a process with this environment
// belongs to. A child of such a process, with a run of its own, belongs to both.
func InRun(env []string, runID string) []string {
	runs := runsOf(env)
	if runs != "" {
		runs += ":"
	}
	return append(env, RunVariable+"="+runs+runID)
}

// runsOf is the list in env or, where that has none, this process's.
func runsOf(env []string) string {
	if runs, ok := lookup(env, RunVariable); ok {
		return runs
	}
	return os.Getenv(RunVariable)
}

// Getenv returns the value of a variable in env, which is empty where it is not set.
func Getenv(env []string, name string) string {
	value, _ := lookup(env, name)
	return value
}

// lookup returns the value of name in env, where the last entry counts.
func lookup(env []string, name string) (value string, ok bool) {
	for _, entry := range slices.Backward(env) {
		n, v, _ := strings.Cut(entry, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			return v, true
		}
	}
	return "", false
}

// variable says which entry of env is meant: its name or, where that is none that a
// variable has, its number from 1 on. Without a name an entry may be a secret as a whole.
func variable(env []string, i int) string {
	const longest = 128 // bytes
	name, _, ok := strings.Cut(env[i], "=")
	odd := strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
	if !ok || name == "" || odd || len(name) > longest {
		return "number " + strconv.Itoa(i+1)
	}
	return name
}
