package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// explicitEnv puts together what --env-file and --env say, as KEY=VALUE entries: the
// files first, so that --env wins. lookup finds a variable of this process.
func explicitEnv(ctx context.Context, files, flags []string, lookup func(string) (string, bool)) ([]string, error) {
	var env []string
	for _, file := range files {
		text, err := interruptible(ctx, func() ([]byte, error) { return readBounded(file, maxEnvFile) })
		if err != nil {
			return nil, fmt.Errorf("--env-file: %w", err)
		}
		entries, err := parseEnvFile(file, string(text))
		if err != nil {
			return nil, fmt.Errorf("--env-file: %w", err)
		}
		env = append(env, entries...)
	}
	for i, flag := range flags {
		entry, err := envFlag(flag, lookup)
		if err != nil {
			return nil, fmt.Errorf("--env, number %d: %w", i+1, err)
		}
		env = append(env, entry)
	}
	return env, nil
}

// maxEnvFile is more than any environment takes, in bytes.
const maxEnvFile = 1 << 20

// readBounded reads a file that is no larger than max.
func readBounded(file string, max int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(text)) > max {
		err = fmt.Errorf("%s is larger than %d MiB", file, max>>20)
	}
	return text, err
}

// variableName is the form of a name that an error may show: somebody may have put a
// value in its place.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func envFlag(flag string, lookup func(string) (string, bool)) (string, error) {
	name, _, set := strings.Cut(flag, "=")
	if err := checkName(name); err != nil {
		return "", err
	}
	if strings.ContainsRune(flag, 0) {
		return "", fmt.Errorf("the value of %s holds a NUL byte", name)
	}
	if set {
		return flag, nil
	}
	value, ok := lookup(name)
	if !ok {
		return "", notUsage{fmt.Errorf("%s is not set here, so there is nothing to let through", shown(name))}
	}
	return name + "=" + value, nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name is empty; want KEY=VALUE")
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("there is a space or a control character in the name; want KEY=VALUE")
	}
	return nil
}

func shown(name string) string {
	if variableName.MatchString(name) {
		return name
	}
	return "what it names"
}
