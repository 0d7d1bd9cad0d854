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

// TestBusyServerStays: CH-A21, CH-17: a server evicts a client that has chosen another master, and cannot end the eviction, since
// other servers do not hear it. So it answers the client's choice over and over that it is busy, or that it has no quorum. It
// has answered, so the client does not drop it after T_orphan, also if every second answer is lost. A server that does not
// answer is dropped.
func TestBusyServerStays(t *testing.T) {
	spec.Covers(t, "CH-17", "CH-A21")
	for _, code := range []wire.Code{wire.Busy, wire.NoQuorum, wire.OK} {
		h := newClientHarness(t, me, otherA)
		h.settled()
		other, dropped, asked, steps := h.other(), false, 0, 0
		h.step(ClientInput{Kind: Doubt, Server: other})
		for end := h.now + 30*h.c.cfg.Orphan; h.now < end; h.step(ClientInput{}) {
			if steps++; steps > 10_000 {
				t.Fatalf("%v: the client wants to be stepped without end", code)
			}
			dropped = dropped || strings.Contains(h.told, "dropped")
			for i, sent, to := 0, h.sent, h.to; i < len(sent) && !dropped; i++ {
				switch {
				case sent[i].Kind == wire.Ping:
					h.from(to[i], wire.Message{Kind: wire.Pong, ServerIncarnation: 7, Sequence: sent[i].Sequence, Epoch: sent[i].Epoch})
				case code != wire.OK:
					if asked++; asked%2 == 1 {
						h.from(to[i], wire.Message{Kind: wire.Chosen, Code: code, Sequence: sent[i].Sequence, Epoch: sent[i].Epoch})
					}
				}
			}
			h.now = h.wake
		}
		if dropped != (code == wire.OK) || !dropped && asked < 5 {
			t.Errorf("%v: dropped: %v, asked %d times", code, dropped, asked)
		}
	}
}
