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

// TestInterruptedAdd: add_group deletes an empty group also after an interrupt.
func TestInterruptedAdd(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	d := newDaemon()
	d.run = func(ctx context.Context) ([]console.Answer, error) {
		interrupt()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, stderr, code := d.lst(ctx, t, "add_group", "g", "127.0.0.1@tcp"); len(d.deleted) != 1 || code == cli.OK {
		t.Errorf("%q are deleted, %q, exit code %d", d.deleted, stderr, code)
	}
}
