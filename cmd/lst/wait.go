package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

// How often run --wait looks at the tests, and how long it waits, after an interrupt, for nodes to
// stop them.
const (
	lookInterval = 500 * time.Millisecond
	stopLimit    = 10 * time.Second
)

// testsFailed is the exit code of run --wait if RPCs have failed.
const testsFailed = 1

// waiter follows a batch to its end.
type waiter struct {
	g       *globals
	batch   string
	limit   time.Duration // time for the answer of a node
	clients progress
	began   time.Time
	bar     progressBar
	answers []console.Answer // of the last query
}

// runDoc is the end of run --wait in JSON.
type runDoc struct {
	Batch string `json:"batch"`
	totals
	Expected uint64      `json:"expected"` // requests of all tests without an error
	Seconds  float64     `json:"seconds"`  // time from start to end
	Nodes    []answerDoc `json:"nodes"`    // clients at the end
}

// runToEnd starts a batch and waits until its tests have ended.
func (g *globals) runToEnd(c *cobra.Command, name string, limit time.Duration) error {
	b, err := selftest.OpBatch.Call(c.Context(), g.client(), selftest.Named{Name: name})
	if err != nil {
		return noBatch(err, name, "Failed to start batch")
	}
	total, err := expected(&b)
	if err != nil {
		return err
	}
	w := &waiter{g: g, batch: name, limit: limit, bar: progressBar{total: total}}
	if cli.IsTerminal(c.ErrOrStderr()) && !g.json {
		w.bar.w = c.ErrOrStderr()
	}
	if err := w.look(c.Context()); err != nil {
		return err
	}
	w.began = time.Now()
	answers, err := g.start(c.Context(), name, limit)
	if err != nil {
		return err
	}
	if code := codeOf(answers); code != cli.OK {
		return cmp.Or(printFailures(c.ErrOrStderr(), answers, "Run batch"), silent(code))
	}
	if !g.json {
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%s is running now\n", name); err != nil {
			return err
		}
	}
	return w.follow(c)
}

// expected returns how many RPCs the clients of a batch send if none fails.
func expected(b *console.Batch) (total uint64, err error) {
	if len(b.Tests) == 0 {
		return 0, failf("batch %s has no tests to wait for", b.Name)
	}
	for i, t := range b.Tests {
		if t.Loop < 0 {
			return 0, failf("test %d of batch %s has no end: give tests a --loop, or run the batch without --wait", i+1, b.Name)
		}
		total += uint64(t.ClientCounts.Total) * uint64(t.Span) * uint64(t.Concurrency) * uint64(t.Loop)
	}
	return total, nil
}

// look asks the clients of the batch for their counters.
func (w *waiter) look(ctx context.Context) error {
	answers, err := w.g.counters(ctx, console.Target{Batch: w.batch}, w.limit)
	if err != nil {
		return refusal(err, "batch", "Failed to query batch")
	}
	w.clients.add(answers)
	return nil
}

// errEnded ends the waiting.
var errEnded = errors.New("the tests have ended")

// follow waits until the tests have ended. After an interrupt it stops them.
func (w *waiter) follow(c *cobra.Command) error {
	err := cli.Repeat(c.Context(), lookInterval, func() (err error) {
		w.answers, err = selftest.OpQuery.Call(c.Context(), w.g.client(), selftest.BatchRequest{Key: w.g.key(), Batch: w.batch, Timeout: w.limit})
		if err != nil {
			return refusal(err, "batch", "Failed to query batch")
		}
		if err := w.look(c.Context()); err != nil {
			return err
		}
		w.bar.show(w.clients.sum().RPCs, time.Since(w.began))
		if tally(w.answers).Running == 0 {
			return errEnded
		}
		return nil
	})
	w.bar.end()
	switch {
	case err == nil:
		return w.interrupted(c)
	case !errors.Is(err, errEnded):
		return err
	}
	return w.report(c)
}

// interrupted stops the batch.
func (w *waiter) interrupted(c *cobra.Command) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), stopLimit)
	defer cancel()
	if _, err := w.g.stop(ctx, c, w.batch, false); err != nil {
		return err
	}
	return failf("interrupted: batch %s is stopped", w.batch)
}

// report prints how the tests have ended.
func (w *waiter) report(c *cobra.Command) error {
	d := runDoc{
		Batch: w.batch, totals: w.clients.sum(), Expected: w.bar.total, Seconds: time.Since(w.began).Seconds(),
		Nodes: newAnswersDoc(w.answers).Nodes,
	}
	var err error
	if w.g.json {
		err = cli.JSON(c.OutOrStdout(), d)
	} else {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s [0] %s\n%d of %d RPCs in %.1f s, %d brw errors, %d ping errors\n",
			w.batch, tally(w.answers), d.RPCs, d.Expected, d.Seconds, d.BRWErrors, d.PingErrors)
	}
	code := codeOf(w.answers)
	if code == cli.OK && d.BRWErrors+d.PingErrors > 0 {
		code = testsFailed
	}
	return cmp.Or(err, printFailures(c.ErrOrStderr(), w.answers, "query"), silent(code))
}
