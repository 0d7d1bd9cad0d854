package o2iblnd

import (
	"fmt"
	"sync/atomic"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
)

// player plays lnet for one NI: from inside Delivered it answers each message with one of its own, until
// enough have arrived.
type player struct {
	ni   *NI
	to   nid.NID
	size int
	sink []lnd.Segment
	left atomic.Int64
	done chan struct{}
	free chan *lnd.Message
}

func (p *player) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	d.Sink = lnd.Payload{Segments: p.sink, Length: int(d.Header.PayloadLength)}
	return lnd.Accept, nil
}

func (p *player) Delivered(_ *lnd.Delivery, err error) {
	if p.left.Add(-1) < 0 || err != nil {
		p.done <- struct{}{}
		return
	}
	p.serve()
}

func (p *player) serve() { p.ni.Send(<-p.free) }

func (p *player) Finalize(m *lnd.Message, _ error) { p.free <- m }
func (*player) Abandon(*lnd.Delivery) bool         { return true }
func (*player) Waits(*lnd.Message)                 {}
func (*player) PeerUp(nid.ProcessID)               {}
func (*player) PeerDown(nid.ProcessID, error)      {}

func players(b *testing.B, size int) [2]*player {
	at := loopbackAddrs(2)
	var ps [2]*player
	for i := range ps {
		ps[i] = &player{size: size, sink: []lnd.Segment{make([]byte, size)}, done: make(chan struct{}, 64), free: make(chan *lnd.Message, 64)}
		ps[i].ni = start(b, at[i], softroce.Open, Config{}, ps[i])
		b.Cleanup(func() { shut(ps[i].ni) })
	}
	ps[0].to, ps[1].to = ps[1].ni.nid, ps[0].ni.nid
	for _, p := range ps {
		for range 32 {
			p.free <- newMessage(p.ni, p.to, size)
		}
	}
	return ps
}

// BenchmarkPingPong measures half a round trip of a message that each end answers from inside the upcall.
func BenchmarkPingPong(b *testing.B) {
	for _, size := range []int{8, 3976, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			ps := players(b, size)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			n := int64(b.N)
			ps[0].left.Store(n / 2)
			ps[1].left.Store(n/2 + 1)
			b.ResetTimer()
			ps[0].serve()
			<-ps[0].done
		})
	}
}

// BenchmarkStream measures messages in one direction, many of which are under way at a time.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{8, 3976, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			ps := players(b, size)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			ps[1].left.Store(0)
			b.ResetTimer()
			for i := range b.N {
				ps[0].serve()
				if i >= 16 {
					<-ps[1].done
				}
			}
		})
	}
}
