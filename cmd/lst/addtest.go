package main

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// mostConcurrent is the largest number of units that a client runs for each of its servers.
const mostConcurrent = 1024

func addTest(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "add_test [--batch BATCH] [--loop N] [--concurrency N] [--distribute CLIENTS:SERVERS] --from GROUP --to GROUP {ping | brw [WORD...]}", Short: "Add a test to a batch",
		Long: `Adds a test to a batch: the nodes of one group send RPCs to those of another one. Each
client has --concurrency units for each of its servers, each of which sends one RPC
after the other, --loop times or without end. --distribute 2:3 gives every two clients
three servers of their own, as far as there are enough.

ping measures small messages. brw moves data: the words read or write, check=simple or
check=full, size= with up to 1M, and off= say how. Without words it reads 4096 bytes.`,
		Example: "  lst add_test --batch b --from clients --to servers ping\n" +
			"  lst add_test --batch b --from clients --to servers --concurrency 8 brw write check=full size=1M",
		Annotations: usageText("add_test [--batch BATCH] [--loop #] [--concurrency #]  [--distribute #:#] [--from GROUP] [--to GROUP] TEST..."),
	}
	t := console.Test{}
	c.Flags().StringVarP(&t.Batch, "batch", "b", usualBatch, "`BATCH` to which the test is added")
	c.Flags().StringVarP(&t.From, "from", "f", "", "`GROUP` of the clients")
	c.Flags().StringVarP(&t.To, "to", "t", "", "`GROUP` of the servers")
	loop := c.Flags().StringP("loop", "l", "-1", "RPCs of each unit, as `N`; -1: without end")
	concurrency := c.Flags().StringP("concurrency", "c", "1", "units for each server of a client, as `N`")
	distribute := c.Flags().StringP("distribute", "d", "1:1", "how many `CLIENTS:SERVERS` belong together")
	c.RunE = func(c *cobra.Command, args []string) error {
		if t.From == "" || t.To == "" || len(args) == 0 {
			return errMissing
		}
		if err := numbersOf(&t, *loop, *concurrency, *distribute); err != nil {
			return err
		}
		if err := serviceOf(&t, args[0], args[1:]); err != nil {
			f, _ := errors.AsType[*failure](err)
			return failf("%s\nFailed to add test (%s)", f.text, args[0])
		}
		answers, err := selftest.OpAddTest.Call(c.Context(), g.client(), selftest.TestRequest{Key: g.key(), Test: t})
		if err != nil {
			return g.unreadable(c.Context(), noObject+noObject, refusal(err, "test", "Failed to add test")) // a line for each of the two groups, which Lustre's tool looks up first
		}
		return g.report(c, answers, "add test", "Test was added successfully")
	}
	return c
}

// numbersOf parses those options of a test whose values are numbers.
func numbersOf(t *console.Test, loop, concurrency, distribute string) error {
	n, err := strconv.ParseInt(loop, 10, 32)
	if err != nil || n == 0 {
		return failf("Invalid loop of test: %s", loop)
	}
	t.Loop = int32(max(n, -1))
	if t.Concurrency, err = strconv.Atoi(concurrency); err != nil || t.Concurrency < 1 || t.Concurrency > mostConcurrent {
		return failf("Invalid concurrency of test: %s", concurrency)
	}
	clients, servers, both := strings.Cut(distribute, ":")
	dist, err1 := strconv.ParseUint(clients, 10, 31)
	span, err2 := strconv.ParseUint(servers, 10, 31)
	if !both || cmp.Or(err1, err2) != nil || dist == 0 || span == 0 {
		return failf("Invalid distribution: %s", distribute)
	}
	t.Distribute, t.Span = int(dist), int(span)
	return nil
}

// serviceOf parses the name of a test, and the parameters that follow the name on the command line.
func serviceOf(t *console.Test, name string, words []string) (err error) {
	switch strings.ToLower(name) {
	case "ping":
		t.Service = wire.PingService
		if len(words) > 0 {
			return failf("Unknow parameter: %s", words[0])
		}
		return nil
	case "brw":
		t.Service = wire.BRWService
		t.BRW, err = brwParams(words)
		return err
	}
	return failf("Unknow test name %s", name)
}
