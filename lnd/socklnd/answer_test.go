package socklnd

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// ack sends an ACK to target. The header has another destination NID, the parameter named, but the ACK
// has to leave on the connections of target.
func (h *host) ack(named nid.NID, target nid.ProcessID) {
	m := &lnd.Message{Target: target}
	m.Header = wire.Header{SrcNID: h.ni.nid, SrcPID: nid.LustrePID, DestNID: named, DestPID: nid.LustrePID}
	m.Header.SetAck(wire.AckCmd{})
	h.ni.Send(m)
}

// TestAnswersByTarget: an answer leaves by the connections of its target. If there are none,
// the target is dialled once for all waiting messages; the NID in the header is not dialled.
func TestAnswersByTarget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, asker := dialScene(t, Config{})
		other, err := asker.net.listen(netip.MustParseAddrPort("10.0.0.9:988"))
		if err != nil {
			t.Fatal(err)
		}
		named := nid.MustParse("10.0.0.9@tcp")
		p := asker.net.connect(t, "10.0.0.1:1000", "10.0.0.2:988")
		go p.send(request, helloCtl)
		p.expect(answerCtl)
		go p.send(pingGet)
		from := h.wantArrivals(1)[0].from
		h.ack(named, from)
		p.read(24 + 72)
		p.Close()
		synctest.Wait()
		for range 3 {
			h.ack(named, from)
		}
		c := asker.accept(t)
		c.expect(dialCtl)
		c.Close()
		for _, err := range h.wantFinalized(4)[1:] {
			if !errors.Is(err, syscall.EHOSTUNREACH) {
				t.Errorf("ended with %v", err)
			}
		}
		asker.expectNoDial(t, time.Minute)
		other.(*memListener).expectNoDial(t, time.Minute)
		h.wantCount(DialHelloCut, 1)
	})
}
