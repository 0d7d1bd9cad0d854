//go:build linux

package main_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs/ibta"
)

// Parameters of the strangers: addresses that send to queue pairs that the daemon has never had,
// as peers would that had connections before the daemon was restarted.
const (
	strangers       = 200
	strangersAtOnce = 25
	strangerPackets = 2  // number of packets that each stranger sends
	redialBurst     = 64 // number of connection requests that lnetd may send at once
	redialsPerS     = 64 // number of further requests that lnetd may send each second
)

// strangers sends packets to unknown queue pairs, so that the daemon takes their senders for peers from
// before its restart. The daemon may request one connection from each sender, at the rate of a token bucket,
// and none from a peer that is connected already.
func (b *blockade) strangers(t *testing.T) {
	before, waiting := b.daemon.Reasons(), b.handshakes()
	risen := func(why o2iblnd.Reason) int { return int(b.daemon.Count(why) - before[why.String()]) }
	unknown := toConn(func(p *ibta.Packet) { p.DestQP += 0x1000 })
	send := func(n int, addrs ...string) {
		t.Helper()
		old := b.device()
		for _, addr := range addrs {
			s := b.from(t, addr)
			for range n {
				s.send(t, unknown(s, &b.heard))
			}
		}
		b.rises(t, old, uint64(n*len(addrs)), "unknown_qp")
	}
	send(hostileTimes, goodAddr, besiegedAddr)
	if n := risen(o2iblnd.Redialled); n != 0 {
		t.Errorf("%d requests to a peer that is connected, and to the node itself", n)
	}
	began := time.Now()
	send(hostileTimes, strangerName(0)) // returns when the packets are counted, which is before the daemon requests connections
	b.daemon.Until(reaction, "a request", func() bool { return risen(o2iblnd.Redialled) > 0 })
	if n := risen(o2iblnd.Redialled); n != 1 {
		t.Errorf("%d requests to one address", n)
	}
	for i := 1; i <= strangers; i += strangersAtOnce { // in groups that fit the socket's buffer
		var addrs []string
		for k := range strangersAtOnce {
			addrs = append(addrs, strangerName(i+k))
		}
		send(strangerPackets, addrs...)
	}
	b.daemon.Until(reaction, "a request to each stranger, or a reason why there is none", func() bool {
		return risen(o2iblnd.Redialled)+risen(o2iblnd.RedialLimited) > strangers
	})
	asked, limited := risen(o2iblnd.Redialled), risen(o2iblnd.RedialLimited)
	most := redialBurst + int(redialsPerS*time.Since(began)/time.Second) + 1
	if asked > most || asked < min(strangers, redialBurst)-2 {
		t.Errorf("%d requests for %d strangers, want %d at most", asked, strangers, most)
	}
	if most < strangers && limited == 0 {
		t.Error("no request was counted as one too many")
	}
	b.daemon.Until(reaction, "end of the requests", func() bool { return b.handshakes() <= waiting })
	if n := risen(o2iblnd.Unreachable); n > waiting {
		t.Errorf("%d strangers are counted as peers that are unreachable", n)
	}
	b.goesOn(t)
}

func strangerName(i int) string { return fmt.Sprintf("127.3.%d.%d", i/250, i%250+1) }
