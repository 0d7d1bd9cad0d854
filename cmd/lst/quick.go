package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/lst/internal/quick"
	"ulnet/lnet/selftest/wire"
)

// quickFlags are the flags of lst quick.
type quickFlags struct {
	brw, check, size, plot string
	ping, force            bool
	concurrency            int
	time                   time.Duration
	own                    ownNode
}

// quickFailed is the exit code of lst quick if a pair could not be measured or had errors.
const quickFailed = 1

func quickCommand(g *globals) *cobra.Command {
	f := &quickFlags{}
	c := &cobra.Command{
		Use:   "quick FROM-NIDS TO-NIDS [--brw read|write | --ping] [--size SIZE] [--concurrency N] [--time TIME]",
		Short: "Measure each pair of clients and servers, and show a matrix",
		Long: `Makes a session with all nodes, has each client measure each server, shows the rates,
bandwidths and latencies as matrices with a row for each client, and ends the session,
also after an interrupt or the loss of nodes. Pairs that are measured at the same time
have no node in common. --time is for all together; each pair gets a second at least.

FROM-NIDS and TO-NIDS are NIDs with ranges, such as '10.0.0.[1-4]@tcp', several of them
separated by spaces. At most 64 clients and 64 servers are measured. The nodes are kernel
nodes with the module lnet_selftest, or nodes of lnetd with "selftest: 1".

With --standalone the console is a node in this process, without a daemon; as a client or
server it measures itself, too. Other nodes answer it on the connections that it makes,
but for kernel nodes, which need a port that they can reach.

The exit code is 1 if a pair could not be measured, or had errors.`,
		Example: `  lst quick 10.0.0.1@tcp '10.0.0.[2-5]@tcp'
  lst quick '10.0.0.[1-8]@o2ib' '10.0.0.[1-8]@o2ib' --brw write --time 2m --plot fabric.svg`,
		Args: cli.Args("FROM-NIDS", "TO-NIDS"),
	}
	c.Flags().StringVar(&f.brw, "brw", "read", "move bulk data: `read or write`")
	c.Flags().BoolVar(&f.ping, "ping", false, "send small RPCs instead of bulk data")
	c.Flags().StringVar(&f.size, "size", "1M", "bytes of each RPC, at most 1M")
	c.Flags().StringVar(&f.check, "check", "none", "check the data: `none, simple or full`")
	c.Flags().IntVar(&f.concurrency, "concurrency", 8, "RPCs that a client has under way, 1 to 1024")
	c.Flags().DurationVar(&f.time, "time", 30*time.Second, "time of all rounds together")
	c.Flags().BoolVarP(&f.force, "force", "f", false, "take nodes from other consoles, and end an earlier session of this one")
	c.Flags().StringVar(&f.plot, "plot", "", "write a heat map in SVG to `FILE`")
	f.own.flags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := f.config(args)
		if err != nil {
			return err
		}
		return f.run(g, c, cfg)
	}
	return c
}

// config returns the configuration that the command line describes.
func (f *quickFlags) config(args []string) (cfg quick.Config, err error) {
	cfg = quick.Config{Service: wire.BRWService, Concurrency: f.concurrency, Time: f.time, Force: f.force, Key: 1 + rand.Uint32N(1<<31)}
	if cfg.From, err = expandAll(strings.Fields(args[0])); err != nil {
		return cfg, err
	}
	if cfg.To, err = expandAll(strings.Fields(args[1])); err != nil {
		return cfg, err
	}
	switch {
	case f.concurrency < 1 || f.concurrency > mostConcurrent:
		return cfg, cli.Usagef("--concurrency: want 1 to %d, not %d", mostConcurrent, f.concurrency)
	case f.time <= 0:
		return cfg, cli.Usagef("--time: want a time such as 30s, not %v", f.time)
	case f.ping:
		cfg.Service = wire.PingService
		return cfg, nil
	}
	words := []string{f.brw, "size=" + f.size}
	if f.check != "none" {
		words = append(words, "check="+f.check)
	}
	cfg.BRW, err = brwParams(words)
	return cfg, err
}

// run measures and shows the result, as far as there is one.
func (f *quickFlags) run(g *globals, c *cobra.Command, cfg quick.Config) error {
	through, own, stop, err := f.own.console(c.Context(), g, cfg)
	if err != nil {
		return err
	}
	defer stop()
	cfg.Own = own
	if cli.IsTerminal(c.ErrOrStderr()) {
		cfg.Progress = func(text string) { fmt.Fprintf(c.ErrOrStderr(), "\r\x1b[K%s", text) }
		defer fmt.Fprint(c.ErrOrStderr(), "\r\x1b[K")
	}
	r, err := quick.Measure(c.Context(), through, cfg)
	if r != nil && len(r.Pairs) > 0 {
		err = errors.Join(err, f.show(g, c.OutOrStdout(), r))
	}
	if err == nil && !r.OK() {
		return silent(quickFailed)
	}
	return err
}

// show prints the result, and writes the heat map.
func (f *quickFlags) show(g *globals, w io.Writer, r *quick.Result) error {
	err := cli.Show(w, g.json, r, func(w io.Writer, r *quick.Result) error { return r.Print(w) })
	if f.plot == "" || err != nil {
		return err
	}
	return cli.Save(f.plot, "--plot", r.Plot)
}
