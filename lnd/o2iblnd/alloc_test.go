package o2iblnd

import (
	"fmt"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
)

// echo is the upper layer of the allocation test and the benchmark: it reads every payload into the same
// memory, and signals each message that has arrived or left, without allocating memory.
type echo struct {
	sink    []lnd.Segment
	arrived chan struct{}
	left    chan struct{}
}

func newEcho(size int) *echo {
	return &echo{
		sink:    []lnd.Segment{make([]byte, size)},
		arrived: make(chan struct{}, 1<<16), left: make(chan struct{}, 1<<16),
	}
}

func (e *echo) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	d.Sink = lnd.Payload{Segments: e.sink, Length: int(d.Header.PayloadLength)}
	return lnd.Accept, nil
}
func (e *echo) Delivered(*lnd.Delivery, error) { e.arrived <- struct{}{} }
func (e *echo) Finalize(*lnd.Message, error)   { e.left <- struct{}{} }
func (*echo) Abandon(*lnd.Delivery) bool       { return true }
func (*echo) Waits(*lnd.Message)               {}
func (*echo) PeerUp(nid.ProcessID)             {}
func (*echo) PeerDown(nid.ProcessID, error)    {}

// echoPair returns a round trip of size bytes between two NIs that are connected.
func echoPair(t testing.TB, size int) (roundTrip func()) {
	at := loopbackAddrs(2)
	a, b := newEcho(size), newEcho(size)
	x, y := start(t, at[0], softroce.Open, Config{}, a), start(t, at[1], softroce.Open, Config{}, b)
	t.Cleanup(func() { shut(x); shut(y) })
	xy, yx := newMessage(x, y.nid, size), newMessage(y, x.nid, size)
	roundTrip = func() {
		x.Send(xy)
		<-b.arrived
		<-a.left
		y.Send(yx)
		<-a.arrived
		<-b.left
	}
	for range 300 {
		roundTrip()
	}
	return roundTrip
}

// TestNoAllocations: neither IMMEDIATE messages nor transfers by RDMA allocate memory. A transfer
// uses an earlier registration again (verbs.Renewer).
func TestNoAllocations(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector drops pooled memory at random")
	}
	for _, size := range []int{0, 8, 3976, 3977, lnd.MaxPayload} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if n := testing.AllocsPerRun(200, echoPair(t, size)); n != 0 {
				t.Errorf("%v allocations per round trip", n)
			}
		})
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{8, 3976, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			roundTrip := echoPair(b, size)
			b.ReportAllocs()
			b.SetBytes(int64(2 * size))
			for b.Loop() {
				roundTrip()
			}
		})
	}
}
