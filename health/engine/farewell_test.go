package engine

import (
	"testing"

	"ulnet/health/wire"
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
