package verbstest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
)

const qkey = 0x01234567

// newUD makes a queue pair for datagrams, or skips the test where there is none.
func (s *suite) newUD(i int, key uint32) verbs.UD {
	s.t.Helper()
	n := s.nodes[i]
	u, err := n.device.NewUD(verbs.UDConfig{
		ID: 78, PD: n.pd, Sends: n.cq, Recvs: n.recvs, Pool: n.pool, MaxSends: maxSends, QKey: key,
	})
	if errors.Is(err, errors.ErrUnsupported) {
		s.t.Skip("no datagrams: ", err)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// group returns a multicast address that other tests are not likely to use.
func (s *suite) group() netip.Addr {
	if s.nodes[0].device.Attr().Addr.Is4() {
		return netip.AddrFrom4([4]byte{239, byte(1 + rand.IntN(250)), byte(rand.Uint32()), byte(rand.Uint32())})
	}
	a := netip.MustParseAddr("ff15::").As16()
	a[14], a[15] = byte(rand.Uint32()), byte(rand.Uint32())
	return netip.AddrFrom16(a)
}

// hear repeats a datagram until it arrives at node to: the first ones may be lost while the
// system resolves the address.
func (s *suite) hear(from, to int, u verbs.UD, d verbs.Datagram) verbs.Completion {
	s.t.Helper()
	want := d.Pieces[0].Bytes
	for begin := time.Now(); time.Since(begin) < patience; {
		if err := u.PostSend([]verbs.Datagram{d}); err != nil {
			s.t.Fatal(err)
		}
		if c := take(s.t, s.nodes[from].sent); c.ID != d.ID || c.QPN != u.QPN() || c.Op != verbs.Send || c.Status != verbs.Success {
			s.t.Fatalf("completion %+v", c)
		}
		for timer := time.NewTimer(50 * time.Millisecond); ; {
			select {
			case c := <-s.nodes[to].received:
				same := bytes.Equal(c.Buffer.Bytes, want)
				s.nodes[to].pool.Return(c.Buffer)
				if same {
					return c
				}
				continue // skip a datagram that was sent earlier
			case <-timer.C:
			}
			break
		}
	}
	s.t.Fatal("no datagram arrives")
	return verbs.Completion{}
}

// datagrams: each reaches the queue pair that it is sent to, whole, with the address of its
// sender.
func datagrams(t *testing.T, s *suite) {
	a, b := s.newUD(0, qkey), s.newUD(1, qkey)
	attr := s.nodes[0].device.Attr()
	for i, size := range []int{0, 1, 3, 100, min(attr.MTU, messageSize) - 1, min(attr.MTU, messageSize)} {
		d := verbs.Datagram{
			ID: uint64(i), Signaled: true, To: s.nodes[1].device.Attr().Addr, QPN: b.QPN(), QKey: qkey,
			Pieces: []verbs.SGE{{Bytes: message(uint64(i+1), size)}},
		}
		c := s.hear(0, 1, a, d)
		if c.ID != 78 || c.QPN != b.QPN() || c.Status != verbs.Success || c.SrcAddr != attr.Addr || c.SrcQPN != a.QPN() || c.Group.IsValid() {
			t.Errorf("%d bytes: %+v", size, c)
		}
	}
}

// groupsOfUD: members get what is sent to their group, except for the sender. Queue pairs
// that have left, or have another Q_Key, do not.
func groupsOfUD(t *testing.T, s *suite) {
	a, b, other, alien := s.newUD(0, qkey), s.newUD(1, qkey), s.group(), s.newUD(1, qkey+1)
	g := s.group()
	for _, u := range []verbs.UD{a, b, alien} {
		if err := errors.Join(u.Join(g), u.Join(g)); err != nil {
			t.Fatal(err)
		}
	}
	to := func(g netip.Addr, id uint64, text string) verbs.Datagram {
		return verbs.Datagram{ID: id, Signaled: true, To: g, QPN: verbs.MulticastQPN, QKey: qkey, Pieces: []verbs.SGE{{Bytes: []byte(text)}}}
	}
	c := s.hear(0, 1, a, to(g, 1, "to the group"))
	if c.Group != g || c.SrcAddr != s.nodes[0].device.Attr().Addr || c.SrcQPN != a.QPN() || c.QPN != b.QPN() {
		t.Errorf("%+v", c)
	}
	if c := s.hear(1, 0, b, to(g, 2, "back")); c.Group != g || c.SrcQPN != b.QPN() || c.QPN != a.QPN() {
		t.Errorf("%+v", c)
	}
	if err := b.Join(other); err != nil {
		t.Fatal(err)
	}
	if c := s.hear(0, 1, a, to(other, 3, "to the other group")); c.Group != other {
		t.Errorf("%+v", c)
	}
	if err := b.Leave(g); err != nil {
		t.Fatal(err)
	}
	if err := a.PostSend([]verbs.Datagram{to(g, 4, "left")}); err != nil {
		t.Fatal(err)
	}
	take(t, s.nodes[0].sent)
	s.hear(0, 1, a, to(other, 5, "last"))
	for _, n := range s.nodes {
		for len(n.received) > 0 {
			c := <-n.received
			if text := string(c.Buffer.Bytes); text == "left" || c.QPN == alien.QPN() || n == s.nodes[0] && text != "back" {
				t.Errorf("queue pair %#x got %q", c.QPN, text)
			}
			n.pool.Return(c.Buffer)
		}
	}
}

// datagramErrors: datagrams that cannot be sent are refused, the whole list, and a queue pair
// that is closed refuses everything.
func datagramErrors(t *testing.T, s *suite) {
	a, b := s.newUD(0, qkey), s.newUD(1, qkey)
	good := verbs.Datagram{
		ID: 1, Signaled: true, To: s.nodes[1].device.Attr().Addr, QPN: b.QPN(), QKey: qkey, Pieces: []verbs.SGE{{Bytes: []byte("good")}},
	}
	long := good
	long.Pieces = []verbs.SGE{{Bytes: make([]byte, s.nodes[0].device.Attr().MTU+1)}}
	if err := a.PostSend([]verbs.Datagram{good, long}); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("longer than a packet: %v", err)
	}
	many := make([]verbs.Datagram, maxSends+1)
	for i := range many {
		many[i] = good
	}
	if err := a.PostSend(many); !errors.Is(err, verbs.ErrFull) {
		t.Errorf("more than MaxSends: %v", err)
	}
	s.hear(0, 1, a, good)
	a.Close()
	a.Close()
	if err := a.PostSend([]verbs.Datagram{good}); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if n := len(s.nodes[0].sent); n > 0 {
		t.Errorf("%d completions of what was refused", n)
	}
}
