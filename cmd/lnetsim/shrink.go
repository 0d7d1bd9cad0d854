package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

func shrinkCommand(env cli.Env) *cobra.Command {
	var h how
	var out string
	c := &cobra.Command{
		Use:   "shrink FILE",
		Short: "Reduce a scenario that fails to the few faults that it takes",
		Long: `Runs a scenario that fails again and again, each time with less happening in it,
and prints the smallest that still fails in the same way: with everything drawn
and counted out, so that it needs no seed of yours.`,
		Example: `  lnetsim shrink --example planted -o small.sim
  lnetsim run small.sim`,
	}
	h.add(c)
	c.Flags().StringVarP(&out, "out", "o", "", "write it to this file instead of standard output")
	c.RunE = func(c *cobra.Command, args []string) error {
		file, o, err := h.options(c, args)
		if err != nil {
			return err
		}
		runs, begun := 0, time.Now()
		small, err := scenario.Shrink(c.Context(), file, o, shrinking(env, &runs))
		if errors.Is(err, scenario.ErrPasses) {
			return cli.Hint(err, "'lnetsim run FILE --runs 100' looks for a seed that fails; name it with --seed")
		}
		if err != nil {
			return explain(err)
		}
		fmt.Fprintf(env.Stderr, "%d statements that change something are left, after %d runs in %v\n",
			small.Faults(), runs, roughly(time.Since(begun).Seconds()))
		if out != "" {
			return cli.Save(out, "--out", func(w io.Writer) error {
				_, err := w.Write(small.Format())
				return err
			})
		}
		_, err = env.Stdout.Write(small.Format())
		return err
	}
	return c
}

// shrinking returns a function that counts the runs of a shrinking, and shows the progress on a
// terminal.
func shrinking(env cli.Env, runs *int) func(scenario.Shrinking) {
	watched := cli.IsTerminal(env.Stderr)
	shown := time.Time{}
	return func(s scenario.Shrinking) {
		*runs = s.Runs
		if now := time.Now(); watched && now.Sub(shown) >= barEvery {
			shown = now
			fmt.Fprintf(env.Stderr, "\r%d faults after %d runs\x1b[K\r", s.Faults, s.Runs)
		}
	}
}
