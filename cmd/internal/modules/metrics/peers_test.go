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
	want("it was forgotten and is back", map[string]uint64{"10.0.0.3@tcp": 0, other: 1007})
	n.send(1, 6)
	want("and counts again", map[string]uint64{"10.0.0.2@tcp": 20, "10.0.0.3@tcp": 6, other: 1007})
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

// TestNoPeerLabels: with a limit of 0 all peers are summed up.
func TestNoPeerLabels(t *testing.T) {
	n, s := crowdOf(3), newPeerSet(0)
	n.peers[0].Queued, n.peers[1].Parked, n.peers[2].QueuedBytes = 2, 3, 50
	s.read(n)
	if s.rest.sent != 3_000_003 || s.rest.queued != 5 || s.rest.queuedBytes != 50 || s.count != 3 || len(s.own) != 0 {
		t.Errorf("%+v, count %d", s.rest, s.count)
	}
}
