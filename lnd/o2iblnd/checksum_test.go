package o2iblnd

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/wire"
)

// TestChecksumsLearned: an end adds checksums as soon as a message has shown how its peer computes
// them, and computes all later ones in that way.
func TestChecksumsLearned(t *testing.T) {
	for _, counting := range []kib.Counting{kib.Unsigned, kib.Signed} {
		p := newPair(t, func(c *exchangeConfig) {
			c.checksum = true
			if c.stamp == 2 {
				c.counting = counting
			}
		})
		a, b := p.ends[0], p.ends[1]
		a.send(wire.Put, 100, 1, 1, false)
		p.settle()
		if a.x.summing() || b.x.cfg.counting != counting {
			t.Errorf("%v: sends checksums before the peer has shown one", counting)
		}
		b.send(wire.Put, 100, 1, 1, false)
		p.settle()
		if !a.x.summing() || a.x.cfg.counting != counting {
			t.Errorf("%v: counts %v", counting, a.x.cfg.counting)
		}
		if err := p.quiet(); err != nil {
			t.Error(err)
		}
	}
}

// TestChecksumsBetweenUs: two nodes of this project with cksum=1 send checksums, although neither
// has received one before. If one of them has cksum=0, neither sends any.
func TestChecksumsBetweenUs(t *testing.T) {
	for _, both := range []bool{true, false} {
		at := loopbackAddrs(2)
		tap := packetTap{sent: make(chan lnd.Packet, 100), received: make(chan lnd.Packet, 100)}
		a, b := new(sink), new(sink)
		x := start(t, at[0], softroce.Open, Config{Cksum: true}, a, func(c *lnd.Config) { c.Tap = tap })
		y := start(t, at[1], softroce.Open, Config{Cksum: both}, b)
		x.Send(newMessage(x, y.nid, 100))
		a.await(t, "message", func() bool { return a.finished == 1 })
		y.Send(newMessage(y, x.nid, 100))
		b.await(t, "message", func() bool { return b.finished == 1 })
		if sent, received := summed(t, tap.sent), summed(t, tap.received); (sent > 0) != both || (received > 0) != both {
			t.Errorf("both have cksum=1: %v; messages with checksums: %d sent, %d received", both, sent, received)
		}
		shut(x)
		shut(y)
	}
}

// summed counts the messages with a checksum among packets.
func summed(t *testing.T, packets <-chan lnd.Packet) (n int) {
	for {
		select {
		case v := <-packets:
			p, err := ibta.ParsePacket(v.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if m, err := kib.ParseMsg(p.Payload); p.OpCode == ibta.SendOnly && err == nil && m.Checksum != 0 {
				n++
			}
		default:
			return n
		}
	}
}
