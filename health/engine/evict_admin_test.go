package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// result returns the code of the latest answer to an order to evict the test's client.
func (h *harness) result() wire.Code {
	for _, e := range h.effects {
		if e.Kind == DoResult {
			return e.Code
		}
	}
	return wire.Codes
}

// TestEvictCutOff: CH-30: without a quorum an administrator's eviction ends the connection to
// this server at once, and no other connection. Nothing is broadcast and there is no tombstone.
// The administrator gets the answer NoQuorum.
func TestEvictCutOff(t *testing.T) {
	spec.Covers(t, "CH-30")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: QuorumIs})
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	if h.result() != wire.NoQuorum || h.batch != 0 || h.s.Status().Tombstones != 0 || h.s.Status().Clients != 0 {
		t.Errorf("%v, batch %d, %+v", h.result(), h.batch, h.s.Status())
	}
	if n := h.last(wire.Notice); n.Code != wire.NoQuorum {
		t.Errorf("the client is told %v", n.Code)
	}
}

// TestEvictOrphan: CH-20: an administrator may ask any server to evict an orphan. That server
// evicts the orphan from all servers, unless another server knows of a later choice of a master.
func TestEvictOrphan(t *testing.T) {
	spec.Covers(t, "CH-20")
	w := populated(t, 5, 1)
	c := w.clients[0]
	master := w.server(c.m.Status().Master)
	c.kill()
	master.kill()
	w.run(5 * time.Second) // discovery notices the death, and no orphan is due for eviction yet
	var asked *server
	for _, s := range w.servers {
		if s != master {
			asked = s
		}
	}
	if info, ok := asked.m.Client(c.name); !ok || info.State != "orphaned" {
		t.Fatalf("%+v", info)
	}
	asked.step(ServerInput{Kind: EvictClient, Client: c.name})
	w.run(4 * time.Second) // the server waits until discovery has reported no death for three ticks
	if left := w.holders(c); len(left) > 0 {
		t.Errorf("%d servers hold an orphan that was evicted", len(left))
	}
	for _, s := range w.servers {
		if s != master && s.tombstones[c.name].incarnation == 0 {
			t.Errorf("%v has no tombstone", s.id)
		}
	}
}

// TestEvictOrphanRehomed: CH-A8: an administrator evicts an orphan that has just chosen a new master.
// The eviction does not affect the client, whichever server knows of that choice.
func TestEvictOrphanRehomed(t *testing.T) {
	spec.Covers(t, "CH-A8")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	if r := h.evictedBy(otherB, 5, 1); len(r.Exceptions) != 1 || r.Evicted != 0 {
		t.Errorf("of a client with a living master: %+v", r)
	}
	h.step(ServerInput{Kind: ServerHealth, Server: otherA, Lifetime: 1})
	if r := h.evictedBy(otherB, 5, 2); len(r.Exceptions) != 1 || r.Evicted != 0 {
		t.Errorf("of another choice: %+v", r)
	}
	if r := h.evictedBy(otherB, 5, 1); len(r.Exceptions) != 0 || r.Evicted != 1 {
		t.Errorf("of an orphan: %+v", r)
	}
}

// evictedBy delivers an administrator's eviction of the test's client that another server
// broadcasts.
func (h *harness) evictedBy(from nid.NID, incarnation uint64, epoch uint32) wire.Reply {
	h.t.Helper()
	return h.wanted(from, wire.Batch{Incarnation: 1, Entries: entries(wire.Entry{Client: testClient, Incarnation: incarnation, Mark: uint8(wire.ByAdmin), Epoch: epoch})})
}
