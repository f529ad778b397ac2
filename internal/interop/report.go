package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/errand-acp/errand/internal/conform"
)

// report is what an agent did when it was driven last. It is kept beside the code, so
// that an agent that cannot be driven here stays in the document.
type report struct {
	// Version is that of its package; the Go SDK's is in go.mod.
	Version string `json:"version"`
	// Cases has a cell of the document for each case, by its title.
	Cases map[string]string `json:"cases"`
	// Ended is how its process ended after a turn; Kit, what the test kit says of it.
	Ended string `json:"ended"`
	Kit   string `json:"kit"`
	// Verdicts are those of errand check, by the rules' ids.
	Verdicts map[string]conform.Verdict `json:"verdicts"`
}

// count counts the rules of a verdict.
func (r *report) count(verdict conform.Verdict) int {
	n := 0
	for _, v := range r.Verdicts {
		if v == verdict {
			n++
		}
	}
	return n
}

// broken says that the agent does not keep the rule of this verdict.
func broken(v conform.Verdict) bool { return v == conform.Fail || v == conform.Warn }

// cells are all that the report says, by what it is said of.
func (r *report) cells() map[string]string {
	cells := map[string]string{"version": r.Version, "process ended by": r.Ended, "test kit": r.Kit}
	maps.Copy(cells, r.Cases)
	for rule, verdict := range r.Verdicts {
		cells[rule] = string(verdict)
	}
	return cells
}

// changes tells where it says something else than the one before it.
func (r *report) changes(before *report) (changes []string) {
	if before == nil {
		return []string{"report: (none) -> its first"}
	}
	was, is := before.cells(), r.cells()
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, cell := range slices.Sorted(maps.Keys(both)) {
		if was[cell] != is[cell] {
			changes = append(changes, fmt.Sprintf("%s: %s -> %s", cell, cmp.Or(was[cell], "(none)"), cmp.Or(is[cell], "(none)")))
		}
	}
	return changes
}

// save writes the report of an agent.
func (r *report) save(name string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "reports", name+".json"), append(text, '\n'), 0o644)
}

// loadReports reads the reports of the agents that have been driven.
func loadReports(dir fs.FS) (map[string]*report, error) {
	reports := map[string]*report{}
	for _, a := range agents {
		text, err := fs.ReadFile(dir, "reports/"+a.name+".json")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var r report
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("the report of %s: %w", a.name, err)
		}
		reports[a.name] = &r
	}
	return reports, nil
}
