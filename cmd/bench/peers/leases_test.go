package main

import (
	"testing"
	"time"
)

// TestLeases runs the script in small on both systems.
func TestLeases(t *testing.T) {
	o := leaseOptions{
		clients: 30, servers: 3, interval: 500 * time.Millisecond, ttl: 2 * time.Second, measure: time.Second, deaths: 10, connectLimit: 30 * time.Second,
	}
	for _, system := range keepers {
		r, err := o.script(system)
		if err != nil {
			t.Fatalf("%s: %v", system, err)
		}
		if r.Lost != 0 || r.Missed != 0 || r.Bytes <= 0 || r.Segments <= 0 || r.ServerCPU <= 0 || r.ClientCPU <= 0 || r.Dead != 10 {
			t.Errorf("%s: %+v", system, r)
		}
		// A client is heard of at most an interval before it dies.
		if least := o.ttl - o.interval; r.Detect < least || r.Worst < r.Detect || r.Half < least {
			t.Errorf("%s: %+v", system, r)
		}
		t.Logf("%+v", r)
	}
}

// TestCheckLeases: what cannot be run is refused.
func TestCheckLeases(t *testing.T) {
	for _, args := range [][]string{
		{"--servers", "0"},
		{"--clients", "3"},
		{"--clients", "20000"},
		{"--ttl", "7500ms"},
		{"--ttl", "6s"},
		{"--deaths", "5001"},
		{"--systems", "consul"},
		{"--what"},
	} {
		if got := run(append([]string{"leases"}, args...)); got != 2 {
			t.Errorf("%v: exit %d, want 2", args, got)
		}
	}
}

// TestCountCosts: what a count takes is not taken for work of the system.
func TestCountCosts(t *testing.T) {
	var ballast []*[64]byte
	for range 200_000 { // something to collect
		ballast = append(ballast, new([64]byte))
	}
	f := count()
	if f.Counted <= f.CPU || f.Memory <= int64(len(ballast)*64) {
		t.Errorf("%+v", f)
	}
}
