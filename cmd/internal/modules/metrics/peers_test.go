package metrics

import (
	"testing"

	"ulnet/lnet/nid"
)

// counted returns how many messages were sent to a peer, according to a set.
func (s *peerSet) counted(id string) uint64 {
	if id == other {
		return s.rest.sent
	}
	if p := s.own[nid.MustParse(id)]; p != nil {
		return p.sent
	}
	return 0
}

// TestPeersAboveTheLimit: peers without a label are summed up, and that sum never decreases,
// while peers come, are forgotten, and get the label of others.
func TestPeersAboveTheLimit(t *testing.T) {
	n, s := &fakeNode{}, newPeerSet(2)
	want := func(step string, list map[string]uint64) {
		t.Helper()
		before := s.rest.sent
		s.read(n)
		if s.rest.sent < before {
			t.Errorf("%s: the others have %d messages after %d", step, s.rest.sent, before)
		}
		for id, sent := range list {
			if got := s.counted(id); got != sent {
				t.Errorf("%s: %s has %d messages, want %d", step, id, got, sent)
			}
		}
		if len(s.own) > 2 {
			t.Errorf("%s: %d labels", step, len(s.own))
		}
	}
	n.add("10.0.0.1@tcp", 100)
	n.add("10.0.0.2@tcp", 20)
	want("two peers", map[string]uint64{"10.0.0.1@tcp": 100, "10.0.0.2@tcp": 20, other: 0})
	if s.more {
		t.Error("there are others, but no peer is above the limit")
	}
	n.add("10.0.0.3@tcp", 3)
	want("three peers", map[string]uint64{"10.0.0.1@tcp": 100, "10.0.0.2@tcp": 20, "10.0.0.3@tcp": 0, other: 3})
	want("nothing new", map[string]uint64{"10.0.0.1@tcp": 100, "10.0.0.2@tcp": 20, other: 3})
	n.send(0, 1000)
	n.peers = n.peers[1:]
	want("the first is forgotten, with 1000 messages since", map[string]uint64{"10.0.0.1@tcp": 0, other: 1003})
	n.send(1, 4)
	want("the third has got its label", map[string]uint64{"10.0.0.3@tcp": 7, other: 1007})
	n.send(1, 5)
	want("and counts for itself", map[string]uint64{"10.0.0.3@tcp": 12, other: 1007})
	n.peers[1].Traffic.Sent.Put = 0
	want("it was forgotten and is back", map[string]uint64{"10.0.0.3@tcp": 12, other: 1007})
	n.send(1, 6)
	want("and counts again", map[string]uint64{"10.0.0.2@tcp": 20, "10.0.0.3@tcp": 18, other: 1007})
	n.traffic.Sent.Put -= 2
	want("two messages are counted for the peer and not yet for the node", map[string]uint64{other: 1007})
	n.traffic.Sent.Put += 12
	want("messages to groups, which are no peer's", map[string]uint64{other: 1017})
}

// TestPeerOnSeveralNIs: the entries that a NID has for each NI of this node are one peer, and
// failures, which belong to the NID, count once.
func TestPeerOnSeveralNIs(t *testing.T) {
	n, s := &fakeNode{}, newPeerSet(1)
	n.add("10.0.0.1@tcp", 100)
	n.add("10.0.0.1@tcp", 20)
	for i := range n.peers {
		n.peers[i].Failures.RemoteError = 3
	}
	n.peers[1].State = "down"
	s.read(n)
	p := s.own[nid.MustParse("10.0.0.1@tcp")]
	if p.sent != 120 || p.failures != 3 || p.credits != 16 || !p.up || p.health != 1000 || s.more || s.count != 1 {
		t.Errorf("%+v, count %d", p, s.count)
	}
}

// TestPeerLosesNI: when one of the NIs of this node by which a NID is reached goes, the counters of the NID do not
// decrease and go on with what the other NI counts. None of its messages is counted for others.
func TestPeerLosesNI(t *testing.T) {
	n, s := &fakeNode{}, newPeerSet(1)
	via := func(ni string, sent uint64) {
		n.add("10.0.0.1@tcp", sent)
		p := &n.peers[len(n.peers)-1]
		p.Via, p.Failures.RemoteError = nid.MustParse(ni), 3
	}
	want := func(step string, sent uint64) {
		t.Helper()
		s.read(n)
		if p := s.own[nid.MustParse("10.0.0.1@tcp")]; p.sent != sent || p.failures != 3 || s.rest.sent != 0 {
			t.Errorf("%s: %d messages and %d failures, want %d and 3; others have %d messages", step, p.sent, p.failures, sent, s.rest.sent)
		}
	}
	via("10.0.0.8@tcp", 100)
	via("10.0.0.9@tcp", 20)
	want("two NIs", 120)
	n.peers = n.peers[1:]
	n.send(0, 5)
	want("one has gone", 125)
	n.send(0, 200)
	want("the other one sends", 325)
	via("10.0.0.8@tcp", 7)
	want("it is back", 332)
	n.peers = n.peers[1:]
	n.send(0, 400)
	want("the other one has gone, and this one has sent more than both", 732)
	if e := s.own[nid.MustParse("10.0.0.1@tcp")].entries; len(e) != 2 {
		t.Errorf("entries %+v are kept, want one for the NI and one for the failures", e)
	}
}

// TestNoPeerLabels: with a limit of 0 all peers are summed up.
func TestNoPeerLabels(t *testing.T) {
	n, s := crowdOf(3), newPeerSet(0)
	n.peers[0].Queued, n.peers[1].Parked, n.peers[2].QueuedBytes = 2, 3, 50
	s.read(n)
	if s.rest.sent != 3_000_003 || s.rest.queued != 5 || s.rest.queuedBytes != 50 || s.count != 3 || len(s.own) != 0 {
		t.Errorf("%+v, count %d", s.rest, s.count)
	}
}
