package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

// runFlags are the flags of "sim run".
type runFlags struct {
	how
	runs     int
	parallel int
	asJSON   bool
	verify   bool
	record   string
	plot     string
}

// maxRuns bounds --runs, because all results are kept until the end.
const maxRuns = 100_000

func runCommand(env cli.Env) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario",
		Long: `Runs a scenario in virtual time and prints what was expected of it and what
came, with percentiles over several runs. The exit code is 1 if something
expected did not come; the error then says how to repeat that very run.`,
		Example: `  lnetsim run --example partition
  lnetsim run my.sim --nodes 10000 --runs 20 --plot plots`,
	}
	f.add(c)
	flags := c.Flags()
	flags.IntVar(&f.runs, "runs", 1, "run so many times: the second has the next seed, and so on")
	flags.IntVar(&f.parallel, "parallel", runtime.GOMAXPROCS(0), "how many of the runs at the same time")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVar(&f.verify, "verify", false, "make each run twice, step by step in turn: a machine that is not deterministic ends it")
	flags.StringVar(&f.record, "record", "", "record the run in this file, for 'lnetsim replay'")
	flags.StringVar(&f.plot, "plot", "", "write the time series to this folder, as CSV and SVG; of several runs the median and the range")
	c.RunE = func(c *cobra.Command, args []string) error { return f.run(c, env, args) }
	return c
}

func (f *runFlags) run(c *cobra.Command, env cli.Env, args []string) error {
	switch {
	case f.runs < 1 || f.runs > maxRuns:
		return cli.Usagef("--runs %d: want 1 to %d", f.runs, maxRuns)
	case f.parallel < 1:
		return cli.Usagef("--parallel %d: want 1 or more", f.parallel)
	case f.record != "" && f.runs > 1:
		return cli.Usagef("--record is for one run, and --runs asks for %d", f.runs)
	}
	file, o, err := f.options(c, args)
	if err != nil {
		return err
	}
	o.Verify = f.verify
	if f.plot != "" {
		o.SampleEvery = 0 // 0 stands for the interval in the scenario
	}
	begun := time.Now()
	results, err := f.simulate(c, env, file, o)
	if err != nil {
		return explain(err)
	}
	return f.output(c.OutOrStdout(), file, results, newReport(file, results, time.Since(begun), func(seed uint64) string {
		return "lnetsim run " + strings.Join(f.words(args, seed), " ")
	}))
}

// output prints and plots the results.
func (f *runFlags) output(w io.Writer, file *scenario.File, results []*scenario.Result, r *report) error {
	err := cli.Show(w, f.asJSON, r, printReport)
	if err == nil && f.plot != "" {
		err = writePlots(f.plot, file, results)
	}
	return cmp.Or(err, r.failure())
}

// simulate performs the runs, as many at a time as fit into memory.
func (f *runFlags) simulate(c *cobra.Command, env cli.Env, file *scenario.File, o scenario.Options) ([]*scenario.Result, error) {
	if f.record == "" {
		parallel := f.parallel
		nodes := file.Nodes
		if o.Nodes > 0 {
			nodes = o.Nodes
		}
		if o.MemoryLimit > 0 {
			need := file.Memory(o.Level, nodes)
			if o.Verify {
				need *= 2
			}
			parallel = max(1, min(parallel, int(o.MemoryLimit/need)))
		}
		return runMany(c.Context(), file, o, f.runs, parallel, newBar(env.Stderr, f.runs))
	}
	w, err := os.Create(f.record)
	if err != nil {
		return nil, err
	}
	o.Record = w
	results, err := runMany(c.Context(), file, o, 1, 1, newBar(env.Stderr, 1))
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return results, err
}

// failure returns an error if expectations of the report have failed, otherwise nil.
func (r *report) failure() error {
	for i := range r.Runs {
		one := &r.Runs[i]
		if one.OK {
			continue
		}
		failed := 0
		for _, o := range one.Expects {
			if !o.OK {
				failed++
			}
		}
		err := fmt.Errorf("%d of %d expectations failed with seed %d", failed, len(one.Expects), one.Seed)
		if len(r.Runs) > 1 {
			err = fmt.Errorf("%d of %d runs failed, the first with seed %d", r.Failed, len(r.Runs), one.Seed)
		}
		return cli.Hint(err, "to repeat it: %s", one.Repeat)
	}
	return nil
}
