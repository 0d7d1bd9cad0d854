package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

// sweepFlags are the flags of "sim sweep".
type sweepFlags struct {
	vary     []string
	show     string
	runs     int
	parallel int
	seed     uint64
	on       string
	memory   size
	asJSON   bool
	plot     string
	title    string
	with     []string
	log      bool
}

func sweepCommand(env cli.Env) *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep FILE...",
		Short: "Run scenarios for each value of a setting, and plot what came",
		Long: `Runs each scenario once for each of some values, several times if --runs says so,
and prints one of its results over the values: a column for each file. The result
is a measure, by its name, or an 'expect', by the begin of its text: how long it
took. Several --vary go in step, and the first one is the axis. 'heal=12s,13s' varies
when a partition ends, in the line 'at TIME heal'.`,
		Example: `  lnetsim sweep leave.sim --vary nodes=32,128,512 --runs 5 --show 'removed on average after'
  lnetsim sweep boot.sim --vary nodes=8,64 --vary supervisors=4,32 --show 'expect census-right' --plot boot.svg`,
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.vary, "vary", nil, "'nodes=32,64' or an option of the protocol with its values, or 'heal=12s,13s'")
	flags.StringVar(&f.show, "show", "", "a measure by its name, or an expect by the begin of its text")
	flags.IntVar(&f.runs, "runs", 1, "run each so many times: the second has the next seed, and so on")
	flags.IntVar(&f.parallel, "parallel", runtime.GOMAXPROCS(0), "how many of the runs at the same time")
	flags.Uint64Var(&f.seed, "seed", 0, "the first seed")
	flags.StringVar(&f.on, "on", "", "machines or stacks; default: the protocol's first")
	f.memory.add(c)
	flags.BoolVar(&f.asJSON, "json", false, "print JSON, with the spread of each point")
	flags.StringVar(&f.plot, "plot", "", "draw the curves to this file, as SVG")
	flags.StringVar(&f.title, "title", "", "title of the plot")
	flags.StringArrayVar(&f.with, "with", nil, "'LABEL: X=Y,X=Y': points from elsewhere, for the plot")
	flags.BoolVar(&f.log, "log", false, "a logarithmic axis for the values")
	c.RunE = func(c *cobra.Command, args []string) error { return f.run(c.Context(), env, args) }
	return c
}

// swept has the results of one scenario file, with a point for each value of the setting.
type swept struct {
	Name   string       `json:"name"`
	Unit   string       `json:"unit"`
	Points []sweptPoint `json:"points"`
}

// sweptPoint is the result of the runs with one value of the setting.
type sweptPoint struct {
	X      float64 `json:"x"`
	Failed int     `json:"failed_runs"`
	spread
}

func (f *sweepFlags) run(ctx context.Context, env cli.Env, files []string) error {
	v, err := parseVary(f.vary)
	level, ok := scenario.ParseLevel(f.on)
	switch {
	case err != nil:
		return err
	case len(files) == 0:
		return cli.Usagef("sim sweep needs at least one FILE")
	case f.show == "":
		return cli.Usagef("--show is missing: a measure by its name, or an expect by the begin of its text")
	case f.runs < 1 || f.runs > maxRuns || f.parallel < 1:
		return cli.Usagef("--runs %d, --parallel %d: want 1 or more", f.runs, f.parallel)
	case !ok && f.on != "":
		return cli.Usagef("--on %q: want machines or stacks", f.on)
	}
	marks, err := parseMarks(f.with)
	if err != nil {
		return err
	}
	var list []swept
	var failed error
	for _, name := range files {
		s, err := f.sweep(ctx, env, name, v, level, &failed)
		if err != nil {
			return err
		}
		if list = append(list, *s); s.Unit != list[0].Unit {
			return cli.Usagef("%s is in %q, %s in %q: one plot has one unit", list[0].Name, list[0].Unit, s.Name, s.Unit)
		}
	}
	err = cli.Show(env.Stdout, f.asJSON, list, func(w io.Writer, list []swept) error { return f.print(w, v.axis(), list) })
	if err == nil && f.plot != "" {
		err = f.writePlot(v.axis(), list, marks)
	}
	return cmp.Or(err, failed)
}

// sweep runs one scenario with all values of the settings.
func (f *sweepFlags) sweep(ctx context.Context, env cli.Env, name string, v *variation, level scenario.Level, failed *error) (*swept, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, cli.Hint(err, "'lnetsim examples' lists scenarios to begin with")
	}
	s := &swept{Name: strings.TrimSuffix(filepath.Base(name), ".sim")}
	for i := range v.values[0] {
		file, err := scenario.Parse(name, []byte(v.apply(string(text), i)), protocols)
		if err != nil {
			return nil, cli.Hint(err, "lines are those of the file with %s", v.describe(i))
		}
		o := scenario.Options{Level: level, Seed: &f.seed, MemoryLimit: f.memory.orAvailable(), SampleEvery: -1}
		parallel := f.parallel
		if o.MemoryLimit > 0 {
			parallel = max(1, min(parallel, int(o.MemoryLimit/file.Memory(level, file.Nodes))))
		}
		b := newBar(env.Stderr, f.runs)
		b.label = s.Name + ", " + v.describe(i) + " "
		results, err := runMany(ctx, file, o, f.runs, parallel, b)
		if err != nil {
			return nil, explain(err)
		}
		p := sweptPoint{X: v.x[i]}
		if p.spread, s.Unit, err = f.pick(name, results); err != nil {
			return nil, err
		}
		for _, r := range results {
			if !r.OK() {
				p.Failed++
				f.fail(failed, name, v.describe(i), r)
			}
		}
		s.Points = append(s.Points, p)
	}
	return s, nil
}

// fail sets *failed to the first expectation of a run that was not met, unless *failed is set
// already.
func (f *sweepFlags) fail(failed *error, name, with string, r *scenario.Result) {
	for _, o := range r.Expects {
		if !o.OK && *failed == nil {
			err := fmt.Errorf("%s with %s and seed %d: %s: %s", name, with, r.Seed, o.Text, o.Why)
			*failed = cli.Hint(err, "to repeat it: lnetsim sweep %s --vary %s --show %s --seed %d", quote(name), strings.ReplaceAll(with, " ", " --vary "), quote(f.show), r.Seed)
		}
	}
}

// pick finds the values of the measure, or of the expectation, that --show names.
func (f *sweepFlags) pick(name string, results []*scenario.Result) (s spread, unit string, err error) {
	var values []float64
	for _, r := range results {
		found := false
		for _, m := range append(r.Measures[:len(r.Measures):len(r.Measures)], counters(r)...) {
			if m.Name == f.show && !found {
				values, unit, found = append(values, m.Value), m.Unit, true
			}
		}
		for _, o := range r.Expects {
			if !found && strings.HasPrefix(o.Text, f.show) {
				values, unit, found = append(values, (o.At-o.From).Seconds()), "s", true
			}
		}
		if !found {
			return s, "", cli.Usagef("%s has no measure and no expect %q: 'lnetsim run' prints those there are", name, f.show)
		}
	}
	return spreadOf(values), unit, nil
}
