package softroce

import (
	"testing"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// TestCMSmallerMTUMeanwhile: the MTU gets smaller than a request says before the peer grants it. The connection is not
// established at either side, and the consumer learns that the MTU is the reason. A REP that the peer repeats because
// the REJ was lost is rejected, too.
func TestCMSmallerMTUMeanwhile(t *testing.T) {
	for _, lost := range []int{0, 1} {
		x := newListening(t, 1, 2, weather{})
		x.drop = func(_ int, m ibta.MAD) bool { return m.Attribute == ibta.AttrREJ && x.sent[ibta.AttrREJ] <= lost }
		x.connect(0, 1)
		x.nodes[0].cm.cfg.MTU = ibta.MTU512
		x.run(time.Minute)
		x.expect(0, cmRejected)
		x.expect(1, cmRequested, cmRejected)
		x.empty()
		if e := x.nodes[0].events[0]; e.Reason != ibta.RejectMTU || x.sent[ibta.AttrRTU] > 0 || x.sent[ibta.AttrREJ] != 1+lost {
			t.Errorf("reason %d, sent %v", e.Reason, x.sent)
		}
	}
}
