package softroce

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// datagram is a datagram that arrived.
type datagram struct {
	verbs.Completion
	text string
}

// udNode is a device with a queue pair for datagrams.
type udNode struct {
	t      testing.TB
	device verbs.Device
	pool   verbs.Pool
	cq     verbs.CQ
	qp     *ud
	got    chan datagram
	done   chan verbs.Completion
	quit   chan struct{} // closed at the end of the test
}

const testQKey = 0x01234567

// openUD opens a device with a queue pair. Buffers are given back at once.
func openUD(t testing.TB, open verbs.Opener, addr netip.Addr, qkey uint32) *udNode {
	t.Helper()
	n := &udNode{t: t, got: make(chan datagram, 1000), done: make(chan verbs.Completion, 1000), quit: make(chan struct{})}
	var err error
	if n.device, err = open(verbs.OpenConfig{Addr: addr, Clock: machine.RealClock()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.device.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { close(n.quit) })
	pd, err := n.device.NewPD()
	if err != nil {
		t.Fatal(err)
	}
	if n.pool, err = pd.NewPool(verbs.PoolConfig{Buffers: 64, Size: 4096}); err != nil {
		t.Fatal(err)
	}
	if n.cq, err = n.device.NewCQ(100, func(batch []verbs.Completion) { n.take(batch) }); err != nil {
		t.Fatal(err)
	}
	qp, err := n.device.NewUD(verbs.UDConfig{ID: 7, PD: pd, Sends: n.cq, Recvs: n.cq, Pool: n.pool, MaxSends: 10, QKey: qkey})
	if err != nil {
		t.Fatal(err)
	}
	n.qp = qp.(*ud)
	return n
}

func (n *udNode) take(batch []verbs.Completion) {
	for _, c := range batch {
		if c.Op != verbs.Receive {
			n.done <- c
			continue
		}
		d := datagram{c, string(c.Buffer.Bytes)}
		n.pool.Return(c.Buffer)
		select {
		case n.got <- d:
		case <-n.quit:
		}
	}
}

func (n *udNode) addr() netip.Addr { return n.device.Attr().Addr }

func (n *udNode) join(groups ...netip.Addr) {
	n.t.Helper()
	for _, g := range groups {
		if err := n.qp.Join(g); err != nil {
			n.t.Fatal(err)
		}
	}
}

// cast sends a datagram to a group; the method send sends one to a queue pair.
func (n *udNode) cast(to netip.Addr, text string) { n.send(to, verbs.MulticastQPN, text) }

func (n *udNode) send(to netip.Addr, qpn uint32, text string) {
	n.t.Helper()
	b := []byte(text)
	half := len(b) / 2
	list := []verbs.Datagram{{
		ID: uint64(len(b)), Pieces: []verbs.SGE{{Bytes: b[:half]}, {Bytes: b[half:]}}, Signaled: true, To: to, QPN: qpn, QKey: testQKey,
	}}
	if err := n.qp.PostSend(list); err != nil {
		n.t.Fatal(err)
	}
	if c := take(n.t, n.done); c.ID != uint64(len(b)) || c.QPN != n.qp.QPN() || c.Op != verbs.Send || c.Status != verbs.Success {
		n.t.Errorf("completion %+v", c)
	}
}

// want takes the next datagram and compares it.
func (n *udNode) want(from *udNode, group netip.Addr, text string) {
	n.t.Helper()
	d := take(n.t, n.got)
	if d.text != text || d.SrcAddr != from.addr() || d.SrcQPN != from.qp.QPN() || d.Group != group {
		n.t.Errorf("got %.20q from %v, %#x, to %v; want %.20q from %v, %#x, to %v", d.text, d.SrcAddr, d.SrcQPN, d.Group,
			text, from.addr(), from.qp.QPN(), group)
	}
	if d.ID != 7 || d.QPN != n.qp.QPN() || d.Status != verbs.Success {
		n.t.Errorf("completion %+v", d.Completion)
	}
}

// randomGroup returns a group that other tests on this machine are not likely to use.
func randomGroup() netip.Addr {
	return netip.AddrFrom4([4]byte{239, byte(1 + rand.IntN(250)), byte(rand.Uint32()), byte(rand.Uint32())})
}

// TestDatagrams: datagrams of all lengths reach a queue pair, and all members of a
// group but their sender; a member with another Q_Key gets none.
func TestDatagrams(t *testing.T) {
	a, b := loopbackAddr(), loopbackAddr()
	sender, member := openUD(t, Open, a, testQKey), openUD(t, Open, b, testQKey)
	neighbour, stranger := openUD(t, Open, a, testQKey), openUD(t, Open, b, testQKey+1)
	group, other := randomGroup(), randomGroup()
	for _, n := range []*udNode{sender, member, neighbour, stranger} {
		n.join(group, group)
	}
	member.join(other)
	mtu := sender.device.Attr().MTU
	if mtu != 4096 {
		t.Errorf("MTU of %d", mtu)
	}
	for i, size := range []int{0, 1, 2, 3, 4, 1000, mtu - 1, mtu} {
		text := string(bytes.Repeat([]byte{byte(i), 1, 2, 3, 5, 8, 13}, size/7+1)[:size])
		sender.send(b, member.qp.QPN(), text)
		member.want(sender, netip.Addr{}, text)
		sender.cast(group, text)
		member.want(sender, group, text)
		neighbour.want(sender, group, text)
	}
	sender.cast(other, "other")
	member.want(sender, other, "other")
	member.cast(group, "back")
	sender.want(member, group, "back")
	neighbour.want(member, group, "back")
	if n := len(stranger.got) + len(sender.got) + len(member.got) + len(neighbour.got); n > 0 {
		t.Errorf("%d datagrams too many", n)
	}
	wantCount(t, "with another Q_Key", &stranger.qp.counters.qkey, 9)
	wantCount(t, "of its own", &sender.qp.counters.own, 8)
	if got := sender.qp.hub.groups.stats(); got != (GroupStats{Groups: 1}) {
		t.Errorf("%+v", got)
	}
}

// wantCount waits until the counter has reached want.
func wantCount(t *testing.T, what string, c *atomic.Uint64, want uint64) {
	t.Helper()
	for begin := time.Now(); c.Load() < want && time.Since(begin) < wait; {
		runtime.Gosched()
	}
	if got := c.Load(); got != want {
		t.Errorf("%d datagrams %s, want %d", got, what, want)
	}
}

// TestLeaveGroup: a queue pair that has left a group receives nothing from it, while others
// still do. It may leave from inside the upcall, and any number of times.
func TestLeaveGroup(t *testing.T) {
	a, b := openUD(t, Open, loopbackAddr(), testQKey), openUD(t, Open, loopbackAddr(), testQKey)
	c := openUD(t, Open, b.addr(), testQKey)
	group, left := randomGroup(), randomGroup()
	b.join(group)
	for i := range 20 {
		b.join(left)
		c.join(left)
		a.cast(left, fmt.Sprint(i))
		b.want(a, left, fmt.Sprint(i))
		c.want(a, left, fmt.Sprint(i))
		if err := b.qp.Leave(left); err != nil {
			t.Fatal(err)
		}
		a.cast(left, "c alone")
		c.want(a, left, "c alone")
		if err := errors.Join(c.qp.Leave(left), b.qp.Leave(left)); err != nil {
			t.Fatal(err)
		}
		a.cast(left, "nobody")
		a.cast(group, "next")
		b.want(a, group, "next")
	}
	b.qp.Close()
	b.qp.Close()
	if err := b.qp.Join(group); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("join after Close: %v", err)
	}
	if err := b.qp.PostSend(nil); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("post after Close: %v", err)
	}
	if got := b.qp.hub.groups.stats().Groups; got != 0 {
		t.Errorf("still in %d groups", got)
	}
}

// TestDatagramRefusals: a datagram that cannot be sent, or a group that cannot be joined, is
// refused. Of a refused list nothing is sent.
func TestDatagramRefusals(t *testing.T) {
	n := openUD(t, Open, loopbackAddr(), testQKey)
	peer := openUD(t, Open, loopbackAddr(), testQKey)
	good := verbs.Datagram{To: peer.addr(), QPN: peer.qp.QPN(), QKey: testQKey, Pieces: []verbs.SGE{{Bytes: []byte("good")}}}
	for _, tt := range []struct {
		name string
		bend func(d *verbs.Datagram)
		want error
	}{
		{"too large", func(d *verbs.Datagram) { d.Pieces = append(d.Pieces, verbs.SGE{Bytes: make([]byte, 4093)}) }, verbs.ErrTooLarge},
		{"no address", func(d *verbs.Datagram) { d.To = netip.Addr{} }, errUD},
		{"other family", func(d *verbs.Datagram) { d.To = netip.IPv6LinkLocalAllNodes() }, errUD},
		{"group's number to a node", func(d *verbs.Datagram) { d.QPN = verbs.MulticastQPN }, errUD},
		{"number of a node to a group", func(d *verbs.Datagram) { d.To = randomGroup() }, errUD},
		{"number of 25 bits", func(d *verbs.Datagram) { d.QPN |= 1 << 24 }, errUD},
	} {
		bad := good
		tt.bend(&bad)
		if err := n.qp.PostSend([]verbs.Datagram{good, bad}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if err := n.qp.PostSend(make([]verbs.Datagram, 0)); err != nil {
		t.Errorf("nothing: %v", err)
	}
	many := make([]verbs.Datagram, 11)
	for i := range many {
		many[i] = good
	}
	if err := n.qp.PostSend(many); !errors.Is(err, verbs.ErrFull) {
		t.Errorf("11 of 10: %v", err)
	}
	for _, g := range []netip.Addr{{}, peer.addr(), netip.MustParseAddr("ff15::1")} {
		if err := n.qp.Join(g); !errors.Is(err, errUD) {
			t.Errorf("join %v: %v", g, err)
		}
	}
	n.send(peer.addr(), peer.qp.QPN(), "last")
	peer.want(n, netip.Addr{}, "last")
	for _, cfg := range []verbs.UDConfig{
		{},
		{Sends: n.cq, Recvs: n.cq, Pool: n.pool},
		{Sends: n.cq, Recvs: n.cq, Pool: n.pool, MaxSends: 101},
		{Sends: peer.cq, Recvs: n.cq, Pool: n.pool, MaxSends: 1},
		{Sends: n.cq, Recvs: n.cq, MaxSends: 1},
	} {
		if _, err := n.device.NewUD(cfg); err == nil {
			t.Errorf("made of %+v", cfg)
		}
	}
}

// TestTooManyGroups: the number of groups is limited, and leaving one makes room for another.
func TestTooManyGroups(t *testing.T) {
	n := openUD(t, Open, loopbackAddr(), testQKey)
	first := randomGroup()
	for i, g := 0, first; i < maxGroups; i, g = i+1, g.Next() {
		n.join(g)
	}
	one := netip.MustParseAddr("239.255.255.255")
	if err := n.qp.Join(one); !errors.Is(err, errGroups) {
		t.Fatalf("join one more: %v", err)
	}
	if err := n.qp.Leave(first); err != nil {
		t.Fatal(err)
	}
	n.join(one)
}

// TestDatagramOverrun: a datagram that finds the system's receive buffer full is lost, and is
// counted as soon as the next one arrives. As many datagrams as surely fit into ReceiveBuffer bytes
// are all received.
func TestDatagramOverrun(t *testing.T) {
	const size = 1000
	sender, member := openUD(t, Open, loopbackAddr(), testQKey), openUD(t, Open, loopbackAddr(), testQKey)
	group, text := randomGroup(), strings.Repeat("x", size)
	member.join(group)
	fits := member.qp.ReceiveBuffer() / (2*size + 1024)
	if fits < 70 {
		t.Errorf("a receive buffer of %d bytes", member.qp.ReceiveBuffer())
	}
	for range cap(member.got) {
		member.got <- datagram{} // the upcall waits until the channel is read
	}
	sender.cast(group, text)
	for member.qp.counters.received.Load() == 0 {
		runtime.Gosched()
	}
	for range fits {
		sender.cast(group, text)
	}
	for range cap(member.got) {
		<-member.got
	}
	for range 1 + fits {
		member.want(sender, group, text)
	}
	if got := member.qp.Missed(); got != 0 {
		t.Errorf("%d of those that fit are missed", got)
	}
	many := cap(member.got) + 4*fits
	for range many {
		sender.cast(group, text)
	}
	for begin := time.Now(); member.qp.Missed() == 0 && time.Since(begin) < wait; {
		for len(member.got) > 0 {
			<-member.got
		}
		sender.cast(group, text)
		many++
	}
	if s := member.device.(*device).Stats(); s.Groups.Missed == 0 || s.Groups.Missed > uint64(many) || s.Datagrams.NoBuffer > 0 {
		t.Errorf("%+v, %+v", s.Groups, s.Datagrams)
	}
}
