package engine_test

import (
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// TestNoLongerAllowed: when the nodes that are allowed change, a session goes on as long as its console
// and all destinations of its tests are among them. Otherwise it ends with its RPCs. Requests of other
// nodes that wait are dropped.
func TestNoLongerAllowed(t *testing.T) {
	spec.Covers(t, "ST-12")
	for name, refused := range map[string]nid.NID{"none": {}, "console": id1.Console, "destination": node2.NID, "another": process("10.0.0.99@tcp").NID} {
		var list nid.NID
		l := newLab(t, engine.Config{Allow: func(id nid.NID) bool { return id != list }}, node1, node2)
		// Requests get lost, so that no RPC ends.
		l.lost = func(_ nid.NID, e *engine.Effect) bool { return e.Kind == engine.DoCall }
		l.join(node1, node2)
		l.addClient(node1, wire.Test{Service: wire.PingService, Loop: -1, Concurrency: 3}, node2)
		l.batch(node1, wire.RunBatch, 0, 0)
		if calls := l.nodes[node1.NID].Stats().Calls; calls != 3 {
			t.Fatalf("%d RPCs run", calls)
		}
		list = refused
		l.step(node1.NID, engine.Input{Kind: engine.Recheck})
		ends := name == "console" || name == "destination"
		got := l.nodes[node1.NID].Stats()
		if (got.Session == wire.NoSession()) != ends || (got.Calls == 0) != ends || (l.seen[engine.DoTellEnd] == 1) != ends || (got.NotAllowed == 1) != ends {
			t.Errorf("%s is no longer allowed: %+v, told %d times", name, got, l.seen[engine.DoTellEnd])
		}
	}
}

// TestJoinNoLongerAllowed: a node gives up joining the session of a console that is no longer allowed.
func TestJoinNoLongerAllowed(t *testing.T) {
	spec.Covers(t, "ST-12")
	var list nid.NID
	j := newJoiner(t, engine.Config{Allow: func(id nid.NID) bool { return id != list }})
	j.join(node2, "g")
	for _, list = range []nid.NID{node1.NID, node2.NID} {
		if j.step(node1.NID, engine.Input{Kind: engine.Recheck}); len(j.end) != 0 && list == node1.NID {
			t.Errorf("%+v", j.end)
		}
	}
	j.reply(1, wire.OK, &wire.JoinReply{Session: id1}) // no effect: the Join has ended
	if got := j.nodes[node1.NID].Stats(); len(j.end) != 1 || j.end[0].Errno != syscall.EPERM || got.Session != wire.NoSession() || got.NotAllowed != 1 {
		t.Errorf("%+v, %+v", j.end, got)
	}
}

// TestWaitingNoLongerAllowed: requests that wait are dropped when their node is no longer allowed, and
// the request in front, whose list is being fetched, is refused.
func TestWaitingNoLongerAllowed(t *testing.T) {
	spec.Covers(t, "ST-12")
	allowed := true
	l := newLab(t, engine.Config{Allow: func(nid.NID) bool { return allowed }}, node1)
	// The GET of the list gets lost, so that the list does not come.
	l.lost = func(_ nid.NID, e *engine.Effect) bool { return e.Kind == engine.DoGet }
	l.join(node1)
	l.send(node1, 1, &wire.Test{BulkID: 9, Session: id1, Service: wire.PingService, Loop: 1, Concurrency: 1, Client: true, Destinations: 1})
	l.send(node1, 1, &wire.MakeSession{Session: id2})
	before := len(l.replies)
	allowed = false
	l.step(node1.NID, engine.Input{Kind: engine.Recheck})
	got := l.nodes[node1.NID].Stats()
	if len(l.replies) != before+1 || l.replies[before].Status != wire.ENOENT || got.NotAllowed != 3 || got.Dropped != 1 || got.Moving != 0 || got.Session != wire.NoSession() {
		t.Errorf("%d replies, %+v", len(l.replies)-before, got)
	}
}

// TestBulkNoLongerAllowed: BRW requests that wait for memory are dropped when their client is no longer allowed. A
// request of another client that has waited behind them is served at once.
func TestBulkNoLongerAllowed(t *testing.T) {
	spec.Covers(t, "ST-12")
	var list nid.NID
	l := newLab(t, engine.Config{MaxBulk: 2 << 20, Allow: func(id nid.NID) bool { return id != list }}, node1)
	moves := l.keep(engine.DoPut)
	read := func(client string, length uint32) {
		l.console = process(client)
		l.read(length)
	}
	read("10.0.0.1@tcp", 1<<20)
	read("10.0.0.1@tcp", 4096) // waits: the client has used its share
	read("10.0.0.2@tcp", 1<<19)
	read("10.0.0.3@tcp", 1<<20) // waits: not enough memory is left
	read("10.0.0.4@tcp", 4096)  // waits behind the request of 10.0.0.3
	check := func(when string, transfers int, refused uint64) {
		t.Helper()
		if got := l.nodes[node1.NID].Stats(); len(*moves) != transfers || got.NotAllowed != refused || uint64(got.Dropped) != refused {
			t.Errorf("%s: %d transfers, want %d; %+v, want %d dropped", when, len(*moves), transfers, got, refused)
		}
	}
	check("all are allowed", 2, 0)
	list = nid.MustParse("10.0.0.3@tcp")
	l.step(node1.NID, engine.Input{Kind: engine.Recheck})
	check("10.0.0.3 is no longer allowed", 3, 1)
	list = nid.MustParse("10.0.0.1@tcp")
	l.step(node1.NID, engine.Input{Kind: engine.Recheck})
	l.console = (*moves)[0].Peer
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: (*moves)[0].ID})
	check("10.0.0.1 is no longer allowed", 3, 2)
}
