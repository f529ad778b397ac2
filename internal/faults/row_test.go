package faults

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is a kind of fault.
type row struct {
	id string
	// does is what the other side does, for the table.
	does string
	// forms are those it is tried in. The first is the plainest, and the table's.
	forms []form
	// where names the package whose TestFaults has the row, if it is not this one,
	// because the fault is committed upon something else than a run. Then forms is
	// empty, and errand what the table says.
	where, errand string
	// noSDK is why the row is not played through the SDK's connection; empty where it is.
	noSDK string
}

// form is a fault in one of its forms.
type form struct {
	// name says what is particular; the first form of a row needs none.
	name string
	// script is what the agent follows: the name of an example in
	// testdata/scripted-agent/scripts, without its ending, or the text of a script.
	script string
	// given makes the rest of what a run needs; nil: nothing.
	given func(*scene)
	// slow is how long the consumer sleeps over each update.
	slow time.Duration
	// cancelOn cancels the run once the agent has said this.
	cancelOn string
	// do carries the run out, or several; nil: one, from start to close.
	do func(*scene)
	// alone has it played when nothing else is: it looks at all of this process.
	alone bool
	// want is scene.summary, and check what else is to hold; nil: nothing.
	want  string
	check func(*scene)
}

// rows are all of them, in the table's order.
func rows() []row {
	return slices.Concat(transportRows(), orderRows(), lifecycleRows(), permissionRows(), protocolRows(), environmentRows(), fanOutRows())
}

// TestFaults plays every form of every row. A subtest is named after its row.
func TestFaults(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.id+" "+r.does, func(t *testing.T) {
			if !slices.ContainsFunc(r.forms, func(f form) bool { return f.alone }) {
				t.Parallel() // one that waits must not hold up the rows after it
			}
			if len(r.forms) == 0 && r.where == "" {
				t.Fatal("the row has no form")
			}
			for i, f := range r.forms {
				name := f.name
				if i == 0 && name == "" {
					name = "as it is"
				}
				t.Run(name, func(t *testing.T) {
					if !f.alone {
						t.Parallel()
					}
					play(t, &f)
				})
			}
		})
	}
}

// TestRows: each row is there once, and its forms have names of their own.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows() {
		if seen[r.id] {
			t.Errorf("%s is there twice", r.id)
		}
		seen[r.id] = true
		names := map[string]bool{}
		for _, f := range r.forms {
			if names[f.name] {
				t.Errorf("%s has two forms named %q", r.id, f.name)
			}
			names[f.name] = true
		}
	}
	for _, example := range examples(t) {
		letter, _, _ := strings.Cut(example, "-")
		id := strings.ToUpper(strings.Replace(letter, "0", "", 1))
		if len(letter) == 3 && letter[1] != '0' {
			id = strings.ToUpper(letter)
		}
		if strings.ContainsAny(id[1:], "0123456789") && !seen[id] && id != "S9" {
			t.Errorf("there is an example %s.script and no row %s", example, id)
		}
	}
}

const exampleDir = "../../testdata/scripted-agent/scripts"

// examples are the names of the example scripts.
func examples(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(exampleDir, "*.script"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no examples: ", err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".script")
	}
	return files
}

// source is the text of a form's script.
func (f *form) source(t testing.TB) string {
	t.Helper()
	if strings.ContainsAny(f.script, " \n;") || f.script == "" {
		return f.script
	}
	src, err := os.ReadFile(filepath.Join(exampleDir, f.script+".script"))
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}
