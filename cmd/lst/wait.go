package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/selftest/console"
)

// Times of run --wait.
const (
	lookInterval = 500 * time.Millisecond // time between two queries
	stopLimit    = 10 * time.Second       // longest wait until the tests have stopped, if run --wait ends before them and stops them
)

// unansweredLimit is how many queries in a row must find no running client before run --wait gives up the
// clients that do not answer.
const unansweredLimit = 3

// testsFailed is the exit code of run --wait if RPCs have failed, or were not sent.
const testsFailed = 1

// waiter follows a batch to its end.
type waiter struct {
	g       *globals
	batch   string
	limit   time.Duration // time for the answer of a node
	clients progress
	beside  beside
	began   time.Time // when the batch was started; zero: it has not been started
	bar     progressBar
	stderr  io.Writer
	answers []console.Answer // answers of the clients to the latest query
	stats   []console.Answer // answers of the clients to the latest question for their counters

	unanswered int // number of queries in a row that found no running client, although some clients did not answer
}

// runDoc is what run --wait prints in JSON at its end.
type runDoc struct {
	Batch string `json:"batch"`
	totals
	Expected uint64      `json:"expected"` // requests that all tests send if none fails
	Seconds  float64     `json:"seconds"`  // time from start to end
	Nodes    []answerDoc `json:"nodes"`    // answers of the clients to the last query
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
	w := &waiter{g: g, batch: name, limit: limit, bar: progressBar{total: total}, beside: newBeside(&b), stderr: c.ErrOrStderr()}
	if cli.IsTerminal(c.ErrOrStderr()) && !g.json {
		w.bar.w = c.ErrOrStderr()
	}
	if err := w.look(c.Context()); err != nil {
		return err
	}
	if code := codeOf(w.stats); code != cli.OK { // without the counters from before the start, errors cannot be told from earlier ones
		return cmp.Or(printFailures(c.ErrOrStderr(), w.stats, "stat"), silent(code))
	}
	if err := w.begin(c); err != nil {
		if _, refused := errnoOf(err); refused {
			return err // the console has refused the request before it has asked any client: there is nothing to stop
		}
		return w.abandon(c, err)
	}
	if err := w.follow(c.Context()); !errors.Is(err, errEnded) {
		return w.abandon(c, err)
	}
	err = w.report(c)
	if codeOf(w.answers) != cli.OK {
		return w.abandon(c, err)
	}
	return err
}

// begin starts the batch. After an error some clients may run it.
func (w *waiter) begin(c *cobra.Command) error {
	w.began = time.Now()
	answers, err := w.g.start(c.Context(), w.batch, w.limit)
	if err != nil {
		return err
	}
	if code := codeOf(answers); code != cli.OK {
		return cmp.Or(printFailures(c.ErrOrStderr(), answers, "Run batch"), silent(code))
	}
	if !w.g.json {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s is running now\n", w.batch)
	}
	return err
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

// look asks the clients of the batch for their counters. It warns of other batches that count, too.
func (w *waiter) look(ctx context.Context) error {
	if err := w.warn(ctx); err != nil {
		return err
	}
	answers, err := w.g.counters(ctx, console.Target{Batch: w.batch}, w.limit)
	if err != nil {
		return refusal(err, "batch", "Failed to query batch")
	}
	w.stats = answers
	w.clients.add(answers)
	return nil
}

// errEnded ends the waiting.
var errEnded = errors.New("the tests have ended")

// follow waits until the tests have ended, and returns errEnded. After an interrupt it returns nil.
func (w *waiter) follow(ctx context.Context) error {
	defer w.bar.end()
	return cli.Repeat(ctx, lookInterval, func() (err error) {
		w.answers, err = selftest.OpQuery.Call(ctx, w.g.client(), selftest.BatchRequest{Key: w.g.key(), Batch: w.batch, Timeout: w.limit})
		if err != nil {
			return refusal(err, "batch", "Failed to query batch")
		}
		if err := w.look(ctx); err != nil {
			return err
		}
		w.bar.show(w.clients.sum().RPCs, time.Since(w.began))
		if w.ended(tally(w.answers)) {
			return errEnded
		}
		return nil
	})
}

// ended reports whether the waiting is over: no client has answered that it runs a test, and either
// all clients have answered, or this is the unansweredLimit-th such query in a row.
func (w *waiter) ended(n counted) bool {
	if n.Running > 0 {
		w.unanswered = 0
		return false
	}
	w.unanswered++
	return n.Unknown == 0 || w.unanswered == unansweredLimit
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
	return cmp.Or(err, printFailures(c.ErrOrStderr(), w.answers, "query"), w.judge(c, &d))
}

// judge returns the exit code for the end of the tests, and prints why they have failed if the counts do not show it.
func (w *waiter) judge(c *cobra.Command, d *runDoc) error {
	switch code := codeOf(w.answers); {
	case code != cli.OK:
		return silent(code)
	case codeOf(w.stats) != cli.OK:
		return cmp.Or(printFailures(c.ErrOrStderr(), w.stats, "stat"), silent(codeOf(w.stats)))
	case d.BRWErrors+d.PingErrors > 0:
		return silent(testsFailed)
	case d.RPCs < d.Expected:
		f := failf("%d of %d RPCs were sent although none has failed: see which nodes have the tests (lst list_batch, lst query), and whether another command has stopped them", d.RPCs, d.Expected)
		f.code = testsFailed
		return f
	}
	return nil
}
