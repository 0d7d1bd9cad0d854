package discovery_test

import (
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/recovery"
	"ulnet/lnet/wire"
)

// TestRecovers shows HV-10 and HV-11 on whole nodes: a NID of a peer that is not well gets pings until it is well. An
// NI of the node itself that is not well sends pings to a peer that was heard through it.
func TestRecovers(t *testing.T) {
	spec.Covers(t, "HV-10", "HV-11")
	w, clock, a, b, second := newRails(t)
	health := func(n *node, target recovery.Target) int {
		h, _, _ := n.table.Node().Condition(target)
		return h
	}
	there := recovery.Target{NID: nid.MustParse("10.0.0.101@tcp")}
	if err := b.table.Node().SetPeerHealth(there.NID, 850); err != nil {
		t.Fatal(err)
	}
	clock.advance(w, 900*time.Millisecond)
	if h := health(b, there); h != 850 {
		t.Errorf("health %d before the first ping, want 850", h)
	}
	clock.advance(w, 3*time.Second)
	if h := health(b, there); h != path.MaxHealth {
		t.Errorf("health %d after two pings", h)
	}
	if r := b.agent.Recovery(); len(r.Peers) > 0 || r.Stats.Pings != 2 {
		t.Errorf("recovers %v with %d pings, want 2", r.Peers, r.Stats.Pings)
	}

	here := recovery.Target{NID: second.NID(), Local: true}
	if err := a.table.Node().SetNIHealth(here.NID, 850); err != nil {
		t.Fatal(err)
	}
	clock.advance(w, 4*time.Second)
	if h, r := health(a, here), a.agent.Recovery(); h != path.MaxHealth || len(r.Local) > 0 || r.Stats.Pings != 2 {
		t.Errorf("health %d of the own NI, %+v; want two pings", h, r)
	}
}

// TestRecoversBesideDead (HV-10): the node that was heard last through an NI is dead. The NI, which is not well, also pings
// the other node that was heard through it, and is well again.
func TestRecoversBesideDead(t *testing.T) {
	spec.Covers(t, "HV-10")
	w, clock, a, b, second := newRails(t)
	c := w.node(discovery.Config{}, "10.0.0.3@tcp")
	for _, n := range []*node{b, c} {
		var failed error
		discovery.StartPing(n.table, nid.ProcessID{NID: second.NID(), PID: nid.LustrePID}, discovery.PingOptions{},
			func(_ wire.PingInfo, err error) { failed = err })
		clock.advance(w, time.Second)
		if failed != nil {
			t.Fatal(failed)
		}
	}
	delete(w.ports, nid.MustParse("10.0.0.3@tcp"))
	if to, _ := a.table.Node().Witness(second.NID(), 0); to.String() != "10.0.0.3@tcp" {
		t.Fatalf("the NI asks %v first, want the dead node", to)
	}
	if err := a.table.Node().SetNIHealth(second.NID(), 900); err != nil {
		t.Fatal(err)
	}
	clock.advance(w, 20*time.Second)
	if h, _, _ := a.table.Node().Condition(recovery.Target{NID: second.NID(), Local: true}); h != path.MaxHealth {
		t.Errorf("health %d after 20 s", h)
	}
}

// TestRecoversWithLink (HV-10): an NI of the node that is not well gets no answer for so long that its pings are far
// apart. When its link has been down and is up again, it is pinged at once, and is well again.
func TestRecoversWithLink(t *testing.T) {
	spec.Covers(t, "HV-10")
	w, clock, a, _, second := newRails(t)
	w.refuse = func(m *lnd.Message) error {
		if m.Header.SrcNID == second.NID() {
			return syscall.EHOSTUNREACH
		}
		return nil
	}
	if err := a.table.Node().SetNIHealth(second.NID(), 850); err != nil {
		t.Fatal(err)
	}
	clock.advance(w, 80*time.Second) // pinged 1, 3, 7, 15, 31, 63 and 123 s after its health fell
	w.refuse = nil
	second.SetLink(errUnplugged)
	second.SetLink(nil)
	clock.advance(w, 4*time.Second)
	if h, _, _ := a.table.Node().Condition(recovery.Target{NID: second.NID(), Local: true}); h != path.MaxHealth {
		t.Errorf("health %d after the link was up for 4 s", h)
	}
}
