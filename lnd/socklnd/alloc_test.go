package socklnd

import (
	"context"
	"fmt"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/nid"
)

// echo is the upper layer of the allocation test and the benchmarks: it takes
// every payload to the same memory and tells when a message has arrived or
// left, without allocating.
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
func (e *echo) Delivered(*lnd.Delivery, error)      { e.arrived <- struct{}{} }
func (e *echo) Finalize(*lnd.Message, error)        { e.left <- struct{}{} }
func (e *echo) Abandon(*lnd.Delivery) bool          { return true }
func (e *echo) Waits(*lnd.Message)                  {}
func (e *echo) PeerUp(nid.ProcessID)                {}
func (e *echo) PeerDown(_ nid.ProcessID, err error) {}

// echoPair returns a round trip of size bytes between two NIs that are
// connected.
func echoPair(t testing.TB, c contract, size int) (roundTrip func()) {
	a, b := newEcho(size), newEcho(size)
	x, y := c.start(t, a, b)
	t.Cleanup(func() {
		_ = x.Shutdown(context.Background())
		_ = y.Shutdown(context.Background())
	})
	xid := nid.ProcessID{NID: x.NID(), PID: nid.LustrePID}
	yid := nid.ProcessID{NID: y.NID(), PID: nid.LustrePID}
	payload := pattern(size)
	xy, yx := newPut(xid, yid, payload), newPut(yid, xid, payload)
	roundTrip = func() {
		x.Send(xy)
		<-b.arrived
		<-a.left
		y.Send(yx)
		<-a.arrived
		<-b.left
	}
	roundTrip()
	for len(x.(*NI).Snapshot().Peers[0].Conns) < 3 || len(y.(*NI).Snapshot().Peers[0].Conns) < 3 {
		roundTrip()
	}
	return roundTrip
}

func TestNoAllocations(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector drops pooled memory at random")
	}
	for _, tt := range []struct {
		name string
		c    contract
	}{
		{name: "v1", c: contract{cfg: Config{Protocol: 1}}},
		{name: "v2", c: contract{cfg: Config{Protocol: 2}}},
		{name: "v2 with checksums", c: contract{cfg: Config{Protocol: 2, Checksum: true}}},
		{name: "v3"},
		{name: "v4", c: contract{ipv6: true}},
	} {
		for _, size := range []int{0, 8, 4096, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, size), func(t *testing.T) {
				if tt.c.ipv6 {
					needIPv6(t)
				}
				roundTrip := echoPair(t, tt.c, size)
				rounds := 200
				if size > 4096 {
					rounds = effort.Of(50, 50, 200)
				}
				for range rounds / 2 {
					roundTrip()
				}
				if n := testing.AllocsPerRun(rounds, roundTrip); n != 0 {
					t.Errorf("%v allocations per round trip", n)
				}
			})
		}
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{8, 4096, 65536, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			roundTrip := echoPair(b, contract{}, size)
			b.ReportAllocs()
			b.SetBytes(int64(2 * size))
			for b.Loop() {
				roundTrip()
			}
		})
	}
}
