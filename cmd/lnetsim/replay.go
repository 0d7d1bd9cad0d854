package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

// replayed is the JSON output of a replay.
type replayed struct {
	Recording string  `json:"recording"`
	Scenario  string  `json:"scenario"`
	Protocol  string  `json:"protocol"`
	Level     string  `json:"level"`
	Nodes     int     `json:"nodes"`
	Seed      uint64  `json:"seed"`
	Machines  bool    `json:"machines"` // machines got their recorded inputs, without a network
	Steps     uint64  `json:"steps"`
	Digest    string  `json:"digest"`
	Truncated bool    `json:"truncated"`
	Wall      float64 `json:"wall_s"`
}

func replayCommand(env cli.Env) *cobra.Command {
	var asJSON bool
	var memory size
	c := &cobra.Command{
		Use:   "replay RECORDING",
		Short: "Repeat a recorded run and compare",
		Long: `Repeats a run that 'lnetsim run --record' has recorded. Protocols that record
what their machines were given have it given to new machines, without a
network; of others the run is made again. Where the answers differ from the
recorded ones the replay ends with exit code 1 and says where.`,
		Example: `  lnetsim run --example partition --record partition.rec
  lnetsim replay partition.rec`,
		Args: cli.Args("RECORDING"),
		RunE: func(c *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			done, err := scenario.Replay(c.Context(), file, protocols, memory.orAvailable())
			if err != nil {
				return explainReplay(args[0], err)
			}
			r := replayed{
				args[0], done.File.Name, done.File.Protocol.Name, done.Level.String(), done.Nodes, done.Seed,
				done.Machines, done.Steps, fmt.Sprintf("%016x", done.Digest), done.Truncated, done.Wall.Seconds(),
			}
			return cli.Show(c.OutOrStdout(), asJSON, r, printReplayed)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	memory.add(c)
	return c
}

func explainReplay(name string, err error) error {
	err = explain(err)
	if errors.Is(err, errInterrupted) || cli.HintOf(err) != "" {
		return err
	}
	err = fmt.Errorf("%s: %w", name, err)
	if errors.Is(err, scenario.ErrRecording) {
		return cli.Hint(err, "'lnetsim run FILE --record NEW' makes one; 'lnetsim run' runs a scenario")
	}
	return cli.Hint(err, "it was recorded by another version of the protocol, or the protocol is not deterministic")
}

func printReplayed(w io.Writer, r replayed) error {
	what := "the run was made again"
	if r.Machines {
		what = "machines were given what they were given then"
	}
	fmt.Fprintf(w, "%s: %s, %d nodes, %s, seed %d\n%s: %d steps in %v, all as recorded\ndigest %s\n",
		r.Scenario, r.Protocol, r.Nodes, r.Level, r.Seed, what, r.Steps, roughly(r.Wall), r.Digest)
	if r.Truncated {
		fmt.Fprintln(w, "the recording ends before its run did")
	}
	return nil
}
