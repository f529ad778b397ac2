package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
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

// BenchmarkRun is a whole life, of a program that ends with its stdin, in the time
// the same takes with os/exec alone: the two alternate, and "ratio" is what counts.
func BenchmarkRun(b *testing.B) {
	for _, idle := range []int{0, 3000} {
		b.Run(fmt.Sprintf("beside %d", idle), func(b *testing.B) {
			crowd(b, idle)
			cat, err := exec.LookPath("cat")
			if err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 8)
			bare := func() {
				cmd := exec.Command(cat)
				cmd.Dir, cmd.Env = "/", []string{}
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
			ours := func() {
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
			}
			var bareTime, ourTime time.Duration
			for b.Loop() {
				begin := time.Now()
				bare()
				middle := time.Now()
				ours()
				bareTime += middle.Sub(begin)
				ourTime += time.Since(middle)
			}
			b.ReportMetric(float64(ourTime)/float64(bareTime), "ratio")
			b.ReportMetric(float64(ourTime.Microseconds())/float64(b.N), "µs/ours")
			b.ReportMetric(float64(bareTime.Microseconds())/float64(b.N), "µs/bare")
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
