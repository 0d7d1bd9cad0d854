package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// TestCMForgedRequests: requests that nobody will complete, in the names of all or of one,
// keep nobody out, and those that are given up for newer ones are told.
func TestCMForgedRequests(t *testing.T) {
	for _, tt := range []struct{ names, each, open int }{
		{names: 10, each: 120, open: mostGranted},
		{names: 1, each: 300, open: mostGrantedEach},
	} {
		x := newListening(t, 1, 3, weather{})
		n := x.nodes[1]
		n.cm.cfg.MaxConns = mostConns
		x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
		asked := 0
		for i := range tt.each {
			for k := range tt.names {
				x.forge(netip.AddrFrom4([4]byte{10, 0, 0, byte(3 + k)}), uint32(i+1))
				x.run(x.now)
				asked++
			}
		}
		gone := asked - tt.open
		if len(n.cm.conns) != tt.open || n.cm.counters.Crowded != uint64(gone) || x.sent[ibta.AttrREJ] != gone {
			t.Errorf("%+v: %d connections, %d were told, %+v", tt, len(n.cm.conns), x.sent[ibta.AttrREJ], n.cm.counters)
		}
		x.drop = nil
		for _, from := range []int{0, 2} { // the latter has been named
			x.connect(from, 1)
			x.run(x.now + firstResend/2)
			x.expect(from, cmEstablished)
		}
	}
}

// forge has node 1 get a request of a node that does not know of it.
func (x *cmNet) forge(from netip.Addr, id uint32) {
	x.put(from, 1, x.request(func(r *ibta.REQ) {
		src := from.As4()
		copy(r.Private[16:], src[:])
		r.LocalID, r.QPN, r.Primary.LocalGID = ibta.CommID(id), ibta.QPN(id+1), ibta.GIDFrom(from)
		r.LocalTimeout = 31
	}))
}

// TestCMForgedRequestBringsLittle: whoever is named in a forged request gets a few packets.
func TestCMForgedRequestBringsLittle(t *testing.T) {
	x := newListening(t, 1, 3, weather{})
	x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
	x.forge(x.nodes[2].addr, 1)
	x.run(longestAsking + time.Second)
	x.expect(1, cmRequested, cmUnreachable)
	x.empty()
	if got := len(x.sent); got != 2 || x.sent[ibta.AttrREP] != mostREPs || x.sent[ibta.AttrREJ] != 1 {
		t.Errorf("sent %v", x.sent)
	}
}
