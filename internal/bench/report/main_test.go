package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, cpu := parse(`goos: linux
cpu: A CPU @ 2 GHz
BenchmarkRun-2         	    1087	   2870117 ns/op	         1.750 errand-ms	         1.02 ratio
BenchmarkIdle 	       1	 9 ns/op	 3.50 goroutines/run
PASS
`)
	want := results{"Run ns/op": 2870117, "Run errand-ms": 1.75, "Run ratio": 1.02, "Idle ns/op": 9, "Idle goroutines/run": 3.5}
	if diff := cmp.Diff(want, got); diff != "" || cpu != "A CPU @ 2 GHz" {
		t.Errorf("cpu %q, (-want +got):\n%s", cpu, diff)
	}
}

func TestTable(t *testing.T) {
	measured := results{}
	for _, r := range rows {
		measured[r.benchmark+" "+r.metric] = r.limit
	}
	measured["Run errand-ms"], measured["Updates sdk-updates/s"] = 1.5, 71234.5
	doc, short, missed := table(measured)
	if len(missed) != 0 {
		t.Errorf("at the limit, but missed: %q", missed)
	}
	for text, want := range map[string]string{
		doc:   "| one whole run, times the minimal client | 1.25 (1.5 errand-ms, 0 minimal-ms) | at most 1.25 |",
		short: "| one whole run, times the minimal client | 1.25 | at most 1.25 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	if !strings.Contains(doc, "71,234 sdk-updates/s") {
		t.Errorf("no thousands in\n%s", doc)
	}

	measured["Run ratio"] = 1.3
	measured["Updates ratio"] = 9.9
	delete(measured, "Idle KiB/run")
	_, _, missed = table(measured)
	if diff := cmp.Diff([]string{rows[0].what, rows[2].what, "an idle run: heap and stacks, KiB"}, missed); diff != "" {
		t.Errorf("missed (-want +got):\n%s", diff)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1.234: "1.23", 99.9: "99.9", 100: "100", 1234: "1,234", 1234567: "1,234,567"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}
