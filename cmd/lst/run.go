package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

// queryTimeout is how long a command waits for a node that is asked what it runs.
const queryTimeout = 30 * time.Second

func runCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "run [--timeout SECONDS] [--wait] [BATCH]", Short: "Start the tests of a batch",
		Long: `Starts all tests of a batch. With --wait the command shows how far they are and ends
when they have ended, with 1 if one of their RPCs failed or was not sent. That needs tests with a --loop.
RPCs and errors of other batches that run on the same clients are counted, too; a warning names such a batch.
If it ends before them, after an interrupt or an error, it stops the batch.`,
		Example:     "  lst run b\n  lst run --wait b",
		Annotations: usageText("run [--timeout TIME] [NAME]"),
	}
	timeout := c.Flags().StringP("timeout", "t", "5", "wait so many `SECONDS` for each node, 3 to 30")
	wait := c.Flags().Bool("wait", false, "wait for the end of the tests, and show their progress")
	c.RunE = func(c *cobra.Command, args []string) error {
		name, err := batchName(args)
		if err != nil {
			return err
		}
		limit, err := seconds(*timeout, "timeout")
		if err != nil {
			return err
		}
		if *wait {
			return g.runToEnd(c, name, limit)
		}
		answers, err := g.start(c.Context(), name, limit)
		if err != nil {
			return err
		}
		return g.report(c, answers, "Run batch", name+" is running now")
	}
	return c
}

// start starts a batch.
func (g *globals) start(ctx context.Context, name string, limit time.Duration) ([]console.Answer, error) {
	answers, err := selftest.OpRun.Call(ctx, g.client(), selftest.BatchRequest{Key: g.key(), Batch: name, Timeout: limit})
	return answers, noBatch(err, name, "Failed to start batch")
}

// noBatch rewords an error as Lustre's tool does. If there is no such batch, the text is about
// counting the nodes of the batch, because that is what Lustre's tool does first.
func noBatch(err error, name, what string) error {
	if errno, ok := errnoOf(err); ok && (errno == syscall.ENOENT || errno == syscall.ESRCH) {
		return plainRefusal(err, "Failed to get count of nodes from "+name)
	}
	return refusal(err, "batch", what)
}

func stopCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "stop [--force] [BATCH]", Short: "Stop the tests of a batch",
		Long: `Stops all tests of a batch, and waits for their end: each unit of a test ends after the
RPC that is under way. --force ends these RPCs too.`,
		Example:     "  lst stop b",
		Annotations: usageText("stop [--force] BATCH_NAME"),
	}
	force := c.Flags().BoolP("force", "f", false, "abort the RPCs that are under way")
	c.RunE = func(c *cobra.Command, args []string) error {
		name, err := batchName(args)
		if err != nil {
			return err
		}
		answers, err := g.stop(c.Context(), c, name, *force)
		if err != nil {
			return err
		}
		return g.report(c, answers, "stop", "Batch is stopped")
	}
	return c
}

// Times between two queries whether a batch has stopped: shortPause at first, because most tests end
// at once, and later longPause.
const (
	shortPause = 50 * time.Millisecond
	longPause  = time.Second
)

// stop stops a batch, and waits until no test of it is running, or a node fails. Like Lustre's tool
// it prints each second how many nodes have not stopped.
func (g *globals) stop(ctx context.Context, c *cobra.Command, name string, force bool) ([]console.Answer, error) {
	r := selftest.BatchRequest{Key: g.key(), Batch: name, Force: force, Timeout: queryTimeout}
	answers, err := selftest.OpStop.Call(ctx, g.client(), r)
	if err != nil || codeOf(answers) != cli.OK {
		return answers, noBatch(err, name, "Failed to stop batch")
	}
	for began := time.Now(); ; {
		answers, err := selftest.OpQuery.Call(ctx, g.client(), r)
		if err != nil || codeOf(answers) != cli.OK {
			return answers, noBatch(err, name, "Failed to stop batch")
		}
		left, wait := tally(answers).Running, shortPause
		if left == 0 {
			return answers, nil
		}
		if time.Since(began) > longPause {
			wait = longPause
			if !g.json {
				fmt.Fprintf(c.OutOrStdout(), "%d batch in stopping\n", left)
			}
		}
		if !pause(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}
