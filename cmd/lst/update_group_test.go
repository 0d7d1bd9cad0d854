package main

import (
	"context"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console"
)

// TestRemoveMany: more nodes than a request to the daemon has are removed with several requests. The first that leaves the group without
// nodes deletes it, so that a later one finds no group; then all nodes are gone. What nodes have answered before is shown, also
// before an error.
func TestRemoveMany(t *testing.T) {
	spec.Covers(t, "ST-43")
	const failed = "operation update failed on 12345-1@gni: Operation not permitted\n"
	refused := []console.Answer{{ID: at(1), Status: syscall.EPERM}}
	for name, c := range map[string]struct {
		answers []console.Answer
		errors  []error // of the requests one after the other
		stderr  string
		code    int
	}{
		"all":                   {nil, []error{nil, nil}, "", 0},
		"empty after half":      {nil, []error{nil, syscall.ENOENT}, "", 0},
		"a node stays":          {refused, []error{nil, syscall.ENOENT}, failed, nodeError},
		"in use after half":     {refused, []error{nil, syscall.EBUSY}, failed + "Failed to update group: Device or resource busy\n", localFail},
		"no group":              {nil, []error{syscall.ENOENT}, "Can't find group in current session\n", localFail},
		"in use from the start": {nil, []error{syscall.EBUSY}, "Failed to update group: Device or resource busy\n", localFail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, calls, nodes := newDaemon(), 0, 0
			d.removeNodes = func(_ context.Context, r selftest.GroupRequest) ([]console.Answer, error) {
				calls++
				nodes += len(r.Nodes)
				if err := c.errors[calls-1]; err != nil {
					return nil, cli.Errnof(err.(syscall.Errno), "the console refuses")
				}
				return c.answers, nil
			}
			_, stderr, code := d.lst(t.Context(), t, "update_group", "g", "--remove", "10.0.[0-3].[1-200]@tcp")
			if stderr != c.stderr || code != c.code || calls != len(c.errors) || calls == 2 && nodes != 800 {
				t.Errorf("%q, exit code %d, %d requests with %d nodes", stderr, code, calls, nodes)
			}
		})
	}
}
