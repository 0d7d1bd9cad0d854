package lnet

import (
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestHeardWhileReviewed: a message comes from a silent net while the router finds out that the net is silent. The
// router does not report the net as down. The many NIs make that review take long.
func TestHeardWhileReviewed(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-16")
	synctest.Test(t, func(t *testing.T) {
		const rounds, count = 100, 4000
		n := &Node{cfg: Config{Clock: machine.RealClock()}}
		n.forward.patience, n.forward.review = DefaultRouterSilence, machine.Alarm{Clock: n.cfg.Clock, Call: n.reviewRouting}
		tcp := nid.MustParse("10.0.0.1@tcp").Net()
		nis := make([]*NI, count)
		for i := range nis {
			nis[i] = &NI{node: n, nid: nid.FromNumber(tcp, uint32(i+1))}
			nis[i].cfg.Net = tcp
		}
		n.nis.Store(&nis)
		if err := n.StartAsRouter(); err != nil {
			t.Fatal(err)
		}
		for round := range rounds {
			time.Sleep(DefaultRouterSilence + time.Second)
			for _, ni := range nis {
				ni.silent.Store(false) // as before the review that finds the net silent
			}
			started, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				<-started
				for range round {
					n.forward.on.Load()
				}
				nis[0].heardOn(n.cfg.Clock.Now())
			}()
			close(started)
			n.reviewRouting()
			<-done
			time.Sleep(time.Second)
			if nis[count-1].silent.Load() {
				t.Fatalf("round %d: the net counts as silent", round)
			}
		}
	})
}
