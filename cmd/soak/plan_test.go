package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPlanFollowsFromTheSeed(t *testing.T) {
	kinds, err := tcp.parseFaults("all")
	if err != nil {
		t.Fatal(err)
	}
	once := newPlan(1, four, time.Minute, kinds)
	if diff := cmp.Diff(once, newPlan(1, four, time.Minute, kinds)); diff != "" {
		t.Errorf("one seed, two plans:\n%s", diff)
	}
	if cmp.Equal(once, newPlan(2, four, time.Minute, kinds)) {
		t.Error("two seeds, one plan")
	}
}

// TestPlan: every kind of fault occurs, with valid parameters, and ends before the calm part of the run.
// The faults of one link or worker do not overlap.
func TestPlan(t *testing.T) {
	all, err := tcp.parseFaults("all")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.IntRange(1, 600).Draw(t, "seconds")) * time.Second
		hosts := layout{
			workers: rapid.IntRange(2, maxHosts).Draw(t, "hosts"), rails: rapid.IntRange(1, maxRails).Draw(t, "rails"),
			routers: rapid.IntRange(0, 2).Draw(t, "routers"), net: tcp,
		}
		type lane struct {
			host, link int
			ofProcess  bool
		}
		busy := make(map[lane]time.Duration)
		var last time.Duration
		for _, f := range newPlan(rapid.Uint64().Draw(t, "seed"), hosts, length, all) {
			at := lane{f.Host, f.Link, f.Kind.ofProcess()}
			if f.At < last || f.At < busy[at] || f.For < 0 || f.Host < 0 || f.Host >= hosts.hosts() || f.Link >= len(hosts.links(f.Host)) {
				t.Fatalf("%v begins at %v, the one before at %v, its place is busy until %v", &f, f.At, last, busy[at])
			}
			if f.At+f.For > hosts.faultsEnd(length) {
				t.Fatalf("%v ends too late", &f)
			}
			if err := f.Wire.Validate(); err != nil {
				t.Fatalf("%v: %v", &f, err)
			}
			last, busy[at] = f.At, f.At+f.For
		}
	})
	seen := make(map[faultKind]bool)
	for _, f := range newPlan(1, four, 10*time.Minute, all) {
		seen[f.Kind] = true
	}
	if len(seen) != int(faultKinds) {
		t.Errorf("in ten minutes only %d of %d kinds", len(seen), faultKinds)
	}
}

// four is a layout of four workers on one net.
var four = layout{workers: 4, rails: 1, net: tcp}

// TestLayout checks the nets, addresses and routes of workers and routers.
func TestLayout(t *testing.T) {
	l := layout{workers: 2, routers: 1, rails: 2, net: mixed}
	var got []string
	for host := range l.hosts() {
		got = append(got, l.networks(host)+"; "+l.routes(host))
	}
	want := []string{
		"tcp(10.77.0.1,10.77.1.1); o2ib 10.77.0.3@tcp",
		"o2ib(10.77.2.2,10.77.3.2); tcp 10.77.2.3@o2ib",
		"tcp(10.77.0.3,10.77.1.3),o2ib(10.77.2.3,10.77.3.3); ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10.77.0.1@tcp", "10.77.2.2@o2ib"}, l.names()); diff != "" {
		t.Errorf("names -want +got:\n%s", diff)
	}
}

func TestActions(t *testing.T) {
	plan := []fault{{At: 1, For: 10}, {At: 2, For: 3}}
	var got []time.Duration
	for _, a := range actions(plan) {
		got = append(got, a.at)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 5, 11}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
