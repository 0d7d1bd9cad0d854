package engine

import (
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestDigestReplyOfAnother: CH-65: only a client's master can confirm the client. The answer of
// another server, or of a process with another PID, changes nothing.
func TestDigestReplyOfAnother(t *testing.T) {
	spec.Covers(t, "CH-65")
	reply := func(h *harness, from nid.ProcessID, mark uint8) {
		t.Helper()
		h.message(from, wire.Message{Kind: wire.DigestReply, Entries: wire.Entry{Client: testClient, Incarnation: 5, Mark: mark}.AppendTo(nil)})
	}
	server := func(id nid.NID) nid.ProcessID { return nid.ProcessID{NID: id, PID: nid.LustrePID} }
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	reply(h, server(otherB), 0)
	h.wantState("connected 5 10.0.0.2@tcp/1")
	reply(h, nid.ProcessID{NID: otherA, PID: nid.LustrePID + 1}, 0)
	h.wantState("connected 5 10.0.0.2@tcp/1")
	reply(h, server(otherA), 0)
	h.wantState("orphaned 5 10.0.0.2@tcp/1")

	h = newHarness(t, nil)
	h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: otherA, Epoch: 1, Peer: host}})
	h.wantState("recovering 5 10.0.0.2@tcp/1")
	reply(h, server(otherB), markKnown)
	h.wantState("recovering 5 10.0.0.2@tcp/1")
	reply(h, server(otherA), markKnown)
	h.wantState("connected 5 10.0.0.2@tcp/1")
}
