package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestConnectsOnce: a program attaches to servers whenever a master is chosen, as daemons do.
// The client does not ask a server twice at once because of that, even after an eviction.
func TestConnectsOnce(t *testing.T) {
	w := newWorld(t, 3, 5)
	type way struct{ from, to nid.NID }
	last, connects := map[way]time.Duration{}, 0
	w.tap = func(from, to nid.NID, m *wire.Message) {
		if m.Kind != wire.Connect {
			return
		}
		connects++
		if at, ok := last[way{from, to}]; ok && w.now-at < 100*time.Millisecond {
			w.fail("%v asks %v to connect %v after it did", from, to, w.now-at)
		}
		last[way{from, to}] = w.now
	}
	w.run(2 * time.Second)
	for range 5 {
		w.add(0, 1, 2, 3, 4)
	}
	w.run(20 * time.Second)
	for _, c := range w.clients {
		w.server(c.m.Status().Master).step(ServerInput{Kind: EvictClient, Client: c.name})
	}
	w.run(20 * time.Second)
	w.settle()
	if connects != 50 {
		t.Errorf("%d connects of 5 clients to 5 servers, twice", connects)
	}
}

// TestSilentWhileElecting: a client cannot find a master. For each server to which it was
// connected and that does not answer for T_orphan, it reports that the connection is gone.
func TestSilentWhileElecting(t *testing.T) {
	w := populated(t, 4, 3)
	for _, s := range w.servers {
		s.kill()
	}
	w.run(22500 * time.Millisecond)
	for _, c := range w.clients {
		if n := c.count(Dropped); n != 0 {
			w.fail("%d servers were dropped before T_orphan", n)
		}
	}
	w.run(40 * time.Second)
	for _, c := range w.clients {
		st := c.m.Status()
		if st.State != "electing" || len(st.Attached) != 0 || c.count(Dropped) != 5 || c.count(Evicted) != 0 {
			w.fail("%+v, dropped %d", st, c.count(Dropped))
		}
	}
	for _, s := range w.servers {
		s.start()
	}
	w.run(90 * time.Second)
	w.settle()
}

// TestAccusedLast: CH-49, goal G-CH-3: some server reports one master after the other as dead.
// As long as there are servers to try, the client does not go back to the first of these masters:
// servers for which the client is an orphan of that master would evict it.
func TestAccusedLast(t *testing.T) {
	spec.Covers(t, "CH-49", "G-CH-3")
	otherC := nid.MustParse("10.0.0.77@tcp")
	h := newClientHarness(t, me, otherA, otherB, otherC)
	first := h.settled()
	var accuser nid.NID
	for _, id := range h.c.cfg.Servers {
		if id != first {
			accuser = id
		}
	}
	asked := []nid.NID{first}
	for len(asked) < 3 {
		k := slices.Index(h.to, accuser)
		if k < 0 { // the client has sent the accuser nothing in this step, so make it ask the accuser
			h.step(ClientInput{Kind: Doubt, Server: accuser})
			k = slices.Index(h.to, accuser)
		}
		h.answer(k, wire.Message{Kind: wire.Chosen, Code: wire.MasterDead})
		for h.c.phase == electing {
			h.now = h.wake
			h.step(ClientInput{})
			k := slices.IndexFunc(h.sent, func(m wire.Message) bool { return m.Kind == wire.Choose })
			switch {
			case k < 0:
			case h.to[k] == accuser:
				h.answer(k, wire.Message{Kind: wire.Chosen, Code: wire.Draining})
			case slices.Contains(asked, h.to[k]):
				t.Fatalf("%v is asked again, after %v", h.to[k], asked)
			default:
				asked = append(asked, h.to[k])
				h.answer(k, wire.Message{Kind: wire.Chosen})
			}
		}
	}
}
