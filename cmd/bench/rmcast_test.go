package main

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/spec"
)

// TestCastLines: goals G-RM-1 to G-RM-8 are measured with messages of 2048 bytes, which is the
// smallest size. The time is measured until all members have acknowledged, and until the last
// member has the bytes (RM-22, RM-A13). The figure of each line comes from a measurement. Where
// the goal is 0, no message is lost, duplicated or kept, and no connection is opened again
// (RM-23).
func TestCastLines(t *testing.T) {
	spec.Covers(t, "RM-22", "RM-23", "RM-A13", "G-RM-1", "G-RM-8")
	if testing.Short() {
		t.Skip("runs 60 processes for some seconds; skipped by -short")
	}
	t.Parallel()
	b := &bench{rounds: 1, stderr: os.Stderr}
	count := 0
	for _, g := range goals {
		if !strings.HasPrefix(g.id, "G-RM-") {
			continue
		}
		lines, err := b.measure(t.Context(), g.measure)
		if err != nil {
			t.Fatalf("%s: %v", g.id, err)
		}
		for _, l := range lines {
			switch {
			case l.skipped != "":
				t.Logf("%s: %s: %s", g.id, l.what, l.skipped)
			case l.basis == "" || math.IsNaN(l.ratio):
				t.Errorf("%s: %+v", g.id, l)
			case !l.free && !l.least && l.limit == 0 && l.ratio != 0:
				t.Errorf("%s: %s: %s", g.id, l.what, l.value())
			}
		}
		count += len(lines)
	}
	if count != 42 {
		t.Errorf("%d lines", count)
	}
}

// TestPlainCast: the plain program reaches all members and collects their acknowledgements in
// both modes of waiting, and counts datagrams that are not acknowledged.
func TestPlainCast(t *testing.T) {
	b := &bench{rounds: 1, stderr: os.Stderr}
	_, err := b.measure(t.Context(), func(b *measurement) {
		missing := b.inCastLab(4, func(l *castLab) {
			c := l.group(4, memberSetup{})
			defer c.Stop()
			for _, look := range []time.Duration{0, time.Millisecond} {
				took := must(worker.Ask[latencies](c.Crew[0], "plain", casterOrder{Bytes: 2048, Warm: 1, Count: 5, Look: look}))
				if len(took) != 5 || took.percentile(0) <= 0 {
					t.Errorf("looks for %v: %v", look, took)
				}
			}
			s := &castStreams{castProcesses: c, lab: l}
			s.blast(casterOrder{Bytes: 100, Count: 10})
			var came uint64
			if !lndtest.Poll(func() bool {
				came = 0
				for _, r := range s.reports() {
					came += r.Plain
				}
				return came == 3*10
			}) {
				t.Errorf("%d of 30 plain datagrams came", came)
			}
		})
		if missing != "" {
			t.Skip(missing)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReceipts: duplicate messages and altered messages are counted separately.
func TestReceipts(t *testing.T) {
	var r casterReceiver
	b := make([]byte, 100)
	from := ownAddr
	for _, number := range []uint64{0, 1, 200, 1} {
		fillMessage(b, number)
		r.take(from, b)
	}
	r.take(peerAddr, b) // this message has another origin
	b[50]++
	r.take(from, b)
	r.take(from, b[:7])
	fillMessage(b, maxNumber)
	r.take(from, b)
	r.take(from, make([]byte, largestFiller+1))
	if got, want := r.seen(), (casterReceipts{Messages: 4, Twice: 1, Wrong: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestLogP compares the times of a broadcast and a barrier, with latency and overhead 1, with times
// computed by hand.
func TestLogP(t *testing.T) {
	for _, tt := range []struct{ nodes, tree, dissemination int }{
		{2, 7, 5},  // the first send takes 1 unit and the payload 2; then acknowledgement and release take 2 each in the tree, and the one round of dissemination takes 2
		{3, 10, 7}, // with the tree, the root has handled both acknowledgements at 7, and sends the two releases at 7 and 8; the second one takes 2. Dissemination has two rounds.
		{4, 13, 8}, // with the tree, the first send takes 1 unit, and payload, acknowledgement and release take 2 each on each of two levels
		{1, 0, 0},  // a group of one member has nothing to do
	} {
		l := logP{nodes: tt.nodes, latency: 1, overhead: 1}
		if got := l.broadcast(l.treeBarrier); got != time.Duration(tt.tree) {
			t.Errorf("%d nodes, tree: %d, want %d", tt.nodes, got, tt.tree)
		}
		if got := l.broadcast(l.dissemination); got != time.Duration(tt.dissemination) {
			t.Errorf("%d nodes, dissemination: %d, want %d", tt.nodes, got, tt.dissemination)
		}
	}
}

// TestWithoutNORM: if the compiler or the library is missing, the result is the reason why there
// is no measurement.
func TestWithoutNORM(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	n, err := compileNORM(t.Context())
	if err != nil || n.missing == "" {
		t.Fatalf("got %+v, %v; want a reason why there is none", n, err)
	}
	n.remove()
}

// TestNORM: if NORM is installed, it sends to all receivers. Otherwise the result is the reason
// why there is no measurement.
func TestNORM(t *testing.T) {
	n, err := compileNORM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer n.remove()
	if n.missing != "" {
		t.Skip(n.missing) // skipped on build machines too, because nothing else needs the library
	}
	b := &bench{rounds: 1, stderr: os.Stderr}
	_, err = b.measure(t.Context(), func(b *measurement) {
		missing := b.inCastLab(3, func(l *castLab) {
			if took := n.stream(l, 3, 16, casterOrder{Bytes: 2048, Count: 40, Rate: 2000}); took <= 0 {
				t.Errorf("took %v", took)
			}
		})
		if missing != "" {
			t.Skip(missing)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
