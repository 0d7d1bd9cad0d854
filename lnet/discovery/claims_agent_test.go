package discovery_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

const (
	nidX  = "10.0.0.66@tcp" // NID of the stranger X
	nidB2 = "10.0.0.3@tcp"  // NID of B's other rail
)

// stranger makes a node whose discovery is off, so that it sends only the pushes that a test tells it to
// send (claim). It acknowledges the pushes that it gets.
func (c *cable) stranger(id string) *node {
	c.t.Helper()
	return c.node(discovery.Config{Off: true}, id)
}

// claim makes n push a ping info to the node with the NID to. The info lists the NIDs ids, as if they
// were n's.
func (n *node) claim(to string, sequence uint32, ids ...string) {
	n.t.Helper()
	info := wire.PingInfo{Features: discovery.PeerFeatures, PID: nid.LustrePID, Sequence: sequence}
	for _, id := range ids {
		info.NIs = append(info.NIs, wire.NIStatus{NID: nid.MustParse(id), Status: wire.StatusUp})
	}
	bytes, err := info.AppendBinary(nil)
	if err != nil {
		n.t.Fatal(err)
	}
	md, err := n.table.MDBind(portals.MD{Segments: []lnd.Segment{bytes}, Threshold: 1, Handler: func(*portals.Event) {}}, portals.Unlink)
	if err == nil {
		err = n.table.Put(portals.PutRequest{
			MD: md, Target: nid.ProcessID{NID: nid.MustParse(to)}, Portal: wire.PingPortal, MatchBits: wire.PingMatchBits,
		})
	}
	if err != nil {
		n.t.Fatal(err)
	}
	if w := n.cable; w.forge.IsValid() {
		w.waiting[len(w.waiting)-1].header.SrcNID = w.forge
	}
	n.cable.settle()
}

// TestStolenName: a stranger claims B's NIDs and its primary NID, before or after A has exchanged messages
// with B. For Initiators, match entries, LastHeard and WatchPeer of A, the stranger and B stay different
// nodes, and messages go to the node to which they are addressed.
func TestStolenName(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprintf("met before %v", before), func(t *testing.T) {
			w := newCable(t)
			a, b, x := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidB, nidB2), w.stranger(nidX)
			if before {
				a.put(nidB, 1)
				w.settle()
			}
			x.claim(nidA, 1<<32-1, nidB, nidX, nidB2)
			x.claim(nidA, 1, nidB2, nidB)
			downs := 0
			defer a.table.WatchPeer(nid.ProcessID{NID: nid.MustParse(nidB)}, func(c portals.PeerChange) {
				if !c.Up {
					downs++
				}
			})()
			a.got, b.got, x.got = nil, nil, nil
			x.put(nidA, 60)
			b.put(nidA, 22)
			a.put(nidB, 12)
			a.put(nidX, 16)
			w.settle()
			if p := a.table.Node().Peer(nid.MustParse(nidX)); p.Primary.String() != nidX || len(p.NIs) != 1 {
				t.Errorf("A knows the stranger as %+v", p)
			}
			got := fmt.Sprint(slices.Sorted(slices.Values(a.got)), b.got, x.got)
			want := "[10.0.0.2@tcp 22 10.0.0.66@tcp 60] [10.0.0.1@tcp 12] [10.0.0.1@tcp 16]"
			if got != want {
				t.Errorf("A, B and the stranger got %s, want %s", got, want)
			}
			w.ports[nid.MustParse(nidA)].up.PeerDown(nid.ProcessID{NID: nid.MustParse(nidX), PID: nid.LustrePID}, nil)
			if downs > 0 {
				t.Error("the stranger's end is told as B's")
			}
			if p := a.table.Node().Peer(nid.MustParse(nidB2)); p.Primary.String() != nidB || len(p.NIs) != 2 {
				t.Errorf("A knows B as %+v", p)
			}
		})
	}
}

// TestRailsConnectedBefore: messages have come from both rails of a node before it is discovered. As soon as
// it is discovered, both rails belong to one node, which has its primary NID.
func TestRailsConnectedBefore(t *testing.T) {
	w := newCable(t)
	a, b := w.node(discovery.Config{}, nidA), w.node(discovery.Config{Off: true}, nidB, nidB2)
	for _, from := range []string{nidB, nidB2} {
		b.putFrom(from, nidA, 7)
	}
	w.settle()
	if diff := cmp.Diff([]string{"10.0.0.2@tcp 7", "10.0.0.3@tcp 7"}, a.got); diff != "" {
		t.Errorf("initiators before (-want +got):\n%s", diff)
	}
	b.agent.SetDiscovery(true)
	w.log = nil
	a.put(nidB2, 1)
	w.settle()
	w.want("A asks both rails", "10.0.0.1@tcp GET 0 272", "10.0.0.3@tcp REPLY 64", "10.0.0.1@tcp PUT 0 48", "10.0.0.1@tcp GET 0 272",
		"10.0.0.3@tcp PUT 0 64", "10.0.0.3@tcp ACK", "10.0.0.2@tcp REPLY 64", "10.0.0.1@tcp ACK", "10.0.0.1@tcp PUT 5 1")
	a.got = nil
	for _, from := range []string{nidB, nidB2} {
		b.putFrom(from, nidA, 8)
	}
	w.settle()
	if diff := cmp.Diff([]string{"10.0.0.2@tcp 8", "10.0.0.2@tcp 8"}, a.got); diff != "" {
		t.Errorf("initiators after (-want +got):\n%s", diff)
	}
}

// TestPushPath: a push leaves from the NI at which the peer answered or pushed last, not from
// the first NI of the net.
func TestPushPath(t *testing.T) {
	const second = "10.0.0.11@tcp"
	w := newCable(t)
	a, b := w.node(discovery.Config{}, nidA, second), w.node(discovery.Config{}, nidB)
	b.put(second, 1)
	w.arrive(0)
	w.arrive(0)
	w.log = nil
	w.arrive(0)
	w.want("A answers B's push", second+" PUT 0 64", "10.0.0.11@tcp ACK")
	w.settle()
	if len(a.got) != 1 {
		t.Errorf("A got %v", a.got)
	}
}

// TestPushUnderAnotherName: a push counts for the node at the other end of its connection,
// whatever its header says.
func TestPushUnderAnotherName(t *testing.T) {
	w := newCable(t)
	a, b, x := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidB), w.stranger(nidX)
	b.put(nidA, 1)
	w.settle()
	before := a.table.Node().Peer(nid.MustParse(nidB))
	w.forge = nid.MustParse(nidB)
	x.claim(nidA, 1<<32-1, nidB, nidX, "10.9.0.66@tcp9")
	w.forge = nid.NID{}
	if diff := cmp.Diff(before, a.table.Node().Peer(nid.MustParse(nidB)), cmp.Comparer(func(a, b nid.NID) bool { return a == b })); diff != "" {
		t.Errorf("A knows B as (-before +after):\n%s", diff)
	}
}

// TestUserFlaggedPush: a push from a user process (with a user-flagged PID) at B's address changes nothing about B.
func TestUserFlaggedPush(t *testing.T) {
	w := newCable(t)
	a, b := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidB)
	b.put(nidA, 1)
	for i := range 3 { // deliver the GET, the REPLY and the push
		if i == 2 {
			w.waiting[0].header.SrcPID = nid.UserPID | 40000
		}
		w.arrive(0)
	}
	if s := a.agent.Stats(); s.UserPushes != 1 || a.table.Node().Peer(nid.MustParse(nidB)).Primary.IsValid() {
		t.Errorf("counters %+v", s)
	}
	w.settle()
}

// TestOldPush: of two pushes of one incarnation the older one changes nothing, even if it
// arrives last; a push of the next incarnation does.
func TestOldPush(t *testing.T) {
	w := newCable(t)
	a, x := w.node(discovery.Config{}, nidA, "10.1.0.1@tcp1"), w.stranger(nidX)
	for _, c := range []struct {
		incarnation uint64
		sequence    uint32
		ids         []string
		want        int // number of NIDs that X lists in the end
	}{
		{1, 9, []string{nidX, "10.9.0.66@tcp9"}, 2},
		{1, 8, []string{nidX}, 2},
		{1, 9, []string{nidX, "10.9.0.66@tcp9", "10.8.0.66@tcp8"}, 3},
		{2, 1, []string{nidX}, 1},
	} {
		w.ports[nid.MustParse(nidX)].incarnation = c.incarnation
		x.claim(nidA, c.sequence, c.ids...)
		if p := a.table.Node().Peer(nid.MustParse(nidX)); len(p.NIs)+len(p.Claimed) != c.want {
			t.Errorf("after push %d of life %d A knows %+v, want %d NIDs", c.sequence, c.incarnation, p, c.want)
		}
	}
}

// putFrom sends a PUT of length bytes to portal 5 of a node, from one of n's NIs.
func (n *node) putFrom(from, to string, length int) {
	n.t.Helper()
	md, err := n.table.MDBind(portals.MD{Segments: []lnd.Segment{make([]byte, length)}, Threshold: 1}, portals.Unlink)
	if err == nil {
		err = n.table.Put(portals.PutRequest{
			Self: nid.MustParse(from), MD: md, Target: nid.ProcessID{NID: nid.MustParse(to)}, Portal: 5,
		})
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// TestSlowPush: a stranger begins pushes on many connections, and does not send their payload. Pushes of other nodes
// are taken nevertheless, and so are messages on the connections of these nodes.
func TestSlowPush(t *testing.T) {
	spec.Covers(t, "PD-29")
	w := newCable(t)
	a, b, x := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidB), w.stranger(nidX)
	const begun = 2 // number of pushes of one neighbour that may be arriving
	slow := make([]*lnd.Delivery, 12)
	port := w.ports[nid.MustParse(nidA)]
	port.held = make(map[*lnd.Delivery]packet)
	up := port.up
	for i := range slow {
		slow[i] = &lnd.Delivery{From: nid.ProcessID{NID: nid.MustParse(nidX), PID: nid.LustrePID}}
		h := &slow[i].Header
		h.SrcNID, h.SrcPID = slow[i].From.NID, slow[i].From.PID
		h.DestNID, h.DestPID = nid.MustParse(nidA), nid.LustrePID
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: wire.PingMatchBits, Portal: wire.PingPortal})
		h.PayloadLength = wire.MaxPayload
		want := lnd.Accept
		if i >= begun {
			want = lnd.Hold
			port.held[slow[i]] = packet{payload: make([]byte, 16)} // no valid info
		}
		if answer, err := up.Parse(slow[i]); answer != want || err != nil {
			t.Fatalf("push %d: %v, %v", i, answer, err)
		}
	}
	b.put(nidA, 1)
	w.settle()
	if len(a.got) != 1 {
		t.Errorf("A got %v, want B's message", a.got)
	}
	for _, d := range slow[:begun] { // the others follow, because the port has their payload
		up.Delivered(d, nil)
	}
	x.claim(nidA, 2, nidX)
	w.settle()
	if s := a.agent.Stats(); s.PushesReceived != uint64(len(slow))+2 || s.BadPushes != uint64(len(slow)) {
		t.Errorf("counters %+v", s)
	}
}
