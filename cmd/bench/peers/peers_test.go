package main

import (
	"os"
	"testing"
	"time"
)

// TestMain lets the test's own program be the nodes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "--as-node" || os.Args[1] == "leases") {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// TestSmoke runs the script in small on both systems.
func TestSmoke(t *testing.T) {
	o := options{nodes: 6, interval: 200 * time.Millisecond, calm: time.Second, measure: time.Second}
	for _, system := range []string{"gossip", "memberlist", "zone"} {
		r, err := o.script(system, nil)
		if err != nil {
			t.Fatalf("%s: %v", system, err)
		}
		if r.Detect <= 0 || r.Detect < r.First || r.Bytes <= 0 || r.Packets <= 0 || r.CPU <= 0 || r.CPU > 100 || r.FalseDeaths != 0 || r.Death.Last != r.Detect || r.Silence.Mean <= 0 {
			t.Errorf("%s: %+v", system, r)
		}
		for _, s := range []spread{r.Newcomer, r.Attribute, r.Goodbye} {
			if have := system != "gossip"; (s.Mean > 0) != have || (s.Last > 0) != have || s.Mean > s.Last {
				t.Errorf("%s: %+v", system, r)
			}
		}
		t.Logf("%+v", r)
	}
}

// TestCheck: what cannot be run is refused.
func TestCheck(t *testing.T) {
	for _, args := range [][]string{
		{"--nodes", "3"}, {"--interval", "100ms"}, {"--paused", "40"}, {"--systems", "serf"}, {"--what"},
	} {
		if got := run(args); got != 2 {
			t.Errorf("%v: exit %d, want 2", args, got)
		}
	}
}
