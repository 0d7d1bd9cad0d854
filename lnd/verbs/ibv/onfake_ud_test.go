//go:build ibverbs && cgo && linux

package ibv

import (
	"errors"
	"net/netip"
	"testing"

	"ulnet/lnd/verbs"
)

// casting is two members of one group, of which a sends to b.
type casting struct {
	t    *testing.T
	a, b *node
	x, y verbs.UD // queue pairs at nodes a and b
	id   uint64   // ID of the last datagram
}

var castGroup = netip.MustParseAddr("239.1.2.3")

func newCasting(t *testing.T) *casting {
	f := &casting{t: t, a: newNode(t, "127.0.0.2"), b: newNode(t, "127.0.0.3")}
	f.b.keep = true
	f.x, f.y = f.open(f.a), f.open(f.b)
	return f
}

// open opens a member of the group, which joins twice.
func (f *casting) open(n *node) verbs.UD {
	f.t.Helper()
	u, err := n.dev.NewUD(verbs.UDConfig{ID: 9, PD: n.pd, Sends: n.cq, Recvs: n.cq, Pool: n.pool, MaxSends: nodeSends, QKey: 0x1234})
	if err != nil {
		f.t.Fatal(err)
	}
	for range 2 {
		if err := u.Join(castGroup); err != nil {
			f.t.Fatal(err)
		}
	}
	return u
}

func (f *casting) send(to netip.Addr, qpn, qkey uint32, text string) {
	f.t.Helper()
	f.id++
	dg := verbs.Datagram{ID: f.id, Pieces: []verbs.SGE{{Bytes: []byte(text)}}, Signaled: true, To: to, QPN: qpn, QKey: qkey}
	if err := f.x.PostSend([]verbs.Datagram{dg}); err != nil {
		f.t.Fatal(err)
	}
	if c := within(f.t, "a completion", f.a.done); c.ID != f.id || c.Status != verbs.Success {
		f.t.Errorf("completion %+v", c)
	}
}

// want takes the next datagram at b, which was sent to group g or, if g is the zero Addr, to
// b itself.
func (f *casting) want(text string, g netip.Addr) {
	f.t.Helper()
	c := within(f.t, "a datagram", f.b.kept)
	if string(c.Buffer.Bytes) != text || c.SrcAddr != f.a.addr || c.SrcQPN != f.x.QPN() || c.Group != g || c.ID != 9 || c.QPN != f.y.QPN() {
		f.t.Errorf("received %+v, %q", c, c.Buffer.Bytes)
	}
	f.b.pool.Return(c.Buffer)
}

// wantOnly takes datagrams at b up to the one with the text last; all before it must have the
// text other.
func (f *casting) wantOnly(other, last string) {
	f.t.Helper()
	for c := range f.b.kept {
		text := string(c.Buffer.Bytes)
		f.b.pool.Return(c.Buffer)
		if text == last {
			return
		}
		if text != other {
			f.t.Errorf("received %q", text)
		}
	}
}

// wantRefused checks that invalid datagrams and groups are refused.
func (f *casting) wantRefused() {
	f.t.Helper()
	for name, dg := range map[string]verbs.Datagram{
		"too long":              {To: castGroup, QPN: verbs.MulticastQPN, Pieces: []verbs.SGE{{Bytes: make([]byte, 1025)}}},
		"a group's QPN, a node": {To: f.b.addr, QPN: verbs.MulticastQPN},
		"a group, a node's QPN": {To: castGroup, QPN: 5},
		"another family":        {To: netip.MustParseAddr("::1"), QPN: 5},
	} {
		if err := f.x.PostSend([]verbs.Datagram{dg}); err == nil {
			f.t.Errorf("%s: it was posted", name)
		}
	}
	if err := f.x.Join(f.b.addr); err == nil {
		f.t.Error("joined what is no group")
	}
}

// TestOnFakeDatagrams sends datagrams to groups and to nodes; the sender does not receive its
// own.
func TestOnFakeDatagrams(t *testing.T) {
	fake(t)
	f := newCasting(t)
	f.send(castGroup, verbs.MulticastQPN, 0x1234, "to all")
	f.want("to all", castGroup)
	f.send(castGroup, verbs.MulticastQPN, 0x4321, "with another Q_Key")
	f.send(netip.MustParseAddr("239.9.9.9"), verbs.MulticastQPN, 0x1234, "to others")
	for len(f.b.kept) == 0 { // datagrams are lost until the device has found the node's address
		f.send(f.b.addr, f.y.QPN(), 0x1234, "to one")
	}
	f.want("to one", netip.Addr{})
	if err := f.y.Leave(castGroup); err != nil {
		t.Error(err)
	}
	f.send(castGroup, verbs.MulticastQPN, 0x1234, "to nobody")
	f.send(f.b.addr, f.y.QPN(), 0x1234, "last")
	f.wantOnly("to one", "last")
	f.wantRefused()
	f.x.Close()
	f.y.Close()
	if err := f.x.PostSend(make([]verbs.Datagram, 1)); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("posting to a closed one: %v", err)
	}
	if len(f.a.got) != 0 {
		t.Error("a node received its own datagram")
	}
	f.a.close()
	f.b.close()
}
