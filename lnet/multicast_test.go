package lnet_test

import (
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/recovery"
	"ulnet/lnet/wire"
)

// caster is a driver that has multicast.
type caster struct {
	driver
	limit  int
	refuse error // error that Join returns

	mu    sync.Mutex
	calls []string // calls of Join and Leave; guarded by mu
}

func (c *caster) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	if _, err := c.driver.Startup(cfg, up); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *caster) GroupNID(g lnd.Group) nid.NID { return nid.FromNumber(c.id.Net(), 239<<24|uint32(g)) }
func (c *caster) Multicast(m *lnd.Message)     { c.Send(m) }

func (c *caster) MulticastLimits() lnd.MulticastLimits {
	return lnd.MulticastLimits{MaxPayload: c.limit, ReceiveBuffer: 1 << 16}
}

func (c *caster) Join(g lnd.Group) error {
	c.note("join " + c.GroupNID(g).String())
	return c.refuse
}

func (c *caster) Leave(g lnd.Group) error {
	c.note("leave " + c.GroupNID(g).String())
	return nil
}

func (c *caster) note(call string) {
	c.mu.Lock()
	c.calls = append(c.calls, call)
	c.mu.Unlock()
}

// newCaster is a node with a plain NI, and one with multicast on tcp1, which has joined group 3 for
// portal 0.
func newCaster(t *testing.T) (*lnet.Node, *upper, *caster) {
	t.Helper()
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	c := &caster{driver: driver{id: self1}, limit: 1000}
	ni, err := r.node.AddNI(c, lnd.Config{Net: self1.Net()})
	if err == nil {
		err = ni.JoinGroup(3, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.node, r.up, c
}

// TestJoinGroup: the driver joins a group at the first call of JoinGroup, and leaves it when LeaveGroup has been
// called as many times as JoinGroup for each portal.
func TestJoinGroup(t *testing.T) {
	node, _, c := newCaster(t)
	ni, err := node.MulticastNI(nid.NID{})
	if err != nil || ni.NID() != self1 {
		t.Fatalf("multicast at %v, %v", ni, err)
	}
	if err := ni.LeaveGroup(3, 0); err != nil {
		t.Fatal(err)
	}
	c.calls = nil
	for _, portal := range []uint32{40, 41, 41} {
		if err := ni.JoinGroup(5, portal); err != nil {
			t.Fatal(err)
		}
	}
	want := []lnet.GroupSnapshot{{Group: 5, NID: nid.MustParse("239.0.0.5@tcp1"), Members: 3}}
	if got := node.Snapshot().NIs[1].Groups; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
	for _, leave := range []struct {
		portal uint32
		want   error
	}{{40, nil}, {40, syscall.ENOENT}, {41, nil}, {41, nil}, {41, syscall.ENOENT}} {
		if err := ni.LeaveGroup(5, leave.portal); !errors.Is(err, leave.want) {
			t.Errorf("leave for portal %d: %v, want %v", leave.portal, err, leave.want)
		}
	}
	if want := []string{"join 239.0.0.5@tcp1", "leave 239.0.0.5@tcp1"}; !slices.Equal(c.calls, want) {
		t.Errorf("the driver was told %v, want %v", c.calls, want)
	}
	if err := ni.JoinGroup(0, 40); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("group 0: %v", err)
	}
	c.refuse = syscall.ENOBUFS
	if err := ni.JoinGroup(6, 40); !errors.Is(err, syscall.ENOBUFS) {
		t.Errorf("refused: %v", err)
	}
	if got := node.Snapshot().NIs[1].Groups; got != nil {
		t.Errorf("groups %v after a refusal", got)
	}
}

// TestMulticastNI: for an NI without multicast the error is one that callers can recognize, so that
// they can do without multicast.
func TestMulticastNI(t *testing.T) {
	node, _, c := newCaster(t)
	if _, err := node.MulticastNI(self); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an NI without multicast: %v", err)
	}
	if _, err := node.MulticastNI(peerA); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("no NI of ours: %v", err)
	}
	if ni, err := node.MulticastNI(c.id); err != nil || ni.MulticastLimits().MaxPayload != 1000 {
		t.Errorf("%v, %v", ni, err)
	}
	plain := newRig(t, lnd.Tunables{}, lnet.Config{})
	if _, err := plain.node.MulticastNI(nid.Any()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("no NI has multicast: %v", err)
	}
	if err := plain.ni.JoinGroup(1, 40); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("join: %v", err)
	}
	c = &caster{driver: driver{id: second}} // a driver that finds its net to have no multicast
	if _, err := plain.node.AddNI(c, lnd.Config{Net: tcp}); err != nil {
		t.Fatal(err)
	}
	if _, err := plain.node.MulticastNI(second); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an NI with limit 0: %v", err)
	}
}

// TestSendGroup: a datagram leaves without a peer, credits or discovery, and an NI that is
// removed waits for it.
func TestSendGroup(t *testing.T) {
	node, up, c := newCaster(t)
	node.SetDiscoverer(func(id nid.NID) { t.Errorf("discovery of %v", id) })
	const n = 1000 // more messages than there are credits
	for bits := range uint64(n) {
		m := put(nid.NID{}, bits)
		m.Group = 9
		node.Send(m)
	}
	if got := len(c.inFlight()); got != n {
		t.Fatalf("%d are with the driver, want %d", got, n)
	}
	m := c.sent[0]
	if h := m.Header; h.SrcNID != self1 || h.DestNID != c.GroupNID(9) || h.DestPID != nid.LustrePID || m.Target.NID != h.DestNID {
		t.Errorf("header %+v, target %v", h, m.Target)
	}
	ni, _ := node.MulticastNI(self1)
	if err := node.RemoveNI(over(), ni); err == nil {
		t.Error("removed although datagrams were under way")
	}
	if err, ended := up.result(n - 1); !ended || !errors.Is(err, syscall.ESHUTDOWN) {
		t.Errorf("ended %v with %v", ended, err)
	}
	late := put(nid.NID{}, n)
	late.Group = 9
	node.Send(late)
	if err, ended := up.result(n); !ended || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without an NI: ended %v with %v", ended, err)
	}
	if peers := node.Snapshot().Peers; len(peers) > 0 {
		t.Errorf("peers %v", peers)
	}
}

// TestDatagramPortals: a datagram reaches only a portal for which its group was joined. Any host can send
// one in the name of any NID, and the users of other portals, such as discovery, rely on the names of senders.
func TestDatagramPortals(t *testing.T) {
	spec.Covers(t, "RM-A22")
	node, up, c := newCaster(t)
	ni, err := node.MulticastNI(self1)
	if err == nil {
		err = errors.Join(ni.JoinGroup(4, 60), ni.JoinGroup(4, 61), ni.LeaveGroup(4, 61))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		group  lnd.Group
		portal uint32
		taken  bool
	}{
		{3, 0, true},
		{4, 60, true},
		{4, 61, false}, // the group was left for this portal
		{3, 60, false}, // only another group was joined for this portal
		{4, 0, false},
		{4, 64, false},
		{4, 1<<32 - 1, false},
		{5, 60, false},
	} {
		d := c.datagram(peer1)
		d.Group = tt.group
		d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), Portal: tt.portal})
		taken, dropped := up.delivered, node.Stats().DropReasons[lnet.NoMulticast.String()]
		c.receive(t, d)
		taken, dropped = up.delivered-taken, node.Stats().DropReasons[lnet.NoMulticast.String()]-dropped
		if tt.taken != (taken == 1) || tt.taken == (dropped == 1) {
			t.Errorf("a datagram to group %d, portal %d: %d taken, %d dropped", tt.group, tt.portal, taken, dropped)
		}
	}
}

// datagram returns a PUT to group 3 and portal 0 that comes from the address of a NID.
func (c *caster) datagram(from nid.NID) *lnd.Delivery {
	d := &lnd.Delivery{Group: 3, From: nid.ProcessID{NID: from, PID: nid.LustrePID}}
	d.Header = wire.Header{SrcNID: from, SrcPID: nid.LustrePID, DestNID: c.GroupNID(3), DestPID: nid.LustrePID}
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle()})
	return d
}

// receive makes a datagram arrive.
func (c *caster) receive(t *testing.T, d *lnd.Delivery) {
	t.Helper()
	if answer, err := c.up.Parse(d); answer != lnd.Accept || err != nil {
		t.Fatalf("answer %v, %v", answer, err)
	}
	c.up.Delivered(d, nil)
}

// TestParseGroup: a datagram from any host is taken or dropped with a reason. It never ends
// connections, makes no peer, and does not count as a sign of liveness.
func TestParseGroup(t *testing.T) {
	stranger := nid.MustParse("10.1.0.77@tcp1")
	for _, tt := range []struct {
		name string
		bend func(h *wire.Header)
		want lnet.DropReason
	}{
		{"a PUT", func(*wire.Header) {}, lnet.NotDropped},
		{"a PUT that wants an ACK", func(h *wire.Header) { h.SetPut(wire.PutCmd{}) }, lnet.NoMulticast},
		{"a GET", func(h *wire.Header) { h.SetGet(wire.GetCmd{}) }, lnet.NoMulticast},
		{"an ACK", func(h *wire.Header) { h.SetAck(wire.AckCmd{}) }, lnet.NoMulticast},
		{"a REPLY", func(h *wire.Header) { h.SetReply(wire.ReplyCmd{}) }, lnet.NoMulticast},
		{"a HELLO", func(h *wire.Header) { h.Type = wire.Hello }, lnet.NoMulticast},
		{"no type", func(h *wire.Header) { h.Type = 99 }, lnet.NoMulticast},
		{"huge", func(h *wire.Header) { h.PayloadLength = 1<<20 + 1 }, lnet.NoMulticast},
		{"from nobody", func(h *wire.Header) { h.SrcNID = nid.NID{} }, lnet.BadSource},
		{"from anybody", func(h *wire.Header) { h.SrcNID = nid.Any() }, lnet.BadSource},
		{"from lo", func(h *wire.Header) { h.SrcNID = nid.Lo0() }, lnet.BadSource},
		{"from another net", func(h *wire.Header) { h.SrcNID = peerA }, lnet.BadSource},
		{"from ourselves", func(h *wire.Header) { h.SrcNID = self1 }, lnet.BadSource},
		{"under another's name", func(h *wire.Header) { h.SrcNID = peer1 }, lnet.ForeignSource},
		{"under another process's name", func(h *wire.Header) { h.SrcPID = 7 }, lnet.ForeignSource},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node, up, c := newCaster(t)
			d := c.datagram(stranger)
			tt.bend(&d.Header)
			c.receive(t, d)
			stats, taken := node.Stats(), up.delivered == 1
			if taken != (tt.want == lnet.NotDropped) || !taken && stats.DropReasons[tt.want.String()] != 1 {
				t.Errorf("taken %v, dropped %v, want %v", taken, stats.DropReasons, tt.want)
			}
			if _, heard := node.LastHeard(d.From); heard || len(node.Snapshot().Peers) > 0 {
				t.Errorf("heard %v, peers %v", heard, node.Snapshot().Peers)
			}
		})
	}
}

// TestFailedDatagram checks that FailNID applies to datagrams, too.
func TestFailedDatagram(t *testing.T) {
	node, up, c := newCaster(t)
	if err := node.FailNID(peer1, lnet.FailForever); err != nil {
		t.Fatal(err)
	}
	c.receive(t, c.datagram(peer1))
	if n := node.Stats().DropReasons[lnet.SimulatedFailure.String()]; n != 1 || up.delivered != 0 {
		t.Errorf("%d drops, %d delivered; want 1, 0", n, up.delivered)
	}
}

// TestDatagramsOfPeers: a datagram from a known node carries the node's primary NID. It is no sign that
// the node runs: its source may be forged. So it does not heal the node's NI, nor that of this node.
func TestDatagramsOfPeers(t *testing.T) {
	spec.Covers(t, "RM-A22")
	node, up, c := newCaster(t)
	var primary nid.NID
	up.arrive = func(_ *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
		primary = d.Primary
		d.Owner = up
		return lnd.Accept, lnet.NotDropped
	}
	node.SetPeer(lnet.Peer{Primary: peerA, NIs: []wire.NIStatus{{NID: peerA}, {NID: peer1}}, Flags: lnet.PeerNIDsUpToDate})
	c.up.PeerUp(nid.ProcessID{NID: peer1, PID: nid.LustrePID})
	if err := errors.Join(node.SetPeerHealth(peer1, 500), node.SetNIHealth(self1, 500)); err != nil {
		t.Fatal(err)
	}
	d := c.datagram(peer1)
	c.receive(t, d)
	if primary != peerA {
		t.Errorf("came from %v, want %v", primary, peerA)
	}
	for _, of := range []recovery.Target{{NID: peer1}, {NID: self1, Local: true}} {
		if health, _, ok := node.Condition(of); !ok || health != 500 {
			t.Errorf("the health of %v is %d after a datagram, want 500", of.NID, health)
		}
	}
	for _, p := range node.Snapshot().Peers {
		if p.NID == peer1 && p.Traffic.Received.Put != 1 {
			t.Errorf("%d PUTs of the peer, want 1", p.Traffic.Received.Put)
		}
	}
	if _, heard := node.LastHeard(d.From); heard {
		t.Error("a datagram is a sign of life")
	}
}
