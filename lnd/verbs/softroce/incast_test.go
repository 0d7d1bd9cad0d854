package softroce

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// incastRounds is how often TestIncast tries. ACKs may be late once because the machine is busy; if the
// receiver cannot keep up, packets are sent again in each round.
const incastRounds = 5

// TestIncast: eight nodes write to one at the same time, all with the default receive buffer
// of the operating system: everything arrives, and little is retransmitted. For comparison, one
// node alone moves the same amount first.
func TestIncast(t *testing.T) {
	const size = 256 << 10
	total := 32 << 20
	if testing.Short() || effort.Race {
		total = 8 << 20
	}
	var took [2]time.Duration
	for i, senders := range []int{1, 8} {
		for round := 1; ; round++ {
			x := newIncast(t, senders, size)
			start := time.Now()
			x.run(total / size / senders)
			took[i] = time.Since(start)
			s := x.stats()
			packets := uint64(total / x.mtu)
			t.Logf("%d senders: %v, allowance of %d packets, %d packets of %d sent again, %+v", senders, took[i], x.most, s.Resent, packets, s)
			if s.Resent <= packets/3 && s.Timeouts <= uint64(senders) {
				break
			}
			if round == incastRounds {
				t.Errorf("%d packets of %d were sent again, after %d timeouts", s.Resent, packets, s.Timeouts)
				break
			}
		}
	}
	if took[1] > 8*took[0]+20*time.Second { // the margin is for other work on this machine
		t.Errorf("eight senders take %v, one %v", took[1], took[0])
	}
}

// incast is a node and the nodes that write to it.
type incast struct {
	t       testing.TB
	target  *testNode
	memory  []byte
	region  verbs.MR
	senders []*incastSender
	mtu     int
	most    int64
}

type incastSender struct {
	node   *testNode
	conn   verbs.Conn
	bytes  []byte
	source verbs.MR
	index  int
	size   int
}

func newIncast(t testing.TB, n, size int) *incast {
	x := &incast{t: t}
	x.target = openNode(t, Open, verbs.OpenConfig{Addr: loopbackAddr(), Clock: machine.RealClock()})
	x.memory = make([]byte, n*size)
	var err error
	if x.region, err = x.target.pd.Register([][]byte{x.memory}, both); err != nil {
		t.Fatal(err)
	}
	x.mtu, x.most = x.target.device.Attr().MTU, x.target.device.(*device).hub.allowance.most
	x.target.listen()
	for i := range n {
		s := &incastSender{node: openNode(t, Open, verbs.OpenConfig{Addr: loopbackAddr(), Clock: machine.RealClock()}), index: i, size: size}
		s.conn = connect(t, s.node, x.target)[0]
		s.bytes = make([]byte, size)
		if s.source, err = s.node.pd.Register([][]byte{s.bytes}, 0); err != nil {
			t.Fatal(err)
		}
		x.senders = append(x.senders, s)
	}
	return x
}

// run makes each sender write its block the given number of times, each time with other bytes.
func (x *incast) run(times int) {
	finished := make(chan error, len(x.senders))
	for _, s := range x.senders {
		go func() {
			for round := range times {
				binary.LittleEndian.PutUint64(s.bytes, uint64(round))
				s.bytes[len(s.bytes)-1] = byte(round)
				if err := s.write(x, uint64(round)); err != nil {
					finished <- err
					return
				}
			}
			finished <- nil
		}()
	}
	for range x.senders {
		if err := take(x.t, finished); err != nil {
			x.t.Fatal(err)
		}
	}
	for i, s := range x.senders {
		if !regionHolds(x.region, x.memory[i*s.size:], s.bytes) {
			x.t.Errorf("sender %d: something else arrived", i)
		}
	}
}

func (s *incastSender) write(x *incast, id uint64) error {
	to := x.region.Frags(nil)[0]
	to.Address += uint64(s.index * s.size)
	err := s.conn.PostSend([]verbs.SendWR{{
		ID: id, Op: verbs.Write, Signaled: true, Remote: to, RKey: x.region.RKey(), Pieces: []verbs.SGE{{Bytes: s.bytes, MR: s.source}},
	}})
	if err != nil {
		return err
	}
	if c := <-s.node.done; c.Status != verbs.Success || c.ID != id {
		return c.Status
	}
	return nil
}

func (x *incast) stats() (sum TransportStats) {
	for _, s := range x.senders {
		stats := s.node.device.(interface{ Stats() Stats }).Stats()
		sum.add(&stats.Transport)
	}
	return sum
}

// TestIdleMemory: an idle queue pair takes less than 8 KiB of memory in total (goal G-IB-4).
func TestIdleMemory(t *testing.T) {
	spec.Covers(t, "G-IB-4")
	const conns, most = 1000, 8 << 10
	v := newVirtual(t, 1, perfect)
	var nodes [2]*mover
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		nodes[i] = v.newMover(a, uint64(i))
	}
	established := 0
	event := func(_ verbs.Conn, e verbs.Event) {
		if e.Kind == verbs.Established {
			established++
		}
	}
	var kept [2][]verbs.Conn
	if _, err := nodes[1].device.Listen(987, func(r verbs.Request) {
		c, err := r.Accept(nodes[1].config(), event)
		if err != nil {
			t.Error(err)
		}
		kept[1] = append(kept[1], c)
	}); err != nil {
		t.Fatal(err)
	}
	before := heapInUse()
	for range conns {
		c, err := nodes[0].device.Connect(addrPort(nodes[1].device), nodes[0].config(), event)
		if err != nil {
			t.Fatal(err)
		}
		kept[0] = append(kept[0], c)
		v.clock.Run(v.clock.Now() + time.Millisecond)
	}
	for i := range conns { // use each connection once
		for _, list := range kept {
			if err := list[i].PostSend([]verbs.SendWR{{Op: verbs.Send, ID: answers, Pieces: []verbs.SGE{{Bytes: []byte{1}}}}}); err != nil {
				t.Fatal(err)
			}
		}
		v.clock.Run(v.clock.Now() + time.Millisecond)
	}
	v.clock.Run(v.clock.Now() + time.Minute)
	if established != 2*conns {
		t.Fatalf("%d connections", established)
	}
	each := (heapInUse() - before) / (2 * conns)
	t.Logf("%d bytes for each queue pair", each)
	if each > most {
		t.Errorf("%d bytes for each queue pair, want at most %d", each, most)
	}
	for i, n := range nodes {
		for _, c := range kept[i] {
			c.Close()
		}
		v.clock.Run(v.clock.Now() + time.Minute)
		if s := n.device.(interface{ Stats() Stats }).Stats(); s.QueuePairs != 0 || s.Connections != 0 {
			t.Errorf("%+v", s)
		}
		_ = n.device.Close()
	}
	if !bytes.Equal(nodes[0].memory, nodes[1].memory) {
		t.Error("something was written")
	}
}
