package softroce

import (
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
)

// TestAllocatesNothing: messages and RDMA WRITEs back and forth allocate nothing, on
// neither side.
func TestAllocatesNothing(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	ends := pingers(t)
	const size = 100_000
	for i, p := range ends {
		target, err := ends[1-i].pd.Register([][]byte{make([]byte, size)}, both)
		if err != nil {
			t.Fatal(err)
		}
		source, err := p.pd.Register([][]byte{make([]byte, size)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		p.wr = []verbs.SendWR{
			{Op: verbs.Write, Remote: target.Frags(nil)[0], RKey: target.RKey(), Pieces: []verbs.SGE{{Bytes: source.(*region).pieces[0], MR: source}}},
			{Op: verbs.Send, Signaled: true, Pieces: []verbs.SGE{{Bytes: make([]byte, 100)}, {Bytes: make([]byte, 3000)}}},
		}
	}
	ping(t, ends, 200)
	if n := testing.AllocsPerRun(20, func() { ping(t, ends, 50) }); n > 5 { // ping sends 100 messages; the runtime makes a few allocations of its own
		t.Errorf("%v allocations", n)
	}
}

// TestAnswerTakesACK: an answer that is posted from inside the upcall of a message is sent
// before the ACK of that message. Both are in one burst, unless a datagram in it is shorter
// than a later one.
func TestAnswerTakesACK(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	type sent struct {
		from netip.Addr
		id   uint16
		op   ibta.OpCode
	}
	var list, arrived []sent
	tap := func(p verbs.TappedPacket) {
		q, err := ibta.ParsePacket(p.Bytes)
		x := sent{p.From.Addr(), p.ID, q.OpCode}
		if err != nil {
			t.Error(err)
		} else if p.Sent {
			list = append(list, x)
		} else {
			arrived = append(arrived, x)
		}
	}
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	ends, _ := v.pair(tap, nil)
	list, arrived = nil, nil
	ends[0].left = 2
	for i, n := range []int{10, 2000} { // with 2000 bytes the answer has two packets
		ends[i].wr = []verbs.SendWR{{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: make([]byte, n)}}}}
	}
	if err := ends[0].conn.PostSend(ends[0].wr); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(v.clock.Now() + time.Second)
	<-ends[0].done
	want := []sent{
		{a, 0, ibta.SendOnly},
		{b, 0, ibta.SendFirst},
		{b, 1, ibta.SendLast},
		{b, 0, ibta.Acknowledge},
		{a, 0, ibta.SendOnly},
		{a, 1, ibta.Acknowledge},
		{b, 0, ibta.SendFirst},
		{b, 1, ibta.SendLast},
		{b, 0, ibta.Acknowledge},
		{a, 0, ibta.Acknowledge},
	}
	if !slices.Equal(list, want[:len(list)]) || len(list) != len(want) {
		t.Errorf("%v\nwant %v", list, want)
	}
	if !slices.Equal(arrived, list) {
		t.Errorf("%v\nhave arrived, want %v", arrived, list)
	}
}

// TestRunnerGoesHome: a goroutine that makes the upcalls for completions of other goroutines stops
// after a limited number of rounds, because it may be the goroutine of the timers, or one of a
// consumer that posts. The remaining upcalls still come one at a time and in order.
func TestRunnerGoesHome(t *testing.T) {
	const total = 10_000
	var q *cq
	home, all := make(chan struct{}), make(chan struct{})
	next := uint64(0)
	var running atomic.Int32
	q = newCQ(nil, 1, func(batch []verbs.Completion) {
		if running.Add(1) != 1 || batch[0].ID != next || len(batch) != 1 {
			t.Errorf("%d upcalls, %d completions from %d on, want %d", running.Load(), len(batch), batch[0].ID, next)
		}
		if next++; next == total/2 {
			take(t, home)
		}
		if next == total {
			close(all)
		} else if q.claim([]verbs.Completion{{ID: next, Op: verbs.Receive}}, nil) {
			t.Error("claimed twice")
		}
		running.Add(-1)
	})
	list := []verbs.Completion{{Op: verbs.Receive}}
	if !q.claim(list, nil) {
		t.Fatal("not claimed")
	}
	q.run(list, nil)
	close(home)
	take(t, all)
	q.wait()
}

// TestLastEventInOrder: the last event of a connection comes after completions that were
// claimed before it, and before those that were claimed later.
func TestLastEventInOrder(t *testing.T) {
	var got []string
	var q *cq
	ending := func(name string) *conn {
		c := &conn{}
		c.recvs = q
		c.events.upcall = func(verbs.Conn, verbs.Event) { got = append(got, name) }
		c.events.done = func() {}
		return c
	}
	claim := func(id uint64, last *conn) {
		if q.claim([]verbs.Completion{{ID: id, Op: verbs.Receive}}, last) {
			t.Error("claimed twice")
		}
	}
	q = newCQ(nil, 1, func(batch []verbs.Completion) {
		for i := range batch {
			if got = append(got, fmt.Sprint(batch[i].ID)); batch[i].ID == 0 {
				claim(1, ending("first"))
				claim(2, ending("second"))
				claim(3, nil)
			}
		}
	})
	list := []verbs.Completion{{Op: verbs.Receive}}
	c := ending("own")
	if !q.claim(list, c) {
		t.Fatal("not claimed")
	}
	q.run(list, c)
	if want := []string{"0", "own", "1", "first", "2", "second", "3"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
