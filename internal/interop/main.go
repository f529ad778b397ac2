package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/errand-acp/errand/internal/conform"
)

// folder is where this package is: the program runs in the module's root.
const folder = "internal/interop"

func main() {
	live := flag.Bool("live", false, "drive an agent that is installed, with its own key and model")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *live, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, live bool, names []string) error {
	bin, err := os.MkdirTemp("", "errand-interop")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	t := &tools{errand: filepath.Join(bin, "errand"), kit: filepath.Join(bin, "kit.test")}
	if err := command(ctx, ".", "go", "build", "-o", t.errand, "./cmd/errand"); err != nil {
		return err
	}
	if live {
		if len(names) != 1 {
			return errors.New("name one agent: make live AGENT=opencode")
		}
		return driveLive(ctx, t.errand, names[0], os.Stdout)
	}
	if err := command(ctx, ".", "go", "test", "-c", "-o", t.kit, "./"+folder); err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}

	chosen, err := choose(names)
	if err != nil {
		return err
	}
	err = driveAll(ctx, chosen, t.drive, os.Stdout)
	reports, loadErr := loadReports(os.DirFS(folder))
	if loadErr != nil {
		return errors.Join(err, loadErr)
	}
	return errors.Join(err, os.WriteFile(docFile, []byte(document(reports)), 0o644))
}

// driveAll installs and drives agents, keeps the reports of what did not fail, and says
// how they differ from those that were there: one disturbed run is no news of an agent.
func driveAll(ctx context.Context, chosen []*agent, drive func(context.Context, *agent, string) (*report, error), out io.Writer) error {
	before, err := loadReports(os.DirFS(folder))
	if err != nil {
		return err
	}
	var failures []error
	changed := ""
	for _, a := range chosen {
		root, err := a.install(ctx)
		if ctx.Err() != nil {
			failures = append(failures, context.Cause(ctx))
			break
		}
		if errors.Is(err, errNotHere) {
			fmt.Fprintf(out, "\nSKIPPED %s: %v\nWhat the document says of it is of another time.\n\n", a.name, err)
			continue
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s is not installed: %w", a.name, err))
			continue
		}
		r, err := drive(ctx, a, root)
		if err == nil {
			err = r.save(a.name)
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, change := range r.changes(before[a.name]) {
			changed += "\n" + a.name + ", " + change
		}
	}
	fmt.Fprintf(out, "\nChanged in the reports:%s\n", cmp.Or(changed, " nothing"))
	return errors.Join(failures...)
}

// choose returns the agents of these names, all where there is none.
func choose(names []string) ([]*agent, error) {
	var chosen []*agent
	for i := range agents {
		if len(names) == 0 || slices.Contains(names, agents[i].name) {
			chosen = append(chosen, &agents[i])
		}
	}
	if len(names) > 0 && len(chosen) != len(names) {
		return nil, fmt.Errorf("unknown agent among %s", strings.Join(names, ", "))
	}
	return chosen, nil
}

// tools are the programs that drive an agent.
type tools struct {
	errand string
	kit    string // this package's test binary
}

// drive drives an agent in every way, one after the other: agents are heavy.
func (t *tools) drive(ctx context.Context, a *agent, root string) (*report, error) {
	version, err := a.version()
	if err != nil {
		return nil, err
	}
	r := &report{Version: version, Cases: map[string]string{}, Verdicts: map[string]conform.Verdict{}}
	var failures []error
	step := func(what string, do func() (string, error)) string {
		start := time.Now()
		cell, err := do()
		told := cell
		if err != nil {
			told = "FAILED: " + err.Error()
			failures = append(failures, fmt.Errorf("%s, %s: %w", a.name, what, err))
		}
		fmt.Printf("%s, %s: %s (%s)\n", a.name, what, told, took(start))
		return cell
	}
	var first *outcome
	for _, c := range cases {
		r.Cases[c.title] = step(c.title, func() (string, error) {
			cell, o, err := c.drive(ctx, t.errand, a, root)
			first = cmp.Or(first, o)
			return cell, err
		})
	}
	r.Ended = step("process ended by", func() (string, error) {
		if first == nil {
			return "", errors.New("no run came to its end")
		}
		cell, err := tellEnd(first)
		return cell, a.known(err)
	})
	r.Kit = step("test kit", func() (string, error) { return converse(ctx, t.kit, a, root) })
	step("errand check", func() (string, error) {
		findings, err := checkAgent(ctx, t.errand, a, root)
		told := ""
		for _, f := range findings {
			r.Verdicts[f.Rule.ID] = f.Verdict
			if broken(f.Verdict) {
				told += fmt.Sprintf("\n  %s %s: %s", f.Verdict, f.Rule.ID, f.Why)
			}
		}
		return fmt.Sprintf("%d passed, %d not applicable%s", r.count(conform.Pass), r.count(conform.NotApplicable), told), err
	})
	return r, errors.Join(failures...)
}
