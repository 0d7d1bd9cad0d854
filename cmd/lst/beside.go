package main

import (
	"context"
	"fmt"
	"slices"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
)

// beside finds other batches that run beside the batch of run --wait on the same clients. The counters of a client do
// not tell the RPCs and errors of one batch from those of another, so run --wait counts all of them.
type beside struct {
	clients map[nid.ProcessID]bool // clients of the batch
	looked  map[string]bool        // names of the batches that were found to run
}

func newBeside(b *console.Batch) beside {
	s := beside{clients: map[nid.ProcessID]bool{}, looked: map[string]bool{b.Name: true}}
	for _, n := range b.Clients {
		s.clients[n.ID] = true
	}
	return s
}

// warn prints a warning for each other batch that runs on clients of the batch, once. It is no error: users may want
// the RPCs of both batches at the same time, and only they know whether the sums tell them something.
func (w *waiter) warn(ctx context.Context) error {
	list, err := selftest.OpBatches.Call(ctx, w.g.client(), control.None{})
	if err != nil {
		return refusal(err, "batch", "Failed to query batch")
	}
	for i := range list {
		name := list[i].Name
		if !list[i].Running || w.beside.looked[name] {
			continue
		}
		runs, shares, err := w.other(ctx, name)
		if err != nil {
			return refusal(err, "batch", "Failed to query batch")
		}
		w.beside.looked[name] = runs
		if !runs || !shares {
			continue
		}
		w.bar.end()
		if _, err := fmt.Fprintf(w.stderr, "warning: batch %s runs on the same clients: its RPCs and errors are counted, too\n", name); err != nil {
			return err
		}
	}
	return nil
}

// other reports whether another batch, which the console takes for running, has run since the start of run --wait, and
// whether it has clients of the batch. The console does not know of the end of a batch that no command has queried: so
// the first time, before the batch starts, other queries it.
func (w *waiter) other(ctx context.Context, name string) (runs, shares bool, err error) {
	b, err := selftest.OpBatch.Call(ctx, w.g.client(), selftest.Named{Name: name})
	if err != nil {
		return false, false, err
	}
	shares = slices.ContainsFunc(b.Clients, func(n console.Node) bool { return w.beside.clients[n.ID] })
	if !shares || !w.began.IsZero() {
		return true, shares, nil
	}
	answers, err := selftest.OpQuery.Call(ctx, w.g.client(), selftest.BatchRequest{Key: w.g.key(), Batch: name, Timeout: w.limit})
	n := tally(answers)
	return n.Running+n.Unknown > 0, shares, err
}
