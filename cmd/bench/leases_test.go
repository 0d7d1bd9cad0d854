package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/bench/rival"
)

// TestLeases runs a small version of the script with both systems.
func TestLeases(t *testing.T) {
	if testing.Short() {
		t.Skip("runs clients that die, for some seconds; skipped by -short")
	}
	t.Parallel()
	trial := leaseTrial{clients: 30, deaths: 10, measured: time.Second}
	trial.Keeping = rival.Keeping{Servers: 3, Interval: time.Second, TTL: 6 * time.Second}
	programs := map[string]string{"health": ""}
	if peers := peersForTest(t); peers != "" {
		programs["etcd"] = peers
	}
	for system, program := range programs {
		var l leases
		b := &bench{stderr: os.Stderr}
		if _, err := b.measure(t.Context(), func(b *measurement) { l = trial.run(b, system, program) }); err != nil {
			t.Error(err)
			continue
		}
		if l.lost != 0 || l.missed != 0 || l.bytes <= 0 || l.segments <= 0 || l.serverCPU <= 0 || l.clientCPU <= 0 || l.dead != 10 {
			t.Errorf("%+v", l)
		}
		// A server detects a death when the TTL has passed since the last message of the client. That message came
		// up to an interval before the death, or earlier on a busy machine, so the time from the death to its
		// detection may be shorter than the TTL.
		if least := trial.TTL - 3*trial.Interval; l.detect < least || l.worst < l.detect || l.half < least {
			t.Errorf("%+v", l)
		}
		t.Logf("%+v", l)
	}
}

// TestLeaseLines: the lines contain the ratios between both systems, and the values from which
// they were computed.
func TestLeaseLines(t *testing.T) {
	ours := []leases{{serverCPU: 10, half: 2 * time.Second}, {serverCPU: 30, half: 4 * time.Second}}
	theirs := []leases{{serverCPU: 40, half: 8 * time.Second}, {system: "etcd", serverCPU: 60, half: 8 * time.Second, missed: 2}}
	trial := leaseTrial{clients: 10, Keeping: rival.Keeping{Servers: 3}}
	lines := trial.lines(ours, theirs)
	if len(lines) != len(leaseFigureList) || len(lines) != len(skipped(leaseFigureList, "why")) {
		t.Fatalf("%d lines", len(lines))
	}
	first, last := lines[0], lines[len(lines)-1]
	if first.ratio != 0.375 || last.ratio != 0.375 || first.bound() != "no goal" {
		t.Errorf("%+v, %+v", first, last)
	}
	if !strings.HasPrefix(first.basis, "20.00 : 50.00 % of a core; 10 clients, 3 servers") || !strings.HasSuffix(first.basis, "loopback; etcd gave up 0 living clients and missed 2 deaths") {
		t.Errorf("basis %q", first.basis)
	}
	if l := skipped(leaseFigureList, "no go")[0]; l.outcome() != "skipped" || l.value() != "- (no go)" {
		t.Errorf("%+v", l)
	}
}

// TestBuildPeers: if the source of peers is missing, buildPeers returns a reason, not an error.
func TestBuildPeers(t *testing.T) {
	t.Chdir(t.TempDir())
	if p, err := buildPeers(t.Context(), peersModule); err != nil || p.folder != "" || !strings.Contains(p.missing, "cmd/bench/peers") {
		t.Errorf("got %+v, %v", p, err)
	}
}
