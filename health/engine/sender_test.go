package engine

import (
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

var (
	second  = nid.MustParse("10.9.0.1@tcp1") // another NID of a node
	strange = nid.MustParse("10.9.0.2@tcp1") // a NID of a node that has no part in a test
)

// arrives delivers a message of a node to the server. Its client, if it has one, is the test's.
func (h *harness) arrives(from, primary nid.NID, m wire.Message) {
	h.t.Helper()
	h.arrivesOf(nid.ProcessID{NID: from, PID: nid.LustrePID}, primary, m)
}

func (h *harness) arrivesOf(from nid.ProcessID, primary nid.NID, m wire.Message) {
	h.t.Helper()
	if !m.Kind.BetweenServers() {
		m.Client = testClient
	}
	h.step(ServerInput{Kind: Arrived, From: from, Primary: primary, Data: m.AppendTo(nil)})
}

// sentTo returns the receiver of the only effect of the latest step.
func (h *harness) sentTo() nid.NID {
	h.t.Helper()
	if len(h.effects) != 1 || h.effects[0].Kind != DoSend {
		h.t.Fatalf("got %q, want one message", h.words())
	}
	return h.effects[0].To.NID
}

// TestClientWithTwoNIDs: a client counts by the NID from which it connects, whatever the primary
// NID of its node is, and gets answers there.
func TestClientWithTwoNIDs(t *testing.T) {
	spec.Covers(t, "CH-75")
	h := newHarness(t, nil)
	h.arrives(second, second, wire.Message{Kind: wire.Connect, Incarnation: 5, Server: me, Epoch: 1, Sequence: 9})
	for _, primary := range []nid.NID{second, host.NID, strange, {}} {
		h.arrives(second, primary, wire.Message{Kind: wire.Ping, Incarnation: 5})
		if h.want("pong"); h.sentTo() != second {
			t.Errorf("answered to %v", h.sentTo())
		}
	}
	h.arrives(host.NID, host.NID, wire.Message{Kind: wire.Ping, Incarnation: 5})
	h.want("pong:foreign")
}

// TestRecordOfPrimaryNID: a client whose record has the primary NID of its node is known by that, and
// from then on by the NID from which it sends. The record says nothing about other nodes and processes.
func TestRecordOfPrimaryNID(t *testing.T) {
	spec.Covers(t, "CH-75")
	h := newHarness(t, nil)
	h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: me, Epoch: 1, Peer: host}})
	ping := wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 1}
	h.arrives(second, strange, ping)
	h.want("pong:foreign")
	h.arrivesOf(nid.ProcessID{NID: second, PID: nid.LustrePID + 1}, host.NID, ping)
	h.want("pong:foreign")
	h.arrives(second, host.NID, ping)
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.arrives(second, nid.NID{}, ping)
	if h.want("pong"); h.sentTo() != second {
		t.Errorf("answered to %v", h.sentTo())
	}
	if got, _ := h.s.Client(testClient); got.Peer.NID != second {
		t.Errorf("connected from %v", got.Peer)
	}
}

// TestServerWithTwoNIDs: a server counts by its NID in the list of servers, whatever its primary NID is. If
// a message came from a NID that is not in the list, the primary one counts.
func TestServerWithTwoNIDs(t *testing.T) {
	spec.Covers(t, "CH-75")
	for name, c := range map[string]struct {
		from, primary nid.NID
		state         string
	}{
		"one NID":               {otherA, otherA, "orphaned 5 10.0.0.2@tcp/1"},
		"another primary NID":   {otherA, second, "orphaned 5 10.0.0.2@tcp/1"},
		"another's primary NID": {otherA, otherB, "orphaned 5 10.0.0.2@tcp/1"},
		"from another NID":      {second, otherA, "orphaned 5 10.0.0.2@tcp/1"},
		"another server":        {otherB, otherA, "connected 5 10.0.0.2@tcp/1"},
		"no server":             {second, strange, "connected 5 10.0.0.2@tcp/1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil)
			h.connect(5, otherA, 1)
			h.arrives(c.from, c.primary, wire.Message{Kind: wire.DigestReply, Entries: wire.Entry{Client: testClient, Incarnation: 5}.AppendTo(nil)})
			h.wantState(c.state)
		})
	}
}

// TestMasterWithTwoNIDs: the same, for a client and the servers that it has asked.
func TestMasterWithTwoNIDs(t *testing.T) {
	spec.Covers(t, "CH-75")
	for name, c := range map[string]struct {
		from, primary func(master nid.NID) nid.NID
		known         bool
	}{
		"another primary NID": {itself, func(nid.NID) nid.NID { return second }, true},
		"from another NID":    {func(nid.NID) nid.NID { return second }, itself, true},
		"no server":           {func(nid.NID) nid.NID { return second }, func(nid.NID) nid.NID { return strange }, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newClientHarness(t, me, otherA, otherB)
			master := h.settled()
			m := wire.Message{Kind: wire.Notice, Code: wire.NoQuorum, Client: testClient, Incarnation: 5, Epoch: h.c.epoch}
			h.step(ClientInput{
				Kind: ClientArrived, From: nid.ProcessID{NID: c.from(master), PID: nid.LustrePID}, Primary: c.primary(master), Data: m.AppendTo(nil),
			})
			if lost := h.c.phase != settled; lost != c.known || h.c.stats.Stray != 0 == c.known {
				t.Errorf("the master's notice counts: %v, %d stray messages", lost, h.c.stats.Stray)
			}
		})
	}
}

func itself(id nid.NID) nid.NID { return id }
