package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/emulator"
)

// TestSharedQueue: connections to hosts that are gone have posted as many work requests as they may.
// A further connection with the same completion queue may post as many, and so may one that is made
// when the others have ended.
func TestSharedQueue(t *testing.T) {
	const depth, dead = 8, 5
	v := newVirtual(t, 1, emulator.Faults{Delay: 10 * time.Microsecond})
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }
	n := openNode(t, v.open, verbs.OpenConfig{Addr: at(200), Clock: v.clock})
	var succeeded, flushed int
	cq, err := n.device.NewCQ(depth, func(batch []verbs.Completion) {
		for i := range batch {
			if batch[i].Status == verbs.Success {
				succeeded++
			} else {
				flushed++
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	dial := func(i int) verbs.Conn {
		peer := openNode(t, v.open, verbs.OpenConfig{Addr: at(i), Clock: v.clock})
		peer.listen()
		cfg := n.config()
		cfg.QP.Sends, cfg.QP.Recvs, cfg.QP.MaxSends = cq, cq, depth
		c, err := n.device.Connect(addrPort(peer.device), cfg, n.event)
		if err != nil {
			t.Fatal(err)
		}
		v.clock.Run(v.clock.Now() + time.Second)
		return c
	}
	post := func(c verbs.Conn) {
		t.Helper()
		for i := range depth {
			if err := c.PostSend([]verbs.SendWR{send(uint64(i), []byte("hello"))}); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
	}
	for i := range dead {
		c := dial(i)
		v.net.Cut(at(200), at(i), true)
		post(c)
	}
	for i := range 2 {
		post(dial(dead + i))
		v.clock.Run(v.clock.Now() + time.Minute) // let the connections to the hosts that are gone end
		if succeeded != (i+1)*depth || flushed != dead*depth {
			t.Errorf("%d messages arrived, %d failed", succeeded, flushed)
		}
	}
	if q := cqOf(cq); q.posted.Load() != 0 || q.most.Load() != 2*depth {
		t.Errorf("%d work requests are posted, there is room for %d", q.posted.Load(), q.most.Load())
	}
}

func cqOf(q verbs.CQ) *cq { return q.(*cq) }
