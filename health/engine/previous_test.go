package engine

import (
	"slices"
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestPreviousFromNonMaster: CH-52, CH-59: a server that is not the master names the master of
// an earlier incarnation. The client connects to that master, which then evicts what it still
// has of the earlier incarnation.
func TestPreviousFromNonMaster(t *testing.T) {
	spec.Covers(t, "CH-52", "CH-59")
	h := newClientHarness(t, me, otherA, otherB)
	master := h.to[0]
	h.answer(0, wire.Message{Kind: wire.Accept})
	others := slices.DeleteFunc(slices.Clone(h.c.cfg.Servers), func(id nid.NID) bool { return id == master })
	h.step(ClientInput{Kind: Attach, Server: others[0]})
	h.answer(0, wire.Message{Kind: wire.Accept, Server: others[1]})
	if len(h.to) != 1 || h.to[0] != others[1] || h.sent[0].Kind != wire.Connect || h.sent[0].Server != master {
		t.Errorf("to %v: %+v", h.to, h.sent)
	}
}
