package o2iblnd

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/lndtest"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
)

// TestWithdrawn: an unanswered request is withdrawn when the peer's winning request is accepted,
// and repeated if no connection follows.
func TestWithdrawn(t *testing.T) {
	up := new(sink)
	at := loopbackAddrs(2) // two addresses, the second higher than the first
	ni := start(t, at[0], softroce.Open, Config{}, up)
	defer shut(ni)
	ni.Send(newMessage(ni, nid.FromAddr(ni.nid.Net(), at[1]), 100))
	a := &asked{from: netip.AddrPortFrom(at[1], 1023)}
	ni.request(a, a.request(ni))
	s := ni.Snapshot()
	if p := s.Peers[0]; p.Accepting != 1 || p.Connecting != 0 || ni.conns.len() != 1 || s.Counters.Of(RejectedRace) != 1 {
		t.Errorf("%+v, %d connections, %v", p, ni.conns.len(), ni.counts.nonzero())
	}
	a.events(a, verbs.Event{Kind: verbs.Rejected, Reason: 4})
	if p := ni.Snapshot().Peers[0]; p.Accepting != 0 || p.Connecting != 1 || p.Pending != 1 || ni.conns.len() != 1 {
		t.Errorf("%+v, %d connections", p, ni.conns.len())
	}
	if len(up.errs)+len(up.downs) > 0 {
		t.Errorf("%v %v", up.errs, up.downs)
	}
}

// TestNeverAsked: an accepted request fails because the peer does not know it: the request was
// forged, or sent by an incarnation that has died. This side has not requested a connection yet. So
// a waiting message does not fail: this side requests a connection for it. If no message waits,
// lnet is not told anything.
func TestNeverAsked(t *testing.T) {
	for _, waits := range []int{0, 1} {
		up := new(sink)
		at := loopbackAddrs(2)
		ni := start(t, at[0], softroce.Open, Config{}, up)
		a := &asked{from: netip.AddrPortFrom(at[1], 1023)}
		ni.request(a, a.request(ni))
		for range waits {
			ni.Send(newMessage(ni, nid.FromAddr(ni.nid.Net(), at[1]), 100))
		}
		a.events(a, verbs.Event{Kind: verbs.Rejected, Reason: 6})
		if p := ni.Snapshot().Peers[0]; p.Accepting != 0 || p.Connecting != waits || p.Pending != waits {
			t.Errorf("%d messages: %+v", waits, p)
		}
		if len(up.errs)+len(up.downs) > 0 {
			t.Errorf("%d messages: %v %v", waits, up.errs, up.downs)
		}
		shut(ni)
	}
}

// TestNeedless: a request that was not sent yet is dropped when the peer's is accepted.
func TestNeedless(t *testing.T) {
	ni := start(t, loopbackAddrs(1)[0], softroce.Open, Config{}, new(sink))
	defer shut(ni)
	p := ni.peers.Get(highNID)
	p.mu.Lock()
	p.set.connecting, p.set.accepting = 1, 1
	p.mu.Unlock()
	p.connect(p.set.ask())
	if s := ni.Snapshot().Peers[0]; s.Connecting != 0 || s.Accepting != 1 || ni.conns.len() != 0 {
		t.Errorf("%+v, %d connections", s, ni.conns.len())
	}
}

// TestForged: a request is accepted, but there is no node behind it, because it was forged or the
// node died meanwhile. Such requests, however many, delay a message to the node that they name by
// a second at most.
func TestForged(t *testing.T) {
	for self := range 2 {
		for name, at := range map[string][]time.Duration{
			"before":    {0},
			"under way": {time.Second + 5*time.Microsecond},
			"many":      {0, 300 * time.Millisecond, 700 * time.Millisecond, 999 * time.Millisecond, time.Second, 2*time.Second - time.Microsecond, 2*time.Second + 5*time.Microsecond},
		} {
			t.Run(fmt.Sprintf("%s, at %d", name, self), func(t *testing.T) {
				v := newVirtual(t, Config{})
				ni, target := v.nis[self], v.nis[1-self]
				for i, at := range at {
					v.clock.AfterFunc(at, func() {
						a := &asked{from: netip.AddrPortFrom(v.at[1-self], 1023)}
						m := a.request(ni)
						m.SrcStamp += uint64(i / 2)
						ni.request(a, m)
					})
				}
				v.clock.Run(time.Second)
				ni.Send(newMessage(ni, target.nid, 100))
				v.until("message", 1100*time.Millisecond, func(s *sink) bool { return s.arrived == 1 }, v.ups[1-self])
				v.until("end", time.Second, func(s *sink) bool { return s.finished == 1 && len(s.errs) == 0 }, v.ups[self])
				v.shut(self)
				v.shut(1 - self)
			})
		}
	}
}

// TestForgedRestart: a request in the name of a connected peer, with another stamp, ends the connections
// to the peer, as o2iblnd-wire §7.1 step 6 demands; security.md says that every host can send one. The
// next messages, both ways, make new connections.
func TestForgedRestart(t *testing.T) {
	v := newVirtual(t, Config{})
	ni := v.nis[0]
	ni.Send(newMessage(ni, v.nis[1].nid, 100))
	v.until("message", time.Second, func(s *sink) bool { return s.finished == 1 }, v.ups[0])
	a := &asked{from: netip.AddrPortFrom(v.at[1], 1023)}
	m := a.request(ni)
	m.SrcStamp += 100
	ni.request(a, m)
	v.until("end", time.Second, func(s *sink) bool { return len(s.downs) == 1 }, v.ups[0])
	v.until("end", time.Second, func(s *sink) bool { return len(s.downs) == 1 }, v.ups[1])
	if a.why != kib.ConnStale || ni.counts[PeerRestarted].Load() != 1 || ni.counts[RefusedRestart].Load() != 1 {
		t.Errorf("refused with %v, %v", a.why, ni.counts.nonzero())
	}
	for i := range v.nis {
		v.nis[i].Send(newMessage(v.nis[i], v.nis[1-i].nid, 100))
		v.until("message after it", 100*time.Millisecond, func(s *sink) bool { return s.arrived == 2-i }, v.ups[1-i])
	}
	if len(v.ups[0].errs)+len(v.ups[1].errs) > 0 {
		t.Errorf("%v %v", v.ups[0].errs, v.ups[1].errs)
	}
	v.shut(0)
	v.shut(1)
}

// TestCommonStartSockets: nodes start together over sockets, each sending requests to nodes
// that have not started yet.
func TestCommonStartSockets(t *testing.T) {
	const nodes = 8
	at := loopbackAddrs(nodes)
	var nis []*NI
	var ups []*sink
	for i := range nodes {
		ups = append(ups, new(sink))
		ni := start(t, at[i], softroce.Open, Config{}, ups[i])
		defer shut(ni)
		nis = append(nis, ni)
		for k := range nodes {
			if k != i {
				ni.Send(newMessage(ni, nid.FromAddr(ni.nid.Net(), at[k]), 100))
			}
		}
	}
	for i, up := range ups {
		up.await(t, "messages", func() bool { return up.arrived == nodes-1 && up.finished == nodes-1 })
		if len(up.errs) > 0 {
			t.Errorf("%v: %v", nis[i].nid, up.errs)
		}
	}
	surplus := 0
	for _, ni := range nis {
		for _, p := range settled(t, ni).Peers {
			surplus += len(p.Conns) - 1
		}
	}
	if surplus > nodes { // surplus counts each end of a connection; some pairs may answer both requests at once
		t.Errorf("%d connections too many", surplus)
	}
}

// settled waits until no connection of ni is being opened.
func settled(t *testing.T, ni *NI) (s Snapshot) {
	t.Helper()
	if !lndtest.Poll(func() bool {
		s = ni.Snapshot()
		for _, p := range s.Peers {
			if p.Connecting+p.Accepting > 0 {
				return false
			}
		}
		return true
	}) {
		t.Fatalf("still asking: %+v", s.Peers)
	}
	return s
}
