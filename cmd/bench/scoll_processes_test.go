package main

import (
	"os"
	"testing"

	"ulnet/lnd/lndtest/needs"
)

// TestCollective: processes compute sums over both kinds of trees, with payload and bulk data,
// and end when their standard input ends.
func TestCollective(t *testing.T) {
	var c collectiveGroup
	b := &bench{stderr: os.Stderr}
	_, err := b.measure(t.Context(), func(b *measurement) {
		c = newCollective(b, 5, memberSetup{Tree: bulkTree, BusyPoll: busyPoll})
		for _, run := range []collectiveRun{
			{Bytes: 100, Warm: 1, Count: 3},
			{Bytes: 100, Warm: 1, Count: 3, Raw: true},
			{Bytes: 100_000, Warm: 1, Count: 3, Bulk: true},
			{Bytes: 100_000, Warm: 1, Count: 3, Bulk: true, Segment: 16 << 10},
		} {
			of := c.contender("this", run)
			took, err := of.run(of)
			if err != nil || len(took) != run.Count || took.percentile(0) <= 0 {
				t.Errorf("%+v: %v, %v", run, took, err)
			}
			if len(of.cpu) != 1 || of.cpu[0] <= 0 {
				t.Errorf("%+v: CPU time %v", run, of.cpu)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range c.Crew {
		if err := p.Stop(); err != nil {
			t.Errorf("member %d does not end with its standard input: %v", i, err)
		}
	}
}

// TestOpenMPI: if Open MPI is installed, it runs. Otherwise the result is the reason why there
// is no measurement.
func TestOpenMPI(t *testing.T) {
	m, err := compileMPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.missing != "" {
		needs.Missing(t, m.missing)
	}
	run := collectiveRun{Bytes: 64, Warm: 1, Count: 3}
	if took, err := m.run(t.Context(), 2, run); err != nil || len(took) != 3 || took.percentile(0) <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	m.remove()
	if _, err := os.Stat(m.folder); !os.IsNotExist(err) {
		t.Errorf("the program is still there: %v", err)
	}
}

func TestWithoutOpenMPI(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	m, err := compileMPI(t.Context())
	if err != nil || m.missing == "" {
		t.Fatalf("got %+v, %v; want a reason why there is none", m, err)
	}
	m.remove()
	l := line{what: "p50", limit: 2, skipped: m.missing}
	if l.outcome() != "skipped" || l.value() != "- ("+m.missing+")" {
		t.Errorf("%s, %s", l.value(), l.outcome())
	}
}

func TestPercentile(t *testing.T) {
	l := latencies{5, 1, 4, 2, 3}
	for _, tt := range []struct{ part, want float64 }{{0, 1}, {0.5, 3}, {0.99, 5}, {1, 5}} {
		if got := l.percentile(tt.part); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.part, got, tt.want)
		}
	}
}
