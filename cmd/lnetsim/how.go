package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// how has the flags that are common to all verbs that run a scenario. They say which scenario to
// run, and which of its settings the command line replaces.
type how struct {
	source
	nodes  int
	seed   uint64
	on     string
	memory size
}

func (h *how) add(c *cobra.Command) {
	h.source.add(c)
	flags := c.Flags()
	flags.IntVar(&h.nodes, "nodes", 0, "as many nodes instead of what the file says")
	flags.Uint64Var(&h.seed, "seed", 0, "this seed instead of the file's")
	flags.StringVar(&h.on, "on", "", "machines (the protocol alone) or stacks (above portals and LNet); default: the protocol's first")
	h.memory.add(c)
}

// add adds the flag --memory to a verb.
func (s *size) add(c *cobra.Command) {
	c.Flags().Var(s, "memory", "refuse what needs more memory (default: most of what this machine has to spare)")
}

// orAvailable returns the limit in bytes: that of the flag or, if the flag is not set, three
// quarters of the available memory.
func (s *size) orAvailable() int64 {
	if *s == 0 {
		return availableMemory() / 4 * 3
	}
	return int64(*s)
}

// options returns the scenario and the options to run it, or an error of the flags.
func (h *how) options(c *cobra.Command, args []string) (file *scenario.File, o scenario.Options, err error) {
	level, ok := scenario.ParseLevel(h.on)
	switch {
	case !ok && h.on != "":
		return nil, o, cli.Usagef("--on %q: want machines or stacks", h.on)
	case c.Flags().Changed("nodes") && (h.nodes < 1 || h.nodes > scenario.MaxNodes):
		return nil, o, cli.Usagef("--nodes %d: want 1 to %d", h.nodes, scenario.MaxNodes)
	}
	if file, err = h.parse(args); err != nil {
		return nil, o, err
	}
	if !c.Flags().Changed("seed") {
		h.seed = file.Seed
	}
	o = scenario.Options{Nodes: h.nodes, Seed: &h.seed, Level: level, MemoryLimit: h.memory.orAvailable(), SampleEvery: -1}
	return file, o, nil
}

// words returns the flags, with the given seed, as arguments of a command.
func (h *how) words(args []string, seed uint64) []string {
	words := h.source.words(args)
	if h.nodes > 0 {
		words = append(words, "--nodes", strconv.Itoa(h.nodes))
	}
	if h.on != "" {
		words = append(words, "--on", h.on)
	}
	return append(words, "--seed", strconv.FormatUint(seed, 10))
}

// errInterrupted is the error of a run that was interrupted by a signal.
var errInterrupted = errors.New("interrupted")

// explain adds a hint to an error of a run.
func explain(err error) error {
	if _, ok := errors.AsType[*scenario.MemoryError](err); ok {
		return cli.Hint(err, "or allow it more with --memory")
	}
	if e, ok := errors.AsType[*sim.ContractError](err); ok && e.Stack != nil {
		return cli.Hint(err, "%s", e.Stack)
	}
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}
