package lnet_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
)

// TestLNDTimeoutReachesNIs: when the node's settings change, running NIs are given the new
// time-out for drivers, except an NI that was started with a time-out of its own.
func TestLNDTimeoutReachesNIs(t *testing.T) {
	spec.Covers(t, "HV-13")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	own := &driver{id: self2}
	if _, err := r.node.AddNI(own, lnd.Config{Net: self2.Net(), Tunables: lnd.Tunables{Timeout: 5 * time.Second}}); err != nil {
		t.Fatal(err)
	}
	r.given = nil
	s := r.node.Health()
	s.RetryCount, s.TransactionTimeout = 3, 61*time.Second
	if err := r.node.SetHealth(s); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{15 * time.Second}; !slices.Equal(r.given, want) {
		t.Errorf("the NI was given %v, want %v", r.given, want)
	}
	if len(own.given) > 0 {
		t.Errorf("an NI with a time-out of its own was given %v", own.given)
	}
}

// TestLNDTimeoutOfOneNI: SetTimeout gives a running NI a time-out, which the NI keeps when the
// settings of the node change.
func TestLNDTimeoutOfOneNI(t *testing.T) {
	spec.Covers(t, "HV-13")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.given = nil
	if !r.ni.SetTimeout(7 * time.Second) {
		t.Error("the driver was not given the time-out")
	}
	s := r.node.Health()
	s.RetryCount, s.TransactionTimeout = 3, 61*time.Second
	if err := r.node.SetHealth(s); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{7 * time.Second}; !slices.Equal(r.given, want) {
		t.Errorf("the NI was given %v, want %v", r.given, want)
	}
}
