package main

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console"
)

// counts returns an operation of the console for which a client has these counters of RPCs and of errors, one pair for each call
// and the last pair for all further calls. A negative number of RPCs is a call without an answer.
func counts(pairs ...[2]int) func(context.Context) ([]console.Answer, error) {
	calls := new(atomic.Int64)
	return func(context.Context) ([]console.Answer, error) {
		p := pairs[min(int(calls.Add(1)), len(pairs))-1]
		if p[0] < 0 {
			return []console.Answer{{ID: at(1), Failed: syscall.ETIMEDOUT}}, nil
		}
		a := statOf(1, 0, 0, 0)
		a.Stat.RPC.Sent, a.Stat.Framework.BRWErrors = uint32(p[0]), uint32(p[1])
		return []console.Answer{a}, nil
	}
}

// TestNotRun: run --wait fails if clients have sent fewer RPCs than the tests have, although none has failed, and if the counters of a client
// are not known at the start or at the end. The batch has one test of ten RPCs.
func TestNotRun(t *testing.T) {
	spec.Covers(t, "ST-45")
	const short = " of 10 RPCs were sent although none has failed: see which nodes have the tests (lst list_batch, lst query), and whether another command has stopped them\n"
	const lost = "stat RPC failed on 12345-1@gni: Unknown error -110\n"
	for name, c := range map[string]struct {
		stat   func(context.Context) ([]console.Answer, error)
		stderr string
		code   int
		runs   int64
	}{
		"all":                    {counts([2]int{5, 0}, [2]int{15, 0}), "", 0, 1},
		"more, of another batch": {counts([2]int{5, 0}, [2]int{16, 0}), "", 0, 1},
		"no client":              {says(), "0" + short, testsFailed, 1},
		"stopped":                {counts([2]int{5, 0}, [2]int{14, 0}), "9" + short, testsFailed, 1},
		"an error":               {counts([2]int{5, 0}, [2]int{14, 1}), "", testsFailed, 1},
		"unknown at the start":   {counts([2]int{-1}, [2]int{15, 3}), lost, rpcError, 0},
		"unknown at the end":     {counts([2]int{5, 0}, [2]int{-1}), lost, rpcError, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, runs := newDaemon(), new(atomic.Int64)
			d.tests = []console.TestInfo{{Test: console.Test{Loop: 10, Span: 1, Concurrency: 1}, ClientCounts: console.Counts{Total: 1}}}
			d.stat = c.stat
			d.run = func(context.Context) ([]console.Answer, error) {
				runs.Add(1)
				return nil, nil
			}
			d.query = says()
			stdout, stderr, code := d.lst(t.Context(), t, "run", "--wait", "b")
			if stderr != c.stderr || code != c.code || runs.Load() != c.runs || strings.Contains(stdout, "RPCs in") != (c.runs > 0) {
				t.Errorf("%q, %q, exit code %d, run %d times", stdout, stderr, code, runs.Load())
			}
		})
	}
}

// TestBeside: run --wait warns once of each other batch that runs on its clients, from before its start or from later
// on, because the RPCs of both are counted.
func TestBeside(t *testing.T) {
	spec.Covers(t, "ST-45")
	const warning = "warning: batch other runs on the same clients: its RPCs and errors are counted, too\n"
	for name, c := range map[string]struct {
		other  string
		from   int64  // number of the request for batches from which on the other batch runs
		active uint32 // number of its tests that a client runs
		stderr string
	}{
		"runs before":                 {"other", 1, 1, warning},
		"has ended, and not queried":  {"other", 1, 0, ""},
		"starts later":                {"other", 2, 1, warning},
		"starts later, and has ended": {"other", 2, 0, warning},
		"other clients":               {"other2", 1, 1, ""},
		"the batch itself":            {"b", 2, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, asked, ended := newDaemon(), new(atomic.Int64), new(atomic.Bool)
			d.others = func() []console.Batch {
				return []console.Batch{{Name: "idle"}, {Name: c.other, Running: asked.Add(1) >= c.from && !ended.Load()}}
			}
			d.queryOther = func() uint32 {
				ended.Store(c.active == 0)
				return c.active
			}
			d.stat = counts([2]int{5, 0}, [2]int{6, 0})
			d.queryOnce(func() {}, console.Answer{ID: at(1), Active: 1})
			if _, stderr, code := d.lst(t.Context(), t, "run", "--wait", "b"); stderr != c.stderr || code != 0 || asked.Load() < 2 {
				t.Errorf("%q, exit code %d after %d requests for batches", stderr, code, asked.Load())
			}
		})
	}
}
