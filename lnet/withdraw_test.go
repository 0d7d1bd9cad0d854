package lnet_test

import (
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/wire"
)

// TestWithdrawsWhatHasPath: the link of an NI goes down while its driver has a message in its queue. The message takes
// another NI exactly if one leads to where it goes: an NI of the same net whose NID has the other size does not, and one
// with a route by another router does. Pings and pushes count as requests.
func TestWithdrawsWhatHasPath(t *testing.T) {
	spec.Covers(t, "NS-12")
	far := nid.MustParse("10.9.0.2@tcp9")
	ping := put(peerA, 1)
	ping.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 1, Portal: wire.PingPortal})
	for name, c := range map[string]struct {
		other  nid.NID         // NID of the other NI
		routes []*path.Gateway // routes of the node
		m      *lnet.Message
		moves  bool
	}{
		"NID of the other size": {other: nid.MustParse("fd00::9@tcp"), m: put(peerA, 1)},
		"same net":              {other: second, m: put(peerA, 1), moves: true},
		"ping or push":          {other: second, m: ping, moves: true},
		"other router": {
			other:  self1,
			routes: []*path.Gateway{{Net: far.Net(), Router: peerA}, {Net: far.Net(), Router: peer1, Priority: 1}},
			m:      put(far, 1), moves: true,
		},
		"no other router": {other: self1, routes: []*path.Gateway{{Net: far.Net(), Router: peerA}}, m: put(far, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lnd.Tunables{}, lnet.Config{})
				r.queued = true
				r.node.SetRoutes(c.routes)
				r.node.Send(c.m)
				wantBits(t, "at first", r.inFlight(), 1)
				other := &driver{id: c.other}
				if _, err := r.node.AddNI(other, lnd.Config{Net: c.other.Net()}); err != nil {
					t.Fatal(err)
				}
				r.ni.SetLink(errUnplugged)
				synctest.Wait()
				if here, there := len(r.inFlight()), len(other.inFlight()); here+there != 1 || there == 1 != c.moves {
					err, ended := r.up.result(1)
					t.Errorf("%d messages at the first NI and %d at the other one; ended %v with %v", here, there, ended, err)
				}
				for r.finalize(nil) || other.finalize(nil) {
				}
				r.wantResult(1, nil)
			})
		})
	}
}
