package main

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console"
)

// TestLeavers: nodes that do not leave the session are named, and the exit code is 0 as with
// Lustre's tool.
func TestLeavers(t *testing.T) {
	spec.Covers(t, "ST-43")
	const warnings = "warning: operation end session failed on 12345-2@gni: Operation not permitted\nwarning: end session RPC failed on 12345-3@gni: Unknown error -110\n"
	for _, c := range []struct {
		args   []string
		stdout string // part of the output
		stderr string
	}{
		{[]string{"end_session"}, "", warnings},
		{[]string{"end_session", "--json"}, `"error": "no answer: connection timed out"`, warnings},
		{[]string{"del_group", "g"}, "Group is deleted\n", warnings},
		{[]string{"del_group", "g", "--json"}, `"error": "operation not permitted"`, warnings},
		{[]string{"add_batch", "b", "--json"}, `"name": "b"`, ""},
	} {
		d := newDaemon()
		d.remove = []console.Answer{{ID: at(1)}, {ID: at(2), Status: syscall.EPERM}, {ID: at(3), Failed: syscall.ETIMEDOUT}}
		stdout, stderr, code := d.lst(t.Context(), t, c.args...)
		if !strings.Contains(stdout, c.stdout) || stderr != c.stderr || code != cli.OK {
			t.Errorf("%v: %q, %q, exit code %d", c.args, stdout, stderr, code)
		}
	}
}

// TestInterruptedAdd: add_group deletes an empty group also after an interrupt, whatever the
// console is doing then. The console's interrupted command may still use the group for a moment. A group with nodes that
// was there before stays, although none of its nodes is in the session.
func TestInterruptedAdd(t *testing.T) {
	spec.Covers(t, "ST-43")
	waits := func(interrupt func()) func(context.Context) {
		return func(ctx context.Context) {
			interrupt()
			<-ctx.Done()
		}
	}
	hangs := func(interrupt func()) func(context.Context) ([]console.Answer, error) {
		return func(ctx context.Context) ([]console.Answer, error) {
			waits(interrupt)(ctx)
			return nil, ctx.Err()
		}
	}
	for _, c := range []struct {
		name    string
		set     func(d *daemon, interrupt func())
		deleted int
	}{
		{"while nodes are asked", func(d *daemon, interrupt func()) { d.run = hangs(interrupt) }, 1},
		{"the command still uses the group", func(d *daemon, interrupt func()) { d.run, d.busy = hangs(interrupt), 2 }, 1},
		{"while the group is made", func(d *daemon, interrupt func()) { d.add = waits(interrupt) }, 1},
		{"before the group is made", func(d *daemon, interrupt func()) { d.add, d.none = waits(interrupt), true }, 0},
		{"the group with a node was there", func(d *daemon, interrupt func()) { d.add, d.down = waits(interrupt), 1 }, 0},
		{"a node of the group is down", func(d *daemon, interrupt func()) { d.run, d.down = hangs(interrupt), 1 }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			d := newDaemon()
			c.set(d, interrupt)
			_, stderr, code := d.lst(ctx, t, "add_group", "g", "127.0.0.1@tcp")
			if len(d.deleted) != c.deleted || code == cli.OK || strings.Contains(stderr, "Failed to delete") || strings.Contains(stderr, "Can't find") {
				t.Errorf("%q are deleted, %q, exit code %d", d.deleted, stderr, code)
			}
		})
	}
}

// TestBusyGroup: without an interrupt a group that a command uses stays, and add_group says so.
func TestBusyGroup(t *testing.T) {
	d := newDaemon()
	d.run, d.busy = says(console.Answer{ID: at(1), Failed: syscall.ETIMEDOUT}), 1
	if _, stderr, code := d.lst(t.Context(), t, "add_group", "g", "127.0.0.1@tcp"); len(d.deleted) != 0 || code != localFail || !strings.Contains(stderr, "Failed to delete group: Device or resource busy") {
		t.Errorf("%q are deleted, %q, exit code %d", d.deleted, stderr, code)
	}
}
