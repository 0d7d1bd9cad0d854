package main

import (
	"context"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console"
)

// TestAbandon: if run --wait ends before the tests, it stops them. It says that they are stopped
// only if all clients have stopped, and names the clients that have not.
func TestAbandon(t *testing.T) {
	spec.Covers(t, "ST-45")
	refused, lost := console.Answer{ID: at(2), Status: syscall.EPERM}, console.Answer{ID: at(3), Failed: syscall.ETIMEDOUT}
	running := console.Answer{ID: at(1), Active: 1}
	for _, c := range []struct {
		name   string
		set    func(d *daemon, interrupt func())
		stderr string
		code   int
	}{
		{"interrupt", func(d *daemon, interrupt func()) { d.queryOnce(interrupt, running) }, "interrupted: batch b is stopped\n", localFail},
		{"interrupt while it starts", func(d *daemon, interrupt func()) {
			d.run = func(ctx context.Context) ([]console.Answer, error) {
				interrupt()
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}, "interrupted: batch b is stopped\n", localFail},
		{
			"a client refuses to stop", func(d *daemon, interrupt func()) {
				d.queryOnce(interrupt, running)
				d.stop = says(running, refused)
			},
			"operation stop failed on 12345-2@gni: Operation not permitted\ninterrupted: batch b may be running: stop it with 'lst stop b'\n", nodeError,
		},
		{
			"a client does not answer the stop", func(d *daemon, interrupt func()) {
				d.queryOnce(interrupt, running)
				d.stop = says(lost)
			},
			"stop RPC failed on 12345-3@gni: Unknown error -110\ninterrupted: batch b may be running: stop it with 'lst stop b'\n", rpcError,
		},
		{
			"a client refuses to run", func(d *daemon, _ func()) { d.run = says(running, refused) },
			"operation Run batch failed on 12345-2@gni: Operation not permitted\nbatch b is stopped\n", nodeError,
		},
		{"the query fails", func(d *daemon, _ func()) {
			d.queryOnce(func() {}, running)
			then := d.query
			d.query = func(ctx context.Context) ([]console.Answer, error) {
				if a, _ := then(ctx); a[0].Active == 0 {
					return a, nil
				}
				return nil, syscall.ESHUTDOWN
			}
		}, "Session is shutting down: batch b is stopped\n", localFail},
		{
			"the console cannot stop it", func(d *daemon, _ func()) {
				d.run = says(refused)
				d.stop = func(context.Context) ([]console.Answer, error) { return nil, syscall.EACCES }
			},
			"operation Run batch failed on 12345-2@gni: Operation not permitted\n" +
				"batch b may be running: stop it with 'lst stop b' (Unmatched session key or not root)\n", nodeError,
		},
		{
			"a client does not answer", func(d *daemon, _ func()) { d.query, d.stop = says(lost), says(lost) },
			"query RPC failed on 12345-3@gni: Unknown error -110\nstop RPC failed on 12345-3@gni: Unknown error -110\nbatch b may be running: stop it with 'lst stop b'\n",
			rpcError,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			d := newDaemon()
			c.set(d, interrupt)
			if _, stderr, code := d.lst(ctx, t, "run", "--wait", "b"); stderr != c.stderr || code != c.code || d.stops != 1 {
				t.Errorf("%q, exit code %d, %d stops", stderr, code, d.stops)
			}
		})
	}
}

// TestRefusedStart: if the console refuses to start a batch, no client was asked to run it, so the
// command does not stop it.
func TestRefusedStart(t *testing.T) {
	d := newDaemon()
	d.run = func(context.Context) ([]console.Answer, error) { return nil, syscall.EACCES }
	if _, stderr, code := d.lst(t.Context(), t, "run", "--wait", "b"); stderr != "Unmatched session key or not root\n" || code != localFail || d.stops != 0 {
		t.Errorf("%q, exit code %d, %d stops", stderr, code, d.stops)
	}
}

// TestEnded: clients that do not answer count as running until some queries in a row found no
// other client running.
func TestEnded(t *testing.T) {
	spec.Covers(t, "ST-45")
	lost, both, done := counted{Unknown: 1}, counted{Unknown: 1, Running: 1}, counted{Stopped: 2}
	for _, c := range []struct {
		looks []counted
		want  int // number of the query after which the waiting ends
	}{
		{[]counted{done}, 1},
		{[]counted{lost, done}, 2},
		{[]counted{lost, lost, lost}, 3},
		{[]counted{both, lost, both, lost, lost, lost}, 6},
	} {
		w, got := &waiter{}, 0
		for i, n := range c.looks {
			if w.ended(n) {
				got = i + 1
				break
			}
		}
		if got != c.want {
			t.Errorf("%v: %d", c.looks, got)
		}
	}
}
