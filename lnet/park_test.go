package lnet_test

import (
	"context"
	"math"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// asked installs a discoverer, and returns the list of NIDs that it is called for.
func (r *rig) asked() *[]string {
	asked := []string{}
	r.node.SetDiscoverer(func(id nid.NID) { asked = append(asked, id.String()) })
	return &asked
}

func upToDate(ids ...nid.NID) lnet.Peer {
	p := lnet.Peer{Primary: ids[0], Flags: lnet.PeerMultiRail | lnet.PeerDiscovered | lnet.PeerNIDsUpToDate}
	for _, id := range ids {
		p.NIs = append(p.NIs, wire.NIStatus{NID: id, Status: wire.StatusUp})
	}
	return p
}

// TestPark (LN-11) checks which messages wait for discovery, and in which order they are sent.
func TestPark(t *testing.T) {
	spec.Covers(t, "LN-11")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	asked := r.asked()
	r.send(peerA, 1, 2)
	ping, reply := put(peerA, 3), put(peerA, 4)
	ping.Header.SetGet(wire.GetCmd{MatchBits: 3, Portal: wire.PingPortal})
	reply.Header.Type = wire.Reply
	get := put(peerA, 5)
	get.Header.SetGet(wire.GetCmd{MatchBits: 5, Portal: 7})
	for _, m := range []*lnet.Message{ping, reply, get} {
		r.node.Send(m)
	}
	if n := len(r.inFlight()); n != 2 {
		t.Errorf("%d messages in flight, want the ping and the REPLY", n)
	}
	if p := r.peer(peerA); p.Parked != 3 || p.Queued != 0 || p.Credits != 6 || p.Primary != peerA {
		t.Errorf("peer %+v", p)
	}
	r.node.SetPeer(upToDate(peerA))
	if n := len(r.inFlight()); n != 5 || r.peer(peerA).Parked != 0 {
		t.Errorf("%d messages in flight, %d parked", n, r.peer(peerA).Parked)
	}
	wantBits(t, "then", r.inFlight()[2:4], 1, 2)
	r.send(peerA, 6)
	if diff := cmp.Diff([]string{peerA.String()}, *asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	for r.finalize(nil) {
	}
}

// TestParkNotForUsers: a message to a process with a user-flagged PID does not wait for
// discovery, which would query the node at its NID instead.
func TestParkNotForUsers(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	asked := r.asked()
	r.send(peerA, 1)
	m := put(peerA, 2)
	m.Header.DestPID = nid.UserPID | 40000
	r.node.Send(m)
	wantBits(t, "in flight", r.inFlight(), 2)
	m = put(peerB, 3)
	m.Header.DestPID = nid.UserPID | 40000
	r.node.Send(m)
	wantBits(t, "in flight", r.inFlight(), 2, 3)
	if diff := cmp.Diff([]string{peerA.String()}, *asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	for r.finalize(nil) {
	}
	r.node.SetDiscoverer(nil)
	r.finalize(nil)
}

// TestParkEnds (LN-12) checks every event that ends the wait for discovery.
func TestParkEnds(t *testing.T) {
	spec.Covers(t, "LN-12")
	for name, c := range map[string]struct {
		end   func(r *rig)
		want  error
		again bool // whether the next message waits, too
	}{
		"up to date":         {func(r *rig) { r.node.SetPeer(upToDate(peerA)) }, nil, false},
		"up to date already": {func(r *rig) { r.node.Discovered(peerA, nil) }, nil, true},
		"failed":             {func(r *rig) { r.node.Discovered(peerA, syscall.EHOSTUNREACH) }, syscall.EHOSTUNREACH, true},
		"turned off":         {func(r *rig) { r.node.SetDiscoverer(nil) }, nil, false},
		"given up":           {func(r *rig) { r.node.FailParked(syscall.ESHUTDOWN) }, syscall.ESHUTDOWN, false},
		"NI goes":            {func(r *rig) { _ = r.node.RemoveNI(over(), r.ni) }, syscall.ESHUTDOWN, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			asked := r.asked()
			r.send(peerA, 1)
			if _, ended := r.up.result(1); ended || len(r.inFlight()) != 0 {
				t.Fatal("did not wait")
			}
			c.end(r)
			r.finalize(nil)
			r.wantResult(1, c.want)
			if len(r.node.NIs()) == 0 {
				return
			}
			r.send(peerA, 2)
			if waits := len(r.inFlight()) == 0; waits != c.again {
				t.Errorf("the next message waits: %v, want %v", waits, c.again)
			}
			if again := len(*asked) == 2; again != c.again {
				t.Errorf("asked for %v after the next message", *asked)
			}
			r.node.SetDiscoverer(nil)
			for r.finalize(nil) {
			}
		})
	}
}

// TestParkUnfit: a message that has waited too long, or was aborted, is not sent after
// discovery.
func TestParkUnfit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{TransactionTimeout: time.Minute})
		r.asked()
		r.send(peerA, 1)
		<-time.After(time.Minute + 1)
		r.send(peerA, 2)
		r.node.SetPeer(upToDate(peerA))
		r.wantResult(1, syscall.ETIMEDOUT)
		wantBits(t, "in flight", r.inFlight(), 2)
		r.finalize(nil)
	})
}

// TestEndlessTimeout: with the longest TransactionTimeout, whose end lies beyond the range of the clock, no
// message is late: neither one that waited for discovery, nor one that waited for credits, nor one that fails
// and is sent again.
func TestEndlessTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := lnet.Config{TransactionTimeout: math.MaxInt64}
		r := newRig(t, lnd.Tunables{PeerCredits: 1}, cfg)
		r.asked()
		<-time.After(time.Second)
		r.send(peerA, 1, 2)
		<-time.After(time.Second)
		r.node.SetPeer(upToDate(peerA))
		r.send(peerA, 3)
		for n := range uint64(3) {
			wantBits(t, "in flight", r.inFlight(), n+1)
			r.finalize(nil)
		}
		two := newRailed(t, cfg, 2, 1)
		two.onTry = fails(lnd.LocalDropped)
		<-time.After(time.Second)
		two.put(1)
		if len(two.tries) < 2 {
			t.Errorf("tries: %v", two.tries)
		}
	})
}

// TestParkDrains: RemoveNI waits until the discovery that a message waits for has ended.
func TestParkDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		r.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
		r.asked()
		r.send(peerA, 1)
		time.AfterFunc(time.Second, func() { r.node.Discovered(peerA, nil) })
		if err := r.node.RemoveNI(context.Background(), r.ni); err != nil {
			t.Error(err)
		}
		r.wantResult(1, nil)
	})
}

// TestKnownPeers: the results of discovery apply to peers that exist and to those that are
// made later, until they are withdrawn.
func TestKnownPeers(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	asked := r.asked()
	r.send(peerA, 1)
	r.node.SetPeer(upToDate(peer1, peerA, peerB))
	r.send(peerB, 2)
	wantBits(t, "in flight", r.inFlight(), 1, 2)
	for _, id := range []nid.NID{peer1, peerA, peerB} {
		if got := r.node.Primary(id); got != peer1 || !r.node.HasPeer(id) {
			t.Errorf("primary NID of %v is %v", id, got)
		}
	}
	if p := r.peer(peerB); p.Primary != peer1 {
		t.Errorf("peer %+v", p)
	}
	if s := r.node.Snapshot(); len(s.Nodes) != 1 || s.Nodes[0].Primary != peer1 || len(s.Nodes[0].NIs) != 3 {
		t.Errorf("nodes %+v", s.Nodes)
	}
	r.node.ForgetPeerNID(peerB)
	r.send(peerB, 3)
	if got := r.node.Primary(peerB); got != peerB || r.peer(peerB).Parked != 1 || r.node.Peer(peerB).Primary.IsValid() {
		t.Errorf("after it was withdrawn: primary NID %v, peer %+v", got, r.peer(peerB))
	}
	if diff := cmp.Diff([]string{peerA.String(), peerB.String()}, *asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if r.node.HasPeer(peerC) || r.node.Primary(peerC) != peerC {
		t.Errorf("a stranger is known")
	}
	r.node.SetDiscoverer(nil)
	for r.finalize(nil) {
	}
}

// TestDetour: messages to a NID that no NI reaches go to the first NID of the same node that
// an NI reaches and that is not down.
func TestDetour(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	known := upToDate(peer1, peerA, peerB)
	known.NIs[1].Status = wire.StatusDown
	r.node.SetPeer(known)
	m := put(peer1, 1)
	r.node.Send(m)
	if m.Target.NID != peerB || m.Header.DestNID != peerB || m.Header.SrcNID != self {
		t.Errorf("went from %v to %v", m.Header.SrcNID, m.Target)
	}
	r.finalize(nil)
	known = upToDate(peer1)
	r.node.ForgetPeerNID(peerB)
	r.node.SetPeer(known)
	r.send(peer1, 2)
	r.wantResult(2, syscall.EHOSTUNREACH)
}

// TestPrimaryOfArrivals (LN-13) checks the primary NID that an arriving message carries, also when it
// changes while a connection lasts.
func TestPrimaryOfArrivals(t *testing.T) {
	spec.Covers(t, "LN-13")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	d := arriving(nil)
	want := func(what string, src, primary nid.NID) {
		t.Helper()
		d.Header.SrcNID = src
		if _, err := r.ni.Parse(d); err != nil {
			t.Fatal(err)
		}
		r.ni.Delivered(d, nil)
		if d.Primary != primary {
			t.Errorf("%s: primary NID %v, want %v", what, d.Primary, primary)
		}
	}
	want("unknown", peerA, peerA)
	r.node.SetPeer(upToDate(peer1, peerA, peerB))
	want("known", peerA, peer1)
	want("another NID of the node", peerB, peer1)
	want("another node", peerC, peerC)
	r.node.ForgetPeerNID(peerA)
	want("forgotten", peerA, peerA)
	if n := testing.AllocsPerRun(100, func() { want("again", peerA, peerA) }); n != 0 {
		t.Errorf("%v allocations for an arrival", n)
	}
}

// TestParkBound: the messages that wait for the discovery of one peer are limited.
func TestParkBound(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.asked()
	const bound = 1 << 16
	for bits := range uint64(bound + 1) {
		r.send(peerA, bits)
	}
	r.wantResult(bound, syscall.ENOBUFS)
	if n := r.peer(peerA).Parked; n != bound {
		t.Errorf("%d parked", n)
	}
	r.node.FailParked(syscall.ESHUTDOWN)
}

// TestKnownCostsNothing: with discovery, a message to a peer that is up to date allocates no
// more than without.
func TestKnownCostsNothing(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
	r.asked()
	r.node.SetPeer(upToDate(peerA))
	r.up.ended = make(map[uint64]error, 2)
	r.up.order = make([]uint64, 0, 1000)
	m := put(peerA, 1)
	if n := testing.AllocsPerRun(100, func() { r.node.Send(m) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPeerFlags(t *testing.T) {
	for flags, want := range map[lnet.PeerFlags]string{
		0:   "",
		273: "MULTI_RAIL|DISCOVERED|NIDS_UPTODATE",
		lnet.PeerMarkDeletion | lnet.PeerPingSent: "PING_SENT|MARK_DELETION",
	} {
		if got := flags.String(); got != want {
			t.Errorf("%d is %q, want %q", flags, got, want)
		}
	}
	const good = lnet.PeerDiscovered | lnet.PeerNIDsUpToDate
	for flags, want := range map[lnet.PeerFlags]bool{
		good: true, good | lnet.PeerMultiRail: true, good | lnet.PeerNoDiscovery: true,
		lnet.PeerDiscovered: false, lnet.PeerNIDsUpToDate: false, 0: false,
		good | lnet.PeerDiscovering: false, good | lnet.PeerForcePing: false, good | lnet.PeerForcePush: false,
		good | lnet.PeerRediscover: false, good | lnet.PeerMarkDeletion: false,
	} {
		if flags.UpToDate() != want {
			t.Errorf("%v: up to date %v", flags, !want)
		}
	}
}
