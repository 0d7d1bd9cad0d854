package engine

import (
	"strings"
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestAttachedOnce: CH-58: a program gets one event for a connected server, however often it
// calls Attach for that server. It gets another only after the connection was dropped.
func TestAttachedOnce(t *testing.T) {
	spec.Covers(t, "CH-58")
	h := newClientHarness(t, me, otherA)
	master := h.settled()
	for _, id := range []nid.NID{h.other(), master} {
		for range 3 {
			h.step(ClientInput{Kind: Attach, Server: id})
			h.want("")
		}
	}
	other := h.other()
	h.from(other, wire.Message{Kind: wire.Notice, Code: wire.NoQuorum})
	h.want("dropped:no-quorum")
	h.step(ClientInput{Kind: Attach, Server: other})
	h.want("", wire.Connect)
	h.answer(0, wire.Message{Kind: wire.Accept})
	h.want("attached")
}

// TestAttachedOncePerMaster: CH-58: whenever the master changes, an agent calls Attach for all
// servers that its user wants. The client reports no Attached event for servers that stay connected.
func TestAttachedOncePerMaster(t *testing.T) {
	spec.Covers(t, "CH-58")
	w := populated(t, 3, 1)
	c := w.clients[0]
	before := c.count(Attached)
	s := w.server(c.m.Status().Master)
	s.step(ServerInput{Kind: Drain, Alive: true})
	w.run(10e9)
	if c.m.Status().Master == s.id || c.count(Attached) != before || before != 5 {
		var told []string
		for _, e := range c.events {
			told = append(told, e.Kind.String()+" "+e.Server.String())
		}
		t.Errorf("told %d times before and %d after: %s", before, c.count(Attached), strings.Join(told, ", "))
	}
}

// TestDroppedWhileInformed: CH-7, CH-17, CH-58: a server answers that it has recorded the new
// master. Just before, an older notice arrives which says that the server has dropped the
// client. The client cannot tell which is true, and connects to that server again.
func TestDroppedWhileInformed(t *testing.T) {
	spec.Covers(t, "CH-7", "CH-17", "CH-58")
	h := newClientHarness(t, me, otherA)
	h.settled()
	other := h.other()
	h.step(ClientInput{Kind: Doubt, Server: other})
	h.want("", wire.Choose)
	question := h.sent[0]
	h.from(other, wire.Message{Kind: wire.Notice, Code: wire.NoQuorum})
	h.want("dropped:no-quorum")
	h.from(other, wire.Message{Kind: wire.Chosen, Sequence: question.Sequence, Epoch: h.c.epoch, Server: h.c.master})
	h.now += 2 * h.c.cfg.Try
	h.step(ClientInput{})
	h.want("", wire.Connect)
	h.answer(0, wire.Message{Kind: wire.Accept})
	h.want("attached")
}
