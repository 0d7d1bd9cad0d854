package socklnd

import (
	"fmt"
	"testing"

	"ulnet/lnd"
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

func (e *echo) Parse(d *lnd.Delivery) (lnd.Verdict, error) {
	d.Sink = lnd.Payload{Segments: e.sink, Length: int(d.Header.PayloadLength)}
	return lnd.Accept, nil
}
func (e *echo) Delivered(*lnd.Delivery, error)      { e.arrived <- struct{}{} }
func (e *echo) Finalize(*lnd.Message, error)        { e.left <- struct{}{} }
func (e *echo) Abandon(*lnd.Delivery) bool          { return true }
func (e *echo) PeerUp(nid.ProcessID)                {}
func (e *echo) PeerDown(_ nid.ProcessID, err error) {}

// echoPair returns two NIs that are connected, and a round trip of size bytes
// between them.
func echoPair(t testing.TB, size int) (roundTrip func()) {
	f := newTCPFabric()
	a, b := newEcho(size), newEcho(size)
	nis := [2]lnd.NI{}
	hosts := [2]*host{}
	for i, up := range []lnd.Upcalls{a, b} {
		h := start(t, fmt.Sprintf("127.0.0.%d", i+1), f.config(Config{}))
		h.ni.up = up // nothing has arrived yet
		nis[i], hosts[i] = h.ni, h
	}
	ids := [2]nid.ProcessID{}
	for i, ni := range nis {
		ids[i] = nid.ProcessID{NID: ni.NID(), PID: nid.LustrePID}
	}
	payload := pattern(size)
	ab, ba := newPut(ids[0], ids[1], payload), newPut(ids[1], ids[0], payload)
	roundTrip = func() {
		nis[0].Send(ab)
		<-b.arrived
		<-a.left
		nis[1].Send(ba)
		<-a.arrived
		<-b.left
	}
	roundTrip()
	for hosts[0].conns()+hosts[1].conns() < 6 {
		roundTrip()
	}
	return roundTrip
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops pooled memory at random")
	}
	for _, size := range []int{0, 8, 4096, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			roundTrip := echoPair(t, size)
			for range 100 {
				roundTrip()
			}
			if n := testing.AllocsPerRun(500, roundTrip); n != 0 {
				t.Errorf("%v allocations per round trip", n)
			}
		})
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{8, 4096, 65536, 1 << 20} {
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
