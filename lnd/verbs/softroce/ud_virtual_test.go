package softroce

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// udListener is a queue pair for datagrams in virtual time.
type udListener struct {
	device verbs.Device
	qp     *ud
	got    []uint64 // numbers at the beginning of the datagrams that arrived
	done   []verbs.Completion
	digest uint64
	bad    int // datagrams whose bytes differ from those that were sent
}

var testGroup = netip.MustParseAddr("239.76.0.1")

// openListener opens a queue pair with MaxSends 20 and two buffers of 1000 bytes.
func openListener(t testing.TB, open verbs.Opener, clock machine.Clock, addr string, tap func(verbs.TappedPacket)) *udListener {
	t.Helper()
	l := new(udListener)
	var err error
	if l.device, err = open(verbs.OpenConfig{Addr: netip.MustParseAddr(addr), Clock: clock, Tap: tap}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.device.Close() })
	pd, err := l.device.NewPD()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pd.NewPool(verbs.PoolConfig{Buffers: 2, Size: 1000})
	if err != nil {
		t.Fatal(err)
	}
	cq, err := l.device.NewCQ(20, func(batch []verbs.Completion) {
		for _, c := range batch {
			if c.Op != verbs.Receive {
				l.done = append(l.done, c)
				continue
			}
			h := fnv.New64a()
			_, _ = fmt.Fprint(h, l.digest, c.SrcAddr, c.SrcQPN, c.Group, c.Buffer.Bytes)
			l.digest = h.Sum64()
			n := binary.BigEndian.Uint64(c.Buffer.Bytes)
			l.got = append(l.got, n)
			if rest := c.Buffer.Bytes[8:]; uint64(len(rest)) != n%491 || slices.ContainsFunc(rest, func(b byte) bool { return b != 0 }) {
				l.bad++
			}
			pool.Return(c.Buffer)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	qp, err := l.device.NewUD(verbs.UDConfig{PD: pd, Sends: cq, Recvs: cq, Pool: pool, MaxSends: 20, QKey: testQKey})
	if err != nil {
		t.Fatal(err)
	}
	l.qp = qp.(*ud)
	if err := qp.Join(testGroup); err != nil {
		t.Fatal(err)
	}
	return l
}

// numbered makes a datagram to the group that begins with a number.
func numbered(n uint64) verbs.Datagram {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 500), n)
	return verbs.Datagram{
		ID: n, Pieces: []verbs.SGE{{Bytes: b}, {Bytes: make([]byte, n%491)}}, To: testGroup, QPN: verbs.MulticastQPN, QKey: testQKey,
		Signaled: n%3 == 0,
	}
}

// TestDatagramsOverBadWire: over a wire that loses, repeats, reorders and damages datagrams,
// members receive the undamaged ones whole. The damaged ones are counted. Two runs with one
// seed have the same result.
func TestDatagramsOverBadWire(t *testing.T) {
	const many = 3000
	run := func(seed uint64) (digests [2]uint64) {
		v := newVirtual(t, seed, emulator.Faults{
			Delay: 100 * time.Microsecond, Jitter: 50 * time.Microsecond, Loss: .05, Duplicate: .03, Corrupt: .03, Reorder: .02,
			Hold: time.Millisecond,
		})
		sender := openListener(t, v.open, v.clock, "10.0.0.1", nil)
		members := []*udListener{openListener(t, v.open, v.clock, "10.0.0.2", nil), openListener(t, v.open, v.clock, "10.0.0.3", nil)}
		for i := range uint64(many) {
			if err := sender.qp.PostSend([]verbs.Datagram{numbered(i)}); err != nil {
				t.Fatal(err)
			}
			v.clock.Run(v.clock.Now() + 20*time.Microsecond)
		}
		v.clock.Run(v.clock.Now() + time.Second)
		var arrived, damaged uint64
		for i, m := range members {
			seen := make(map[uint64]bool)
			for _, n := range m.got {
				seen[n] = true
			}
			if len(seen) < many*85/100 || len(seen) > many*97/100 || len(m.got) == len(seen) || slices.IsSorted(m.got) || m.bad > 0 {
				t.Errorf("member %d got %d, of which %d differ and %d are bad", i, len(m.got), len(seen), m.bad)
			}
			s := m.qp.hub.stats()
			arrived += s.Datagrams.Received
			damaged += s.Groups.BadICRC + s.Groups.Malformed
			digests[i] = m.digest
		}
		s, own := v.net.Stats(), sender.qp.hub.stats()
		damaged += own.Groups.BadICRC + own.Groups.Malformed
		// The ICRC does not cover the fields that routers may change, so damage in these fields is
		// not noticed.
		if want := s.Delivered; arrived+damaged+own.Datagrams.Own != want || damaged < s.Corrupted*97/100 || damaged > s.Corrupted {
			t.Errorf("of %d delivered %d arrived, %d are damaged of %d, %d came back", want, arrived, damaged, s.Corrupted, own.Datagrams.Own)
		}
		if len(sender.got) > 0 || len(sender.done) != many/3 {
			t.Errorf("the sender got %d, and %d completions", len(sender.got), len(sender.done))
		}
		return digests
	}
	a, again, b := run(1), run(1), run(2)
	if a != again || a == b {
		t.Errorf("digests %x, %x, with another seed %x", a, again, b)
	}
}

// narrow is a network whose ports together send as many bursts as the field room says. After that,
// Send returns the error in the field refuse.
type narrow struct {
	wire.Network
	room    int
	refuse  error
	refused int
	backlog int
}

type narrowPort struct {
	wire.Conn
	net *narrow
}

func (n *narrow) Open(cfg wire.Config) (wire.Conn, error) {
	c, err := n.Network.Open(cfg)
	return narrowPort{c, n}, err
}

func (p narrowPort) Send(list []wire.Burst) (int, error) {
	n := min(p.net.room, len(list))
	p.net.room -= n
	if _, err := p.Conn.Send(list[:n]); err != nil {
		return 0, err
	}
	if n < len(list) {
		p.net.refused++
		return n, p.net.refuse
	}
	return n, nil
}

func (p narrowPort) Backlog() int { return p.net.backlog }

// TestDatagramsBacklog: while the system has a long backlog datagrams wait in the device, except
// that one leaves every longestWait.
func TestDatagramsBacklog(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	n := &narrow{Network: v.net, room: 1000, backlog: mostBacklog}
	open := NewOpener(Options{Network: n})
	sender, member := openListener(t, open, v.clock, "10.0.0.1", nil), openListener(t, open, v.clock, "10.0.0.2", nil)
	v.clock.Run(time.Second)
	var list []verbs.Datagram
	for i := range uint64(20) {
		list = append(list, numbered(i))
	}
	if err := sender.qp.PostSend(list); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Second + 10*time.Millisecond)
	if got := len(member.got); got < 3 || got > 5 {
		t.Errorf("%d in 10ms", got)
	}
	n.backlog = mostBacklog - 1
	v.clock.Run(time.Second + 11*time.Millisecond)
	if len(member.got) != 20 || !slices.IsSorted(member.got) {
		t.Errorf("%v have arrived", member.got)
	}
}

// TestDatagramsWait: datagrams for which the network has no room wait in order, at most
// UDConfig.MaxSends of them; Close flushes those that wait.
func TestDatagramsWait(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{Delay: time.Millisecond})
	n := &narrow{Network: v.net, room: 3, refuse: wire.ErrFull}
	open := NewOpener(Options{Network: n})
	sender, member := openListener(t, open, v.clock, "10.0.0.1", nil), openListener(t, open, v.clock, "10.0.0.2", nil)
	next := uint64(0)
	post := func(count int) (err error) {
		var list []verbs.Datagram
		for i := range count {
			list = append(list, numbered(next+uint64(i)))
		}
		if err = sender.qp.PostSend(list); err == nil {
			next += uint64(count)
		}
		return err
	}
	if err := post(20); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		switch err := post(1); err {
		case nil: // one more datagram is taken for each that has left
		case verbs.ErrFull:
			more = false
		default:
			t.Fatal(err)
		}
	}
	if next != 23 {
		t.Errorf("%d could be posted, want 23", next)
	}
	for next < 500 {
		n.room += 7
		v.clock.Run(v.clock.Now() + 10*time.Millisecond)
		if err := post(7); err != nil {
			t.Fatal(err)
		}
	}
	if n.refused < 50 || !slices.IsSorted(member.got) || len(member.got) < 450 {
		t.Errorf("%d refusals, %d arrived", n.refused, len(member.got))
	}
	if got := cap(sender.qp.out.frame.bytes); got > 100*600 {
		t.Errorf("%d bytes of memory for 20 datagrams", got)
	}
	sender.qp.Close()
	want := uint64(0)
	for _, c := range sender.done {
		if c.Status == verbs.Success {
			if c.ID%3 != 0 || c.ID < want {
				t.Errorf("completion of %d after %d", c.ID, want)
			}
			want = c.ID
		} else if c.Status != verbs.Flushed || c.ID < uint64(len(member.got)) {
			t.Errorf("completion %+v", c)
		}
	}
	if s := sender.device.(*device).Stats(); s.Datagrams.Sent+20 != next || s.Datagrams.Waited == 0 || sender.qp.sends.posted.Load() != 0 {
		t.Errorf("%+v, %d posted", s.Datagrams, next)
	}
}

// TestDatagramsRefused: a datagram that the system refuses completes with an error, and the
// others leave.
func TestDatagramsRefused(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	n := &narrow{Network: v.net, room: 0, refuse: wire.ErrUncut}
	open := NewOpener(Options{Network: n})
	sender, member := openListener(t, open, v.clock, "10.0.0.1", nil), openListener(t, open, v.clock, "10.0.0.2", nil)
	if err := sender.qp.PostSend([]verbs.Datagram{numbered(1), numbered(2)}); err != nil {
		t.Fatal(err)
	}
	n.room = 10
	if err := sender.qp.PostSend([]verbs.Datagram{numbered(3)}); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Second)
	if len(sender.done) != 3 || sender.done[0].Status != verbs.General || sender.done[1].Status != verbs.General || sender.done[2].Status != verbs.Success {
		t.Errorf("completions %+v", sender.done)
	}
	if s := sender.device.(*device).Stats(); s.Datagrams.Failed != 2 || s.Unsent != 2 || !slices.Equal(member.got, []uint64{3}) {
		t.Errorf("%+v, %v arrived", s, member.got)
	}
}

// TestDatagramTap: a datagram is shown as it leaves and as it arrives.
func TestDatagramTap(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	var shown []verbs.TappedPacket
	tap := func(p verbs.TappedPacket) {
		p.Bytes = slices.Clone(p.Bytes)
		shown = append(shown, p)
	}
	sender, member := openListener(t, v.open, v.clock, "10.0.0.1", tap), openListener(t, v.open, v.clock, "10.0.0.2", tap)
	if err := sender.qp.PostSend([]verbs.Datagram{numbered(1)}); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Second)
	from, to := netip.MustParseAddrPort("10.0.0.1:4791"), netip.AddrPortFrom(testGroup, wire.Port)
	sent := 0
	for _, p := range shown {
		if p.From != from || p.To != to || p.ID != 0 || !ibta.NewPath(from, to).Check(0, p.Bytes) {
			t.Errorf("%+v", p)
		}
		if p.Sent {
			sent++
		}
	}
	if len(shown) != 3 || sent != 1 || !shown[0].Sent || len(member.got) != 1 { // the member's own datagram comes back and is shown, too
		t.Errorf("%d shown, %d sent, %d arrived", len(shown), sent, len(member.got))
	}
}

// sink is a network that discards all packets.
type sink struct{}

func (sink) Open(cfg wire.Config) (wire.Conn, error) { return sinkPort{cfg}, nil }

type sinkPort struct{ cfg wire.Config }

func (p sinkPort) Attr() wire.Attr                   { return wire.Attr{Local: p.cfg.Local, MTU: 4200} }
func (sinkPort) Send(list []wire.Burst) (int, error) { return len(list), nil }
func (sinkPort) Close() error                        { return nil }

// TestDatagramAllocations: a datagram costs no memory, whether it leaves or arrives.
func TestDatagramAllocations(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	l := openListener(t, NewOpener(Options{Network: sink{}}), machine.RealClock(), "10.0.0.1", nil)
	overSockets := openListener(t, Open, machine.RealClock(), loopbackAddr().String(), nil)
	for _, x := range []*udListener{l, overSockets} {
		list := []verbs.Datagram{numbered(3)}
		list[0].To = randomGroup() // a group that has no members
		if n := testing.AllocsPerRun(100, func() {
			if err := x.qp.PostSend(list); err != nil {
				t.Fatal(err)
			}
			x.done = x.done[:0]
		}); n > 0 {
			t.Errorf("%v allocations for each datagram that leaves", n)
		}
	}
	p := ibta.Packet{
		BTH:  ibta.BTH{OpCode: ibta.UDSendOnly, PKey: ibta.DefaultPKey, DestQP: ibta.MulticastQPN},
		DETH: ibta.DETH{QKey: testQKey, SrcQP: 5}, Payload: make([]byte, 8),
	}
	in := l.in()
	src := netip.MustParseAddrPort("10.0.0.9:4791")
	b := ibta.NewPath(src, in.local).AppendICRC(0, p.AppendTo(nil))
	batch := []wire.Datagrams{{From: src, Size: len(b), Bytes: b}}
	got := 0
	l.qp.recvs.done = func(c []verbs.Completion) {
		got += len(c)
		l.qp.pool.Return(c[0].Buffer)
	}
	if n := testing.AllocsPerRun(100, func() { in.receive(batch) }); n > 0 {
		t.Errorf("%v allocations for each datagram that arrives", n)
	}
	if got < 100 {
		t.Errorf("%d arrived", got)
	}
}
