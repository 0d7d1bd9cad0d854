package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// usualBatch is the batch that each session has.
const usualBatch = "batch"

// batchName returns the batch that the arguments of a command name.
func batchName(args []string) (string, error) {
	switch len(args) {
	case 0:
		return usualBatch, nil
	case 1:
		return args[0], nil
	}
	return "", cli.Usagef("there is more than one batch: %q", args[1])
}

func addBatch(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "add_batch BATCH", Short: "Make a batch of tests",
		Long:        "Makes a batch, to which tests can be added, which then run together. Each session has\na batch with the name batch.",
		Example:     "  lst add_batch b",
		Annotations: usageText("add_batch NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errMissing
			}
			if len(args[0]) > wire.MaxName {
				return failf("Name length is limited to %d", wire.MaxName)
			}
			err := selftest.OpAddBatch.Call(c.Context(), g.client(), selftest.BatchRequest{Key: g.key(), Batch: args[0]})
			if err == nil && g.json {
				err = cli.JSON(c.OutOrStdout(), newBatchDoc(&console.Batch{Name: args[0]}))
			}
			return refusal(err, "batch", "Failed to create batch")
		},
	}
}

func listBatch(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "list_batch [--test N] [--server] [--active | --invalid | --all] [BATCH]", Short: "List batches, or their tests or nodes",
		Long: `Lists the batches or, of a batch, its tests and how many nodes these have by their
states or, with --all, --active or --invalid, the clients of the batch or of one test,
with --server its servers.`,
		Example:     "  lst list_batch\n  lst list_batch b\n  lst list_batch --test 1 --server --all b",
		Annotations: usageText("list_batch [--test INDEX] [--active] [--invalid] [--server] [--all] [NAME]"),
	}
	l := &batchLister{g: g}
	test := c.Flags().StringP("test", "t", "", "of the test with this `NUMBER` only")
	c.Flags().BoolVarP(&l.server, "server", "s", false, "list servers in place of clients")
	c.Flags().BoolVarP(&l.all, "all", "l", false, "list all nodes")
	c.Flags().BoolVarP(&l.active, "active", "a", false, "list the nodes that are in the session")
	c.Flags().BoolVarP(&l.invalid, "invalid", "i", false, "list the nodes that are not")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if l.test, err = testNumber(*test); err != nil {
			return err
		}
		if len(args) == 0 {
			return g.listBatches(c)
		}
		name, err := batchName(args)
		if err != nil {
			return err
		}
		b, err := selftest.OpBatch.Call(c.Context(), g.client(), selftest.Named{Name: name})
		if err != nil {
			return refusal(err, "batch", "Failed to query batch")
		}
		return l.list(c, &b)
	}
	return c
}

// listBatches lists the names of the batches.
func (g *globals) listBatches(c *cobra.Command) error {
	list, err := selftest.OpBatches.Call(c.Context(), g.client(), control.None{})
	if err != nil {
		return refusal(err, "batch", "Failed to query batch")
	}
	if g.json {
		d := batchesDoc{Batches: []batchDoc{}}
		for i := range list {
			d.Batches = append(d.Batches, newBatchDoc(&list[i]))
		}
		return cli.JSON(c.OutOrStdout(), d)
	}
	for i := range list {
		fmt.Fprintf(c.OutOrStdout(), "%d) %s\n", i+1, list[i].Name)
	}
	fmt.Fprintf(c.OutOrStdout(), "Total %d batches\n", len(list))
	return nil
}

// batchLister lists a batch.
type batchLister struct {
	g                    *globals
	test                 int // number of a test; 0: the batch
	server               bool
	all, active, invalid bool
}

func (l *batchLister) list(c *cobra.Command, b *console.Batch) error {
	if l.test > len(b.Tests) {
		return failf("Can't find test in current session")
	}
	if !l.all && !l.active && !l.invalid {
		return l.summary(c.OutOrStdout(), b)
	}
	nodes, err := l.nodes(c, b)
	if err != nil {
		return err
	}
	if l.g.json {
		return cli.JSON(c.OutOrStdout(), struct {
			Nodes []nodeDoc `json:"nodes"`
		}{append([]nodeDoc{}, nodeDocs(nodes)...)})
	}
	printNodes(c.OutOrStdout(), nodes)
	fmt.Fprintf(c.OutOrStdout(), "Total %d nodes\n", len(nodes))
	return nil
}

// nodes returns the nodes of a batch or a test that the options choose.
func (l *batchLister) nodes(c *cobra.Command, b *console.Batch) (chosen []console.Node, err error) {
	nodes := b.Clients
	if l.server {
		nodes = b.Servers
	}
	if l.test > 0 {
		name := b.Tests[l.test-1].From
		if l.server {
			name = b.Tests[l.test-1].To
		}
		group, err := selftest.OpGroup.Call(c.Context(), l.g.client(), selftest.Named{Name: name})
		if err != nil {
			return nil, refusal(err, "test", "Failed to query test")
		}
		nodes = group.Nodes
	}
	for _, n := range nodes {
		if in := n.State == console.Active; l.all || l.active && in || l.invalid && !in {
			chosen = append(chosen, n)
		}
	}
	return chosen, nil
}

// The numbers by which kernels tell whether a batch runs (LST_BATCH_IDLE, LST_BATCH_RUNNING).
const (
	batchIdle    = 0xb0
	batchRunning = 0xb1
)

// summary prints the tests of a batch, and the numbers of their nodes.
func (l *batchLister) summary(w io.Writer, b *console.Batch) error {
	if l.g.json {
		return cli.JSON(w, newBatchDoc(b))
	}
	if l.test == 0 {
		state := batchIdle
		if b.Running {
			state = batchRunning
		}
		fmt.Fprintf(w, "Batch: %s Tests: %d State: %d\n%s", b.Name, len(b.Tests), state, sides(b.ClientCounts, b.ServerCounts))
	}
	for i, t := range b.Tests {
		if l.test != 0 && l.test != i+1 {
			continue
		}
		fmt.Fprintf(w, "\tTest %d(%s) (loop: %d, concurrency: %d)\n%s", i+1, testName(t.Service), t.Loop, t.Concurrency, sides(t.ClientCounts, t.ServerCounts))
	}
	return nil
}

// sides returns the lines with the numbers of clients and servers in each state.
func sides(clients, servers console.Counts) string {
	return stateHeader + "client" + countsText(clients) + "\nserver" + countsText(servers) + "\n"
}

// testName returns the word of Lustre's tool for a service that measures.
func testName(s wire.Service) string {
	switch s {
	case wire.PingService:
		return "ping"
	case wire.BRWService:
		return "brw"
	}
	return "unknown"
}
