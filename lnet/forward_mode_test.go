package lnet

import (
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
)

// TestHeardWhileReviewed: the mode Starting also ends if the first message from a net comes while the node finds out
// that none has come. The many NIs make that take long.
func TestHeardWhileReviewed(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-15")
	synctest.Test(t, func(t *testing.T) {
		const rounds, count = 300, 4000
		n := &Node{cfg: Config{Clock: machine.RealClock()}}
		n.forward.patience = DefaultRouterSilence
		tcp := nid.MustParse("10.0.0.1@tcp").Net()
		nis := make([]*NI, count)
		for i := range nis {
			nis[i] = &NI{node: n, nid: nid.FromNumber(tcp, uint32(i+1))}
			nis[i].cfg.Net = tcp
		}
		n.nis.Store(&nis)
		for round := range rounds {
			nis[0].heard.v.Store(0)
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
			if err := n.StartRouting(); err != nil {
				t.Fatal(err)
			}
			<-done
			time.Sleep(time.Second)
			if mode := n.RoutingMode(); mode != router.On {
				t.Fatalf("round %d: the router is %v", round, mode)
			}
			n.StopRouting()
		}
	})
}
