package engine

import (
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestPartition: CH-30, CH-31, CH-32, CH-33, CH-46, CH-64 and goal G-CH-6: the servers split
// into three and two, and all clients reach both sides. A client with a master in the majority
// keeps it, and the others find one there. The minority drops its clients, and no client is
// evicted from all servers.
func TestPartition(t *testing.T) {
	spec.Covers(t, "CH-30", "CH-31", "CH-32", "CH-33", "CH-46", "CH-64", "G-CH-6")
	w := populated(t, 7, 100)
	minority := func(id nid.NID) bool { return id == w.servers[3].id || id == w.servers[4].id }
	isServer := func(id nid.NID) bool { return w.server(id) != nil }
	w.cut = func(a, b nid.NID) bool { return isServer(a) && isServer(b) && minority(a) != minority(b) }
	w.log("partition")
	w.run(5*time.Second + 22500*time.Millisecond + 5*time.Second)
	w.noEvictions()
	for _, s := range w.servers[3:] {
		if st := s.m.Status(); st.Clients != 0 || s.m.Stats().Broadcasts != 0 {
			t.Errorf("CH-30, CH-32: the minority: %+v", st)
		}
	}
	for _, c := range w.clients {
		st := c.m.Status()
		if st.State != "settled" || minority(st.Master) || len(st.Attached) != 3 {
			w.fail("client %x: %+v", c.name[:4], st)
		}
	}
	for _, s := range w.servers[:3] {
		for _, e := range s.events {
			if e.Kind == ClientEvicted {
				w.fail("CH-33: %v of the majority evicted %x: %v", s.id, e.Client[:4], e.Cause)
			}
		}
	}
	w.cut = nil
	w.log("healed")
	w.run(time.Minute)
	w.settle()
	w.noEvictions()
}

// TestPartitionOfClients: CH-33, CH-55: the servers split into three and two, and each client
// reaches only one side. The majority evicts the clients of the minority.
func TestPartitionOfClients(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-55")
	w := populated(t, 8, 60)
	side := make(map[nid.NID]bool)
	side[w.servers[3].id], side[w.servers[4].id] = true, true
	for i, c := range w.clients {
		side[c.id] = i%2 == 0
	}
	w.cut = func(a, b nid.NID) bool { return side[a] != side[b] }
	w.log("partition")
	w.run(90 * time.Second)
	for _, c := range w.clients {
		holders := w.holders(c)
		switch st := c.m.Status(); {
		case side[c.id] && (len(holders) > 0 || st.State == "settled"):
			w.fail("client %x of the minority: %+v, known to %d", c.name[:4], st, len(holders))
		case !side[c.id] && (st.State != "settled" || len(holders) != 3 || c.count(Evicted) > 0):
			w.fail("client %x of the majority: %+v, known to %d", c.name[:4], st, len(holders))
		}
	}
	w.cut = nil
	w.doubt()
	w.run(2 * time.Minute)
	w.settle()
}

// TestPauseOfServer: CH-35, CH-67, CH-A16, CH-A19: pausing a master for any time up to 2·T_evict
// does not make a client begin a new incarnation.
func TestPauseOfServer(t *testing.T) {
	spec.Covers(t, "CH-35", "CH-67", "CH-A16", "CH-A19")
	step := 3 * time.Second
	if testing.Short() {
		step = 9 * time.Second
	}
	for d := time.Second; d <= 35*time.Second; d += step {
		w := populated(t, uint64(d), 20)
		w.pause(w.servers[0], d)
		w.run(d + 90*time.Second)
		w.settle()
		w.noEvictions()
	}
}

// TestPauseOfClient: a client that is paused for longer than T_evict is evicted by all servers.
// When it runs again it drops all its connections in one step, and begins its next incarnation
// (CH-61). Shorter pauses have no effect.
func TestPauseOfClient(t *testing.T) {
	spec.Covers(t, "CH-61")
	for d := time.Second; d <= 35*time.Second; d += 3 * time.Second {
		w := populated(t, uint64(d)+1, 10)
		for _, c := range w.clients {
			w.pause(c, d)
		}
		w.run(d + time.Minute)
		w.settle()
		for _, c := range w.clients {
			n := c.count(Evicted)
			if d < 12*time.Second && n > 0 || d > 19*time.Second && n != 1 {
				w.fail("a pause of %v: client %x was evicted %d times", d, c.name[:4], n)
			}
		}
	}
}

// TestClaimedMasters: CH-44, CH-A15: the servers check claims. Clients can connect, find another master,
// and connect again after a restart as they can without claims, because they show claims that masters
// have signed.
func TestClaimedMasters(t *testing.T) {
	spec.Covers(t, "CH-44", "CH-A15")
	w := newWorldWith(t, 11, 5, claimKeys(t, "0123456789abcdef"))
	w.run(2 * time.Second)
	for range 30 {
		w.add(0, 1, 2, 3, 4)
	}
	w.run(20 * time.Second)
	w.settle()
	w.servers[0].kill()
	w.run(time.Minute)
	w.settle()
	w.clients[0].kill()
	w.clients[0].start()
	w.servers[0].start()
	w.run(time.Minute)
	w.settle()
	w.noEvictions()
	for _, s := range w.servers {
		if st := s.m.Stats(); st.Rejected[wire.BadClaim]+st.Choices[wire.BadClaim] != 0 {
			t.Errorf("%v refused %d and %d claims", s.id, st.Rejected[wire.BadClaim], st.Choices[wire.BadClaim])
		}
	}
}

// TestRacingChange: CH-63, CH-A13: a client has changed its master from A to B, and cannot tell
// the servers A and S. A orders the eviction of the client. S obeys, and the other servers keep
// the client and tell A of the change, so A withdraws the eviction. When messages of the client
// reach S again, all servers agree that the client is connected.
func TestRacingChange(t *testing.T) {
	spec.Covers(t, "CH-63", "CH-A8", "CH-A13")
	w := newWorld(t, 10, 5)
	w.run(2 * time.Second)
	c := w.add(0, 1, 2, 3, 4)
	w.run(20 * time.Second)
	a := c.m.Status().Master
	s := w.servers[0].id
	if s == a {
		s = w.servers[1].id
	}
	w.cut = func(x, y nid.NID) bool { return x == c.id && (y == a || y == s) }
	w.run(17500*time.Millisecond + time.Second + 500*time.Millisecond)
	if _, ok := w.server(s).m.Client(c.name); ok {
		w.fail("%v was told by %v to evict the client, and has not", s, a)
	}
	if info, ok := w.server(a).m.Client(c.name); !ok || info.Master == a {
		w.fail("CH-A8: %v has %+v", a, info)
	}
	if len(w.holders(c)) != 4 || c.count(Evicted) != 0 {
		w.fail("%d servers hold the client", len(w.holders(c)))
	}
	w.cut = nil
	w.run(10*time.Second + 5*time.Second) // within MaxBackoff, 10 s, the client tells S its master again; 5 s are a ping interval
	w.settle()
	if c.count(Evicted) != 0 || len(w.holders(c)) != 5 {
		w.fail("evicted %d times, held by %d", c.count(Evicted), len(w.holders(c)))
	}
}

// TestQuickRestart: CH-66, CH-67: servers that are restarted quickly, with their records, lose no
// client.
func TestQuickRestart(t *testing.T) {
	spec.Covers(t, "CH-66", "CH-67")
	w := populated(t, 9, 50)
	for k := range 5 {
		s := w.servers[k]
		s.kill()
		w.after(w.between(100*time.Millisecond, 4*time.Second), s.start)
		w.run(90 * time.Second)
		w.settle()
		w.noEvictions()
	}
}
