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
	figures := k.all(*seed, *scale)
	failed := k.failures
	for _, f := range figures {
		failed += len(f.wrong)
		if f.done < f.runs {
			fmt.Fprintf(out, "%s: only %d of %d runs\n", f.name, f.done, f.runs)
		}
	}
	if *write {
		if err := os.WriteFile(docFile, []byte(k.document(*seed, figures)), 0o644); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d failures; seed %d", failed, *seed)
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

// all carries out all phases.
func (k *soak) all(seed uint64, scale float64) []figures {
	seeds := rand.New(rand.NewPCG(seed, 0))
	drawn := func(n int) func(int) *scene {
		list := make([]uint64, n)
		for i := range list {
			list[i] = seeds.Uint64()
		}
		return func(i int) *scene { return draw(list[i]) }
	}
	times := func(n int) int { return max(1, int(float64(n)*scale)) }
	k.warmUp()
	inRow, sideBySide := times(1000), times(4000)
	phases := []phase{
		{"in a row", 1, inRow, drawn(inRow)},
		{"side by side", 50, sideBySide, drawn(sideBySide)},
	}
	for _, l := range lastWords {
		phases = append(phases, phase{l.name, 1, times(l.runs), func(int) *scene { return drawLast(l.name) }})
	}
	var all []figures
	for _, p := range phases {
		all = append(all, k.carryOut(p))
	}
	return all
}

// warmUp has everything made that is made once.
func (k *soak) warmUp() {
	for i := range uint64(5) {
		draw(i).play(k.root, k.errand)
	}
}

// repeat carries out one scene, verbosely.
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
	return nil
}
