package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestChooseAfterFarewell: a client gives up a server, sends it a farewell, and then chooses a master while
// the server still has the connection. A late copy of the farewell does not end the connection.
func TestChooseAfterFarewell(t *testing.T) {
	h := newHarness(t, nil)
	h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: otherA, Epoch: 1, Peer: host}})
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherB, Sequence: 12})
	h.message(host, wire.Message{Kind: wire.Disconnect, Code: wire.NotConnected, Incarnation: 5, Sequence: 11})
	h.wantState("connected 5 10.0.0.3@tcp/2")
	h.message(host, wire.Message{Kind: wire.Disconnect, Code: wire.NotConnected, Incarnation: 5, Sequence: 13})
	h.wantState("none")
}

// TestFarewellOfEarlierIncarnation: CH-8, CH-10: a client says farewell to a server. Later it finds no other
// server and chooses this one as its master, but hears no answer, and begins its next incarnation. That one goes
// on repeating the farewell. The server does not take the farewell for a sign that the earlier incarnation is
// alive: it asks the client, and evicts that incarnation.
func TestFarewellOfEarlierIncarnation(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-10")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: me, Sequence: 12})
	for begin := h.now; h.state() == "connected 5 10.0.0.1@tcp/2"; {
		if h.advance(5 * time.Second); h.now > begin+2*h.s.cfg.Evict {
			t.Fatal("the earlier incarnation is still connected")
		}
		h.message(host, wire.Message{Kind: wire.Disconnect, Code: wire.NotConnected, Incarnation: 5, Sequence: 11})
	}
	h.wantState("evicting 5 10.0.0.1@tcp/2")
}
