package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// crowd starts n idle processes, as a full machine has them, and ends them with the
// benchmark.
func crowd(b *testing.B, n int) {
	b.Helper()
	if n == 0 {
		return
	}
	// One shell holds them all: when its group goes they all do.
	p, err := Start(background, Spec{Path: "sh", Dir: "/", Env: os.Environ(),
		Args: []string{"-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 3600 & i=$((i+1)); done; echo; wait", n)}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		p.Kill(hang)
		p.Stdout().Close()
	})
	p.Stdout().Read(make([]byte, 1))
}

// BenchmarkRun is a whole life, of a program that ends with its stdin, against the
// same with os/exec alone, and with os/exec in a session of its own, which alone costs
// something where sessions are scheduled apart (autogroup). They alternate; medians.
func BenchmarkRun(b *testing.B) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 8)
	bare := func(attr *syscall.SysProcAttr) {
		cmd := exec.Command(cat)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", []string{}, attr
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		in.Write([]byte("hello\n"))
		out.Read(buf)
		in.Close()
		io.Copy(io.Discard, out)
		cmd.Wait()
	}
	ways := []struct {
		name string
		run  func()
	}{
		{"bare", func() { bare(nil) }},
		{"session", func() { bare(&syscall.SysProcAttr{Setsid: true}) }},
		{"ours", func() {
			p, err := Start(background, Spec{Path: cat, Dir: "/", Env: []string{}})
			if err != nil {
				b.Fatal(err)
			}
			p.Stdin().Write([]byte("hello\n"))
			p.Stdout().Read(buf)
			if r := p.Shutdown(patient); r.Rung != RungEOF {
				b.Fatalf("%+v", r)
			}
			io.Copy(io.Discard, p.Stdout())
		}},
	}
	for _, idle := range []int{0, 3000} {
		b.Run(fmt.Sprintf("beside %d", idle), func(b *testing.B) {
			crowd(b, idle)
			took := map[string][]time.Duration{}
			for b.Loop() {
				for _, way := range ways {
					begin := time.Now()
					way.run()
					took[way.name] = append(took[way.name], time.Since(begin))
				}
			}
			median := func(way string) float64 {
				slices.Sort(took[way])
				return float64(took[way][len(took[way])/2].Microseconds())
			}
			for _, way := range ways {
				b.ReportMetric(median(way.name), "µs/"+way.name)
			}
			b.ReportMetric(median("ours")/median("bare"), "to-bare")
			b.ReportMetric(median("ours")/median("session"), "to-session")
		})
	}
}

// BenchmarkSweep is the part of the end that looks for others, when there are none.
func BenchmarkSweep(b *testing.B) {
	for _, idle := range []int{0, 3000} {
		for _, span := range []string{"short", "long", "all"} {
			b.Run(fmt.Sprintf("beside %d/%s", idle, span), func(b *testing.B) {
				crowd(b, idle)
				p, err := Start(background, Spec{Path: "cat", Dir: "/", Env: os.Environ()})
				if err != nil {
					b.Fatal(err)
				}
				defer p.Stdout().Close()
				p.Stdin().Close()
				<-p.Exited()
				for b.Loop() {
					switch span {
					case "short":
						p.family.era.began = time.Now()
					case "long":
						p.family.era.began = time.Time{}
					case "all":
						p.family.era = era{forks: -1}
					}
					p.family.track()
					p.family.sweep(time.Now().Add(hang))
				}
				b.StopTimer()
				p.Shutdown(patient)
			})
		}
	}
}

// BenchmarkIdle is what a child costs that does nothing, mean of 100.
func BenchmarkIdle(b *testing.B) {
	const n = 100
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	for b.Loop() {
		goroutines, bytes := runtime.NumGoroutine(), held()
		var all []*Process
		for range n {
			p, err := Start(background, Spec{Path: "cat", Dir: "/", Env: os.Environ()})
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, p)
		}
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/n, "goroutines")
		b.ReportMetric((float64(held())-float64(bytes))/n, "B")
		for _, p := range all {
			p.Shutdown(patient)
			p.Stdout().Close()
		}
	}
}
