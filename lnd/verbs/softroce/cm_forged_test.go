package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// TestCMForgedRequests: requests that nobody will complete do not keep others out, and
// those that are given up for newer ones are told.
func TestCMForgedRequests(t *testing.T) {
	const more = 100
	x := newListening(t, 1, 3, weather{})
	n, from := x.nodes[1], x.nodes[2].addr
	n.cm.cfg.MaxConns = mostConns
	x.drop = func(from int, _ ibta.MAD) bool { return from == 1 }
	for i := range uint32(mostGranted + more) {
		x.forge(from, i+1)
		x.run(x.now)
	}
	if got := len(n.cm.conns); got != mostGranted || n.cm.counters.Crowded != more || x.sent[ibta.AttrREJ] != more {
		t.Errorf("%d connections, %d were told, %+v", got, x.sent[ibta.AttrREJ], n.cm.counters)
	}
	x.drop = nil
	x.connect(0, 1)
	x.run(x.now + firstResend/2)
	x.expect(0, cmEstablished)
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
