package lnet_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/recovery"
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

// TestHealthOff: when sensitivity 0 turns health off, NIs have their full health again, and recovery stops pinging
// them. A health that is set afterwards stays.
func TestHealthOff(t *testing.T) {
	spec.Covers(t, "HV-7")
	r := newRailed(t, lnet.Config{}, 2, 2)
	if err := errors.Join(r.node.SetNIHealth(second, 300), r.node.SetPeerHealth(peerB, 300)); err != nil {
		t.Fatal(err)
	}
	r.wantHealth(1300, 1300)
	r.told = nil
	s := r.node.Health()
	s.Sensitivity, s.RetryCount = 0, 0
	if err := r.node.SetHealth(s); err != nil {
		t.Fatal(err)
	}
	r.wantHealth(2000, 2000)
	for _, target := range []recovery.Target{{NID: second, Local: true}, {NID: peerB}} {
		if !slices.ContainsFunc(r.told, func(in recovery.Input) bool { return in.Target == target }) {
			t.Errorf("the recovery was not told of %v: %v", target, r.told)
		}
	}
	if err := r.node.SetNIHealth(second, 300); err != nil {
		t.Fatal(err)
	}
	if err := r.node.SetHealth(s); err != nil {
		t.Fatal(err)
	}
	r.wantHealth(1300, 2000)
}
