package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// tombstones returns all tombstones of a server, the latest first, and the number of steps that
// the list took.
func (h *harness) tombstones() (list []TombstoneInfo, steps int) {
	for until, more := machine.Never, true; more; steps++ {
		until, more = h.s.TombstonesBefore(until, func(t *TombstoneInfo) { list = append(list, *t) })
	}
	return list, steps
}

// TestTombstoneList: CH-61, CH-65: the list shows an operator which clients a server refuses. It
// names the server that reported the eviction, and says whether the eviction was withdrawn. The
// list has the name and process of a client that was connected to this server, but not of a
// client about which only other servers reported.
func TestTombstoneList(t *testing.T) {
	spec.Covers(t, "CH-61", "CH-65")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.evictedBy(otherA, 5, 1) // the client was connected to this server
	h.advance(time.Minute)
	stranger := wire.ClientID{9}
	h.wanted(otherB, wire.Batch{Entries: entries(wire.Entry{Client: stranger, Incarnation: 3, Epoch: 1})}) // this client was not connected to this server
	h.advance(time.Minute)
	list, _ := h.tombstones()
	want := []TombstoneInfo{
		{Client: stranger, Incarnation: 3, Age: time.Minute, Left: minTombstone - time.Minute, Server: otherB},
		{Client: testClient, Incarnation: 5, Name: "host", Peer: host, Age: 2 * time.Minute, Left: minTombstone - 2*time.Minute, Server: otherA},
	}
	if !slices.Equal(list, want) {
		t.Errorf("got %+v\nwant %+v", list, want)
	}
	h.wanted(otherB, wire.Batch{Withdraw: true, Entries: entries(wire.Entry{Client: stranger, Incarnation: 3, Epoch: 1})})
	h.connect(6, me, 1)
	h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 6})
	list, _ = h.tombstones()
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	for _, g := range list {
		switch g.Client {
		case stranger:
			if !g.Withdrawn || g.Server != otherB || g.Peer != (nid.ProcessID{}) {
				t.Errorf("%+v", g)
			}
		case testClient:
			if g.Withdrawn || g.Server.IsValid() || g.Incarnation != 6 || g.Name != "host" || g.Age != 0 {
				t.Errorf("%+v", g)
			}
		}
	}
	h.advance(minTombstone - 1) // expired tombstones, which the next tick removes, refuse no client any more
	if list, _ = h.tombstones(); len(list) != 2 || list[0].Left != 1 {
		t.Errorf("%+v", list)
	}
}

// TestTombstoneListOfStranger: CH-61, CH-65: a client that was connected here is evicted, and another node that has used the
// client's id in a later incarnation is evicted elsewhere. The list does not show the client's name and process as those
// of the later incarnation.
func TestTombstoneListOfStranger(t *testing.T) {
	spec.Covers(t, "CH-61", "CH-65")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.evictedBy(otherA, 5, 1)
	h.evictedAs(6)
	list, _ := h.tombstones()
	if len(list) != 1 || list[0].Incarnation != 6 || list[0].Name != "" || list[0].Peer != (nid.ProcessID{}) {
		t.Errorf("%+v", list)
	}
}

// TestTombstoneListSteps: CH-65: a list of very many tombstones is made in steps, so that
// messages do not wait for it. It has each tombstone once, even if many expire in the same instant,
// and even if a client was evicted twice.
func TestTombstoneListSteps(t *testing.T) {
	spec.Covers(t, "CH-65")
	h := newHarness(t, nil)
	const clients, atOnce = 5 * listStep, 3 * listStep
	until := h.s.now
	for i := range clients {
		if i < listStep || i > listStep+atOnce {
			until += time.Millisecond
		}
		for range 1 + i%2 {
			h.s.tombstones.bury(wire.ClientID{1, byte(i), byte(i >> 8), byte(i >> 16)}, 1, until, nid.NID{}, 0)
		}
	}
	list, steps := h.tombstones()
	seen := map[wire.ClientID]bool{}
	for k, g := range list {
		if seen[g.Client] || k > 0 && g.Left > list[k-1].Left {
			t.Fatalf("%v is listed again, or not in order", g.Client)
		}
		seen[g.Client] = true
	}
	if len(list) != clients || steps < 3 {
		t.Errorf("%d tombstones in %d steps", len(list), steps)
	}
}

// TestTombstonesKnown: CH-65: the server keeps the names of clients for a bounded number of
// tombstones. Further tombstones lack only the name.
func TestTombstonesKnown(t *testing.T) {
	spec.Covers(t, "CH-65")
	var g tombstones
	g.init(2 * maxKnown)
	for i := range maxKnown + 100 {
		c := &conn{id: wire.ClientID{1, byte(i), byte(i >> 8), byte(i >> 16)}, name: "n", peer: host}
		g.bury(c.id, 1, time.Duration(i), host.NID, 0)
		g.know(c, 1, wire.TimedOut)
	}
	names := 0
	for _, incarnation := range g.incarnations {
		if incarnation.known != nil {
			names++
		}
	}
	if names != maxKnown || len(g.incarnations) != maxKnown+100 {
		t.Errorf("%d names of %d", names, len(g.incarnations))
	}
}
