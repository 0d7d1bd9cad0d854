//go:build ibverbs && cgo && linux

package ibv

import (
	"errors"
	"net/netip"
	"testing"

	"ulnet/lnd/verbs"
)

// TestOnFakeDatagrams: to groups, to nodes, and never to oneself.
func TestOnFakeDatagrams(t *testing.T) {
	fake(t)
	a, b := newNode(t, "127.0.0.2"), newNode(t, "127.0.0.3")
	b.keep = true
	group := netip.MustParseAddr("239.1.2.3")
	ud := func(n *node) verbs.UD {
		u, err := n.dev.NewUD(verbs.UDConfig{ID: 9, PD: n.pd, Sends: n.cq, Recvs: n.cq, Pool: n.pool, MaxSends: nodeSends, QKey: 0x1234})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := u.Join(group); err != nil {
				t.Fatal(err)
			}
		}
		return u
	}
	x, y := ud(a), ud(b)
	id := uint64(0)
	send := func(to netip.Addr, qpn, qkey uint32, text string) {
		t.Helper()
		id++
		dg := verbs.Datagram{ID: id, Pieces: []verbs.SGE{{Bytes: []byte(text)}}, Signaled: true, To: to, QPN: qpn, QKey: qkey}
		if err := x.PostSend([]verbs.Datagram{dg}); err != nil {
			t.Fatal(err)
		}
		if c := within(t, "a completion", a.done); c.ID != id || c.Status != verbs.Success {
			t.Errorf("completion %+v", c)
		}
	}
	want := func(text string, g netip.Addr) {
		t.Helper()
		c := within(t, "a datagram", b.kept)
		if string(c.Buffer.Bytes) != text || c.SrcAddr != a.addr || c.SrcQPN != x.QPN() || c.Group != g || c.ID != 9 || c.QPN != y.QPN() {
			t.Errorf("received %+v, %q", c, c.Buffer.Bytes)
		}
		b.pool.Return(c.Buffer)
	}
	send(group, verbs.MulticastQPN, 0x1234, "to all")
	want("to all", group)
	send(group, verbs.MulticastQPN, 0x4321, "with another Q_Key")
	send(netip.MustParseAddr("239.9.9.9"), verbs.MulticastQPN, 0x1234, "to others")
	for len(b.kept) == 0 { // the first are lost while the node is looked for
		send(b.addr, y.QPN(), 0x1234, "to one")
	}
	want("to one", netip.Addr{})
	if err := y.Leave(group); err != nil {
		t.Error(err)
	}
	send(group, verbs.MulticastQPN, 0x1234, "to nobody")
	send(b.addr, y.QPN(), 0x1234, "last")
	for c := range b.kept {
		text := string(c.Buffer.Bytes)
		b.pool.Return(c.Buffer)
		if text == "last" {
			break
		}
		if text != "to one" {
			t.Errorf("received %q", text)
		}
	}
	for name, dg := range map[string]verbs.Datagram{
		"too long":              {To: group, QPN: verbs.MulticastQPN, Pieces: []verbs.SGE{{Bytes: make([]byte, 1025)}}},
		"a group's QPN, a node": {To: b.addr, QPN: verbs.MulticastQPN},
		"a group, a node's QPN": {To: group, QPN: 5},
		"another family":        {To: netip.MustParseAddr("::1"), QPN: 5},
	} {
		if err := x.PostSend([]verbs.Datagram{dg}); err == nil {
			t.Errorf("%s: it was posted", name)
		}
	}
	if err := x.Join(b.addr); err == nil {
		t.Error("joined what is no group")
	}
	x.Close()
	y.Close()
	if err := x.PostSend(make([]verbs.Datagram, 1)); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("posting to a closed one: %v", err)
	}
	if len(a.got) != 0 {
		t.Error("a node received its own datagram")
	}
	a.close()
	b.close()
}
