package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// parallel is how many go tests run at once.
const parallel = 2

//go:embed mutations.txt
var mutations string

func main() {
	// An interrupt ends the tests too: they are in our process group.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only []string) error {
	l, err := parseList(mutations)
	if err != nil {
		return err
	}
	for _, word := range only {
		if !isTarget(word) {
			return fmt.Errorf("%q is neither a row, such as A18, nor a test", word)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(l.mutations), func(m mutation) bool {
		return len(only) > 0 && !slices.ContainsFunc(m.targets, func(target string) bool {
			return slices.ContainsFunc(only, func(word string) bool { return target == word || strings.HasPrefix(target, word+"/") })
		})
	})
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	before, err := baseline(ctx, root, chosen)
	if err != nil {
		return err
	}

	errs := make([]error, len(chosen))
	var tries errgroup.Group
	tries.SetLimit(parallel)
	for i := range chosen {
		tries.Go(func() error {
			m := &chosen[i]
			start := time.Now()
			errs[i] = try(ctx, root, m, before[m.pkg])
			verdict := "red"
			if errs[i] != nil {
				verdict = "NOT RED: " + errs[i].Error()
			}
			fmt.Printf("%-9s %5.1fs  %-60s %s\n", strings.Join(m.targets, " "), time.Since(start).Seconds(), m.what, verdict)
			return nil
		})
	}
	tries.Wait()

	if err := ctx.Err(); err != nil {
		return err
	}
	wrong := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	fmt.Printf("\n%d mutations, %d turned red what they break\n", len(chosen), len(chosen)-len(wrong))
	if missing := l.missing(); len(only) == 0 && len(missing) > 0 {
		return fmt.Errorf("no mutation for %s", strings.Join(missing, " "))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d mutations did not turn red what they break", len(wrong))
	}
	return nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
}

// baseline runs the tests that the mutations need, without any mutation.
func baseline(ctx context.Context, root string, chosen []mutation) (map[string]outcomes, error) {
	targets := map[string][]string{}
	for _, m := range chosen {
		targets[m.pkg] = append(targets[m.pkg], m.targets...)
	}
	results := map[string]outcomes{}
	for pkg, targets := range targets {
		slices.Sort(targets)
		var err error
		if results[pkg], err = goTest(ctx, root, pkg, "", slices.Compact(targets)); err != nil {
			return nil, fmt.Errorf("%s without a mutation: %w", pkg, err)
		}
	}
	return results, nil
}

// try makes the mutation and returns nil if everything that it is to break turned red.
func try(ctx context.Context, root string, m *mutation, before outcomes) error {
	for _, target := range m.targets {
		if how := before.of(target); how != "pass" {
			return fmt.Errorf("without the mutation %s of %s does not pass: %q", target, m.pkg, how)
		}
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return err
	}
	after, err := goTest(ctx, root, m.pkg, overlay, m.targets)
	if err != nil {
		return err
	}
	for _, target := range m.targets {
		switch after.of(target) {
		case "fail", "run":
		case "":
			return fmt.Errorf("%s was not reached", target)
		default:
			return fmt.Errorf("%s survived it", target)
		}
	}
	return nil
}

// overlay writes the changed files into dir, and beside them the overlay that puts
// them in place of the originals. It returns the overlay's name.
func (m *mutation) overlay(root, dir string) (string, error) {
	replace := map[string]string{}
	for i, e := range m.edits {
		original := filepath.Join(root, filepath.FromSlash(e.file))
		src, err := os.ReadFile(original)
		if err != nil {
			return "", err
		}
		changed, err := e.apply(string(src))
		if err != nil {
			return "", err
		}
		mutant := filepath.Join(dir, fmt.Sprintf("mutant%d.go", i))
		if err := os.WriteFile(mutant, []byte(changed), 0o600); err != nil {
			return "", err
		}
		replace[original] = mutant
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
