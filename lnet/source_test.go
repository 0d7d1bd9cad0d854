package lnet_test

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// arrives gives a message to the NI and reports why it was dropped, if it was.
func (r *rig) arrives(ni *lnet.NI, d *lnd.Delivery) string {
	r.t.Helper()
	before := r.node.Stats().DropReasons
	if _, err := ni.Parse(d); err != nil {
		r.t.Fatal(err)
	}
	ni.Delivered(d, nil)
	for why, n := range r.node.Stats().DropReasons {
		if n > before[why] {
			return why
		}
	}
	return lnet.NotDropped.String()
}

// TestForgedMessageCountsForItsSender (LN-4): a message that a peer sends under another's
// name is counted among the drops of the peer that sent it. That peer keeps its connection,
// and nothing is concluded about the other.
func TestForgedMessageCountsForItsSender(t *testing.T) {
	spec.Covers(t, "LN-4")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	d := arriving(func(h *wire.Header) { h.SrcNID = peerB })
	if why := r.arrives(r.ni, d); why != "foreign source" {
		t.Errorf("dropped as %q", why)
	}
	if n := r.peer(peerA).Traffic.Dropped.Put; n != 1 {
		t.Errorf("%d drops of the sender, want 1", n)
	}
	for _, id := range []nid.NID{peerA, peerB} {
		if _, heard := r.node.LastHeard(nid.ProcessID{NID: id, PID: nid.LustrePID}); heard {
			t.Errorf("%v was heard", id)
		}
	}
	if r.node.HasPeer(peerB) {
		t.Error("the claim made a peer")
	}
	if why := r.arrives(r.ni, arriving(nil)); why != "not dropped" {
		t.Errorf("an honest message of the same peer is dropped: %s", why)
	}
}

// TestSourceUnchecked: a node that is configured not to check sources takes messages under
// any name but its own.
func TestSourceUnchecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *wire.Header)
		want   lnet.DropReason
	}{
		"another peer":      {func(h *wire.Header) { h.SrcNID = peerB }, lnet.NotDropped},
		"another process":   {func(h *wire.Header) { h.SrcPID = 7 }, lnet.NotDropped},
		"behind a router":   {func(h *wire.Header) { h.SrcNID = peer1 }, lnet.NotDropped},
		"our own NID":       {func(h *wire.Header) { h.SrcNID = self }, lnet.BadSource},
		"another NI's here": {func(h *wire.Header) { h.SrcNID = second }, lnet.BadSource},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{SourceUnchecked: true})
			if _, err := r.node.AddNI(&driver{id: second}, lnd.Config{Net: tcp}); err != nil {
				t.Fatal(err)
			}
			if why := r.arrives(r.ni, arriving(c.change)); why != c.want.String() {
				t.Errorf("dropped as %q, want %q", why, c.want)
			}
		})
	}
}

// TestProcessesAtTheSource: on nets whose driver tells processes apart the check of the
// source compares processes too. On RDMA it does not.
func TestProcessesAtTheSource(t *testing.T) {
	rdma := nid.MustParse("10.2.0.1@o2ib")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	ni, err := r.node.AddNI(&driver{id: rdma}, lnd.Config{Net: rdma.Net()})
	if err != nil {
		t.Fatal(err)
	}
	beyond := nid.MustParse("10.2.0.2@o2ib")
	d := arriving(func(h *wire.Header) { h.SrcNID, h.DestNID, h.SrcPID = beyond, rdma, 99 })
	d.From.NID = beyond
	if why := r.arrives(ni, d); why != "not dropped" {
		t.Errorf("over RDMA: %s", why)
	}
	user := arriving(func(h *wire.Header) { h.SrcPID = nid.UserPID | 7 })
	if why := r.arrives(r.ni, user); why != "foreign source" {
		t.Errorf("as a process on an unprivileged port: %s", why)
	}
	user.From.PID = nid.UserPID | 7
	if why := r.arrives(r.ni, user); why != "not dropped" {
		t.Errorf("of that process: %s", why)
	}
}

// TestOwnNameAfterAddNI: a source NID that becomes one of this node is refused from then on,
// also on a connection that has used it before.
func TestOwnNameAfterAddNI(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	d := arriving(nil)
	if why := r.arrives(r.ni, d); why != "not dropped" {
		t.Fatal(why)
	}
	if _, err := r.node.AddNI(&driver{id: peerA}, lnd.Config{Net: tcp}); err != nil {
		t.Fatal(err)
	}
	if why := r.arrives(r.ni, d); why != "bad source" {
		t.Errorf("dropped as %q", why)
	}
}
