package lnet_test

import (
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
)

// wide is newWide's node with its drivers by NID.
type wide struct {
	*rig

	drivers map[nid.NID]*driver
}

func newRails(t *testing.T) *wide {
	r, drivers := newWide(t)
	return &wide{r, drivers}
}

// by finalizes the messages that were sent. For each, in the order of bits, it returns the
// NID it left from and that of the next hop.
func (w *wide) by(bits ...uint64) (by [][2]nid.NID) {
	w.t.Helper()
	at := make(map[uint64][2]nid.NID)
	for id, d := range w.drivers {
		d.mu.Lock()
		for _, m := range d.sent {
			at[m.Header.Put().MatchBits] = [2]nid.NID{id, m.Target.NID}
		}
		d.mu.Unlock()
	}
	for _, b := range bits {
		by = append(by, at[b])
	}
	w.endAll()
	return by
}

func (w *wide) endAll() {
	for _, d := range w.drivers {
		for d.finalize(nil) {
		}
	}
}

func (w *wide) want(what string, got [][2]nid.NID, want ...[2]nid.NID) {
	w.t.Helper()
	if len(got) != len(want) {
		w.t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			w.t.Errorf("%s: message %d went from %v to %v, want from %v to %v", what, i, got[i][0], got[i][1], want[i][0], want[i][1])
		}
	}
}

// TestRails: the messages to a multi-rail peer use all rails in turn. An NI or a peer NI that
// has gone down is not used.
func TestRails(t *testing.T) {
	spec.Covers(t, "SP-4", "SP-11")
	w := newRails(t)
	known := upToDate(peerA, peerB, peer1)
	w.node.SetPeer(known)
	w.send(peerA, 1, 2, 3, 4)
	w.want("all up", w.by(1, 2, 3, 4), [2]nid.NID{self, peerA}, [2]nid.NID{self1, peer1},
		[2]nid.NID{second, peerB}, [2]nid.NID{self1, peer1})
	w.node.NIs()[2].SetLink(errUnplugged)
	w.send(peer1, 5, 6)
	w.want("without a link", w.by(5, 6), [2]nid.NID{self, peerA}, [2]nid.NID{second, peerB})
	known = upToDate(peerA, peerB, peer1)
	known.NIs[0].Status = wire.StatusDown
	w.node.SetPeer(known)
	w.send(peerA, 7)
	w.want("one is down there", w.by(7), [2]nid.NID{self, peerB})
}

// TestCreditsCount: a message goes by the NI with more credits and to the peer NI with
// fewer messages.
func TestCreditsCount(t *testing.T) {
	spec.Covers(t, "SP-18")
	w := newRails(t)
	w.node.SetPeer(upToDate(peerA, peerB))
	// Two messages leave from self and stay in flight, so that self has fewer credits than second.
	for bits := range uint64(2) {
		m := put(peerC, bits)
		m.Source = self
		w.node.Send(m)
	}
	w.send(peerA, 2, 3, 4)
	got := w.by(2, 3, 4)
	w.want("one NI is busy", got, [2]nid.NID{second, peerA}, [2]nid.NID{second, peerB}, [2]nid.NID{self, peerA})
	if r := w.node.Rail(peerA); r == nil || w.node.Rail(self) != nil {
		t.Errorf("rail of the peer %v, of this node %v", r, w.node.Rail(self))
	}
	w.send(peerA, 5, 6) // all earlier messages have ended, so the NIs take turns
	w.want("none is", w.by(5, 6), [2]nid.NID{second, peerB}, [2]nid.NID{self, peerA})
}

// TestChooseAfterDiscovery: a message that waited for discovery can use a rail that discovery
// found, also if it waited for a NID that no NI reaches directly.
func TestChooseAfterDiscovery(t *testing.T) {
	spec.Covers(t, "SP-17")
	w := newRails(t)
	asked := w.asked()
	w.send(peerA, 1, 2, 3)
	if n := len(*asked); n != 1 {
		t.Fatalf("asked %d times", n)
	}
	w.node.SetPeer(upToDate(peerA, peer1))
	got := w.by(1, 2, 3)
	w.want("after discovery", got, [2]nid.NID{self1, peer1}, [2]nid.NID{second, peerA}, [2]nid.NID{self1, peer1})
	for bits := range uint64(3) {
		w.wantResult(bits+1, nil)
	}
}

// TestRouted: a message to a net beyond a gateway is sent to the gateway with its destination
// in the header, and waits for the discovery of that destination.
func TestRouted(t *testing.T) {
	spec.Covers(t, "SP-2", "SP-17")
	w := newRails(t)
	far := nid.MustParse("10.9.0.2@tcp9")
	w.node.SetRoutes([]*path.Gateway{{Net: far.Net(), Router: peerB}})
	asked := w.asked()
	m := put(far, 1)
	w.node.Send(m)
	if ids := *asked; len(ids) != 1 || ids[0] != far.String() {
		t.Fatalf("asked for %v", ids)
	}
	w.node.SetPeer(upToDate(far))
	if m.Header.DestNID != far || m.Target != (nid.ProcessID{NID: peerB, PID: nid.LustrePID}) || m.Header.SrcNID != self {
		t.Errorf("went from %v to %v by %v", m.Header.SrcNID, m.Header.DestNID, m.Target)
	}
	w.endAll()
	w.wantResult(1, nil)
	w.node.SetRoutes(nil)
	w.send(far, 2)
	w.wantResult(2, syscall.EHOSTUNREACH)
	if w.node.Rail(peerB) == nil {
		t.Error("the gateway was forgotten, though messages went to it")
	}
}

// TestForwarded: the header of a message that this node routes stays as it is.
func TestForwarded(t *testing.T) {
	w := newRails(t)
	w.asked()
	m := put(peer1, 1)
	m.Routed = true
	m.Header.SrcNID, m.Header.SrcPID, m.Header.DestPID = peerC, 77, 88
	w.node.Send(m)
	if m.Header.SrcNID != peerC || m.Header.SrcPID != 77 || m.Target != (nid.ProcessID{NID: peer1, PID: 88}) {
		t.Errorf("went from %v to %v", m.Header.SrcNID, m.Target)
	}
	w.endAll()
	w.wantResult(1, nil)
}

// TestRules: selection rules apply to existing NIs and to those that are added later, until
// the rules are removed.
func TestRules(t *testing.T) {
	spec.Covers(t, "UD-11")
	w := newRails(t)
	w.node.SetPeer(upToDate(peerA, peerB, peer1))
	w.node.SetRules(only{second, peerB})
	w.send(peerA, 1, 2)
	w.want("by rule", w.by(1, 2), [2]nid.NID{second, peerB}, [2]nid.NID{second, peerB})
	w.node.SetPeer(upToDate(peerA, peerB, peer1))
	if _, err := w.node.AddNI(&driver{id: nid.MustParse("10.0.0.77@tcp")}, lnd.Config{Net: tcp}); err != nil {
		t.Fatal(err)
	}
	w.send(peerA, 3, 4)
	w.want("after a change", w.by(3, 4), [2]nid.NID{second, peerB}, [2]nid.NID{second, peerB})
	w.node.SetRules(nil)
	w.send(peerA, 5)
	if got := w.by(5); got[0][0] == second {
		t.Errorf("without rules it went from %v", got[0][0])
	}
}

// TestRulesStay: selection rules apply to an NI that is added later, and to the nets of this
// node after a change of its routes.
func TestRulesStay(t *testing.T) {
	spec.Covers(t, "UD-11")
	w := newRails(t)
	nowhere := nid.MustParse("10.9.0.9@tcp9")
	third := nid.MustParse("10.0.0.77@tcp")
	w.node.SetPeer(upToDate(peerA))
	w.node.SetRules(only{third, nowhere})
	w.drivers[third] = &driver{id: third}
	if _, err := w.node.AddNI(w.drivers[third], lnd.Config{Net: tcp}); err != nil {
		t.Fatal(err)
	}
	w.send(peerA, 1, 2)
	w.want("the NI came later", w.by(1, 2), [2]nid.NID{third, peerA}, [2]nid.NID{third, peerA})

	w.node.SetPeer(upToDate(peerB, peer1))
	w.node.SetRules(only{self1, nowhere})
	w.node.SetRoutes([]*path.Gateway{{Net: nowhere.Net(), Router: peerC}})
	w.send(peerB, 3, 4)
	w.want("routes have changed", w.by(3, 4), [2]nid.NID{self1, peer1}, [2]nid.NID{self1, peer1})
}

// TestRulesOfNewPeers: rules apply to NIDs that become known later.
func TestRulesOfNewPeers(t *testing.T) {
	spec.Covers(t, "UD-11")
	w := newRails(t)
	w.node.SetRules(only{second, peerB})
	w.node.SetPeer(upToDate(peerA, peerB, peer1))
	w.send(peerA, 1, 2)
	w.want("by rule", w.by(1, 2), [2]nid.NID{second, peerB}, [2]nid.NID{second, peerB})
}

// TestRulesBeyond: a rule about gateways applies to each message to the net beyond them, also
// to an unknown NID.
func TestRulesBeyond(t *testing.T) {
	spec.Covers(t, "UD-8", "UD-11")
	r := newRouted(t) // the node has a route by peerA
	if err := r.node.AddRoute(route.New(tcp1, peerC)); err != nil {
		t.Fatal(err)
	}
	for _, preferred := range []nid.NID{peerA, peerC, peerA} {
		r.node.SetRules(byGateway{preferred})
		for bits := range uint64(4) {
			r.send(peer1, bits)
			if last := r.sent[len(r.sent)-1].Target.NID; last != preferred {
				t.Errorf("goes by %v, want %v", last, preferred)
			}
			r.finalize(nil)
		}
	}
}

// byGateway are rules by which all messages prefer one gateway.
type byGateway struct{ gateway nid.NID }

func (byGateway) Local(nid.NID) (ni, net path.Priority) { return path.NoPriority, path.NoPriority }

func (b byGateway) Remote(nid.NID) (ni, net path.Priority, prefers *path.Preference) {
	set, err := nid.ParseSet(b.gateway.String())
	if err != nil {
		panic(err)
	}
	return path.NoPriority, path.NoPriority, &path.Preference{Routers: path.NIDs{set}}
}

// only are rules that prefer one NI of this node and one NI of another node.
type only struct{ here, there nid.NID }

func (o only) Local(id nid.NID) (ni, net path.Priority) {
	if id == o.here {
		return 0, 0
	}
	return path.NoPriority, path.NoPriority
}

func (o only) Remote(id nid.NID) (ni, net path.Priority, prefers *path.Preference) {
	ni, net = path.NoPriority, path.NoPriority
	if id == o.there {
		ni = 0
	}
	if id.Net() == o.there.Net() {
		net = 0
	}
	return ni, net, nil
}

var _ lnet.Rules = only{}
