package main

import (
	crand "crypto/rand"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/errand-acp/errand/internal/script"
)

const docFile = "docs/soak.md"

func main() {
	script.Hook() // this program, started as an agent, is one
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano())%1_000_000, "draw the runs from this `SEED`")
	one := flags.String("run", "", "carry out only the run of this `SEED`, and tell all of it")
	scale := flags.Float64("scale", 1, "carry out so many `TIMES` the runs")
	limit := flags.Duration("limit", 30*time.Minute, "begin no run after this `DURATION`")
	write := flags.Bool("write", false, "write "+docFile)
	flags.Parse(args)

	k, done, err := newSoak(out, *limit)
	if err != nil {
		return err
	}
	defer done()
	if *one != "" {
		return k.repeat(*one)
	}
	fmt.Fprintf(out, "seed %d\n", *seed)
	k.warmUp()
	var all []figures
	for _, p := range phases(*seed, *scale) {
		all = append(all, k.carryOut(p))
	}
	if *write {
		if err := os.WriteFile(docFile, []byte(k.document(*seed, all)), 0o644); err != nil {
			return err
		}
	}
	if n := k.failed(all); n > 0 {
		return fmt.Errorf("%d failures; seed %d", n, *seed)
	}
	fmt.Fprintf(out, "no failure in %d runs\n", k.tally.runs)
	return nil
}

// newSoak prepares what all runs need; done removes it.
func newSoak(out io.Writer, limit time.Duration) (k *soak, done func(), err error) {
	root, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(root) }
	k = &soak{out: out, root: root, mark: "soak-" + crand.Text(), until: time.Now().Add(limit), tally: newTally()}
	setCanary()
	k.setMark()
	if k.errand, err = buildErrand(root); err == nil {
		err = schema.load(k.errand)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return k, done, nil
}

// setMark makes everything that this program starts known as its own.
func (k *soak) setMark() {
	mark := k.mark
	if around := os.Getenv(runVariable); around != "" {
		mark = around + ":" + mark
	}
	os.Setenv(runVariable, mark)
}

// phases are those of a seed, with so many times the runs.
func phases(seed uint64, scale float64) []phase {
	seeds := rand.New(rand.NewPCG(seed, 0))
	times := func(n int) int { return max(1, int(float64(n)*scale)) }
	drawn := func(name string, atOnce, runs int) phase {
		list := make([]uint64, runs)
		for i := range list {
			list[i] = seeds.Uint64()
		}
		return phase{name, atOnce, runs, func(i int) *scene { return draw(list[i]) }}
	}
	all := []phase{drawn("in a row", 1, times(1000)), drawn("side by side", 50, times(4000))}
	for _, l := range lastWords {
		all = append(all, phase{l.title, 1, times(l.runs), func(int) *scene { return drawLast(l.name) }})
	}
	return all
}

// warmUp has everything made that is made once.
func (k *soak) warmUp() {
	for i := range uint64(5) {
		draw(i).play(k.root, k.errand)
	}
}

// repeat carries out one scene and tells all of it.
func (k *soak) repeat(name string) error {
	s := drawLast(name)
	if s == nil {
		seed, err := parseSeed(name)
		if err != nil {
			return fmt.Errorf("-run %s: neither the seed of a run nor the name of one", name)
		}
		s = draw(seed)
	}
	p := s.play(k.root, k.errand)
	p.print(k.out)
	if len(p.wrong) > 0 {
		return fmt.Errorf("run %s failed", name)
	}
	return nil
}
