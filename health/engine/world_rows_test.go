package engine

import (
	"math"
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// settle checks the end state (CH-33): each live client is connected to a live master and to the
// servers that it wants, and all servers that have the client agree on its master. No server has
// a dead client.
func (w *world) settle() {
	w.t.Helper()
	for _, c := range w.clients {
		holders := w.holders(c)
		if !c.up {
			if len(holders) > 0 {
				info, _ := holders[0].m.Client(c.name)
				w.fail("client %x is dead, but known to %v: %+v", c.name[:4], holders[0].id, info)
			}
			continue
		}
		st := c.m.Status()
		master := w.server(st.Master)
		if st.State != "settled" || master == nil || !master.up {
			w.fail("client %x: %+v", c.name[:4], st)
		}
		for _, id := range append(slices.Clone(c.wants), st.Master) {
			if s := w.server(id); s.up && !slices.Contains(st.Attached, id) {
				w.fail("client %x is not connected to %v: %+v", c.name[:4], id, st)
			}
		}
		for _, id := range st.Attached {
			s := w.server(id)
			if !s.up {
				continue
			}
			info, ok := s.m.Client(c.name)
			if !ok || info.State != "connected" || info.Incarnation != st.Incarnation || info.Master != st.Master || info.Epoch != st.Epoch {
				w.fail("client %x is %+v, but at %v %+v", c.name[:4], st, id, info)
			}
		}
		for _, s := range holders {
			if info, _ := s.m.Client(c.name); info.Incarnation != st.Incarnation || info.Master != st.Master {
				w.fail("client %x is %+v, but %v thinks %+v", c.name[:4], st, s.id, info)
			}
		}
	}
}

// noEvictions fails the test if a client was evicted from all servers.
func (w *world) noEvictions() {
	w.t.Helper()
	for _, c := range w.clients {
		if n := c.count(Evicted) + c.count(Superseded); n > 0 {
			w.fail("client %x was evicted %d times", c.name[:4], n)
		}
	}
}

// TestConnects: goal G-CH-1, CH-1, CH-6, CH-7, CH-47, CH-48, CH-56: every client connects to its
// master first and pings no other server. It changes its master only if it has to.
func TestConnects(t *testing.T) {
	spec.Covers(t, "CH-1", "CH-6", "CH-7", "CH-47", "CH-48", "CH-56", "G-CH-1")
	w := newWorld(t, 1, 5)
	pings, first := 0, make(map[nid.NID]nid.NID)
	w.tap = func(from, to nid.NID, m *wire.Message) {
		switch m.Kind {
		case wire.Connect:
			if to == m.Server && first[from] == (nid.NID{}) {
				first[from] = to
			} else if to != first[from] && m.Server != first[from] {
				t.Errorf("CH-6: %v connects to %v with master %v, first was %v", from, to, m.Server, first[from])
			}
		case wire.Ping:
			pings++
			if c := w.nodes[from].(*client); c.m.master != to {
				t.Errorf("CH-1: %v pings %v", from, to)
			}
		}
	}
	w.run(2 * time.Second)
	const clients = 8
	for range clients {
		w.add(0, 1, 2, 3, 4)
	}
	w.run(10 * time.Second)
	w.settle()
	pings = 0
	hours := effort.Of(3, 3, 24)
	w.run(time.Duration(hours) * time.Hour)
	w.settle()
	w.noEvictions()
	for _, c := range w.clients {
		if n := c.count(MasterChosen); n != 1 {
			w.fail("CH-48: client %x has chosen %d times", c.name[:4], n)
		}
	}
	if want := clients * hours * 3600 / 5; math.Abs(float64(pings-want)) > float64(want)/100 {
		t.Errorf("CH-1: %d pings, want %d", pings, want)
	}
}

// TestBusyClient: CH-8, CH-9: a client that exchanges other messages with its master does not
// ping, and is not evicted.
func TestBusyClient(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-9")
	w := newWorld(t, 2, 3)
	w.run(2 * time.Second)
	c := w.add()
	w.run(time.Second)
	c.busy = c.m.Status().Master
	s := w.server(c.busy)
	pings := s.m.Stats().Pings
	for range 600 {
		w.run(time.Second)
		s.step(ServerInput{Kind: Seen, Client: c.name, At: w.now})
	}
	w.settle()
	w.noEvictions()
	if n := s.m.Stats().Pings - pings; n != 0 || c.m.Stats().Pings != 0 {
		t.Errorf("%d pings of a busy client", n)
	}
}

// TestRandomMaster: CH-5: masters are chosen uniformly. The test is χ² over 10⁵ clients, and
// the load of each server has to be within 5σ.
func TestRandomMaster(t *testing.T) {
	spec.Covers(t, "CH-5")
	const clients, servers = 100_000, 20
	var ids []nid.NID
	for i := range servers {
		ids = append(ids, nid.FromNumber(me.Net(), uint32(i)+1))
	}
	counts := make(map[nid.NID]int)
	var out ClientOutput
	for i := range clients {
		c, err := NewClient(ClientConfig{ID: wire.ClientID{1, byte(i), byte(i >> 8), byte(i >> 16)}, Incarnation: 1, Servers: ids})
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		c.Step(time.Second, ClientInput{Kind: ClientStart}, &out)
		counts[out.Effects[0].To.NID]++
	}
	mean := float64(clients) / servers
	sigma, chi := math.Sqrt(mean*(1-1./servers)), 0.
	for _, id := range ids {
		d := float64(counts[id]) - mean
		chi += d * d / mean
		if math.Abs(d) > 5*sigma {
			t.Errorf("%v is the master of %d, not about %v", id, counts[id], mean)
		}
	}
	if chi > 43.8 { // χ² test with 19 degrees of freedom: even choices exceed 43.8 with a probability of 0.001
		t.Errorf("χ² = %v", chi)
	}
}

// TestClientDies: CH-2, CH-10, CH-26 and goal G-CH-2: the last server evicts a dead client within half a
// second of the first one. Clients die within 5 s, and all are evicted at most T_evict, a tick and half a
// second after the end of these 5 s.
func TestClientDies(t *testing.T) {
	spec.Covers(t, "CH-2", "CH-10", "CH-26", "G-CH-2")
	w := newWorld(t, 3, 9)
	w.run(2 * time.Second)
	for range 20 {
		w.add(0, 1, 2, 3, 4, 5, 6, 7, 8)
	}
	w.run(30 * time.Second)
	w.settle()
	for _, c := range w.clients {
		w.after(w.between(0, 5*time.Second), c.kill)
	}
	begin := w.now
	evicted := make(map[wire.ClientID][]time.Duration)
	seen := make(map[*server]int)
	for range 2600 {
		w.run(10 * time.Millisecond)
		for _, s := range w.servers {
			for _, e := range s.events[seen[s]:] {
				if e.Kind == ClientEvicted {
					evicted[e.Client] = append(evicted[e.Client], w.now)
				}
			}
			seen[s] = len(s.events)
		}
	}
	for _, c := range w.clients {
		at := evicted[c.name]
		if len(at) != 9 {
			w.fail("client %x was evicted by %d servers", c.name[:4], len(at))
		}
		if skew := at[8] - at[0]; skew > 500*time.Millisecond {
			t.Errorf("skew %v", skew)
		}
		if last := at[8] - begin; last > 5*time.Second+17500*time.Millisecond+time.Second+500*time.Millisecond {
			t.Errorf("evicted after %v", last)
		}
	}
	w.settle()
}

// TestMasterDies: CH-16, CH-17, CH-18, CH-19, CH-49, CH-50, CH-51, CH-54 and goal G-CH-4: the
// clients of a dead master choose another master, even if the first server that they ask is dead
// as well.
func TestMasterDies(t *testing.T) {
	spec.Covers(t, "CH-16", "CH-17", "CH-18", "CH-19", "CH-49", "CH-50", "CH-51", "CH-54", "G-CH-4")
	w := newWorld(t, 4, 5)
	w.run(2 * time.Second)
	for range 100 {
		w.add(0, 1, 2, 3, 4)
	}
	w.run(30 * time.Second)
	w.servers[0].kill()
	w.servers[1].kill()
	died := w.now
	w.run(2 * time.Minute)
	w.settle()
	w.noEvictions()
	for _, s := range w.servers[2:] {
		for _, e := range s.events {
			if e.Kind == ClientEvicted {
				t.Errorf("%v evicted %x: %v", s.id, e.Client[:4], e.Cause)
			}
		}
	}
	var took []time.Duration
	for _, c := range w.clients {
		if n := c.count(MasterChosen); n > 2 {
			t.Errorf("client %x has chosen %d times", c.name[:4], n)
		}
		for i, e := range c.events {
			if e.Kind == MasterChosen && c.at[i] > died {
				took = append(took, c.at[i]-died)
			}
		}
	}
	slices.Sort(took)
	// Half of the clients try another dead server first, which costs them the time Try.
	if n := len(took); n < 20 || took[n*95/100] > 7500*time.Millisecond+2*time.Second {
		t.Errorf("%d have another master, 95 %% after %v", n, took[max(n*95/100-1, 0)])
	}
	// The dead servers come back: the masters stay as they are, and no stale connection remains.
	w.servers[0].start()
	w.servers[1].start()
	w.run(3 * time.Minute)
	w.settle()
	w.noEvictions()
}

// TestOneServerLeft: CH-47, CH-A14: 4 of 5 servers die before a client starts. Without a quorum
// no server accepts it; when the dead servers return, one does.
func TestOneServerLeft(t *testing.T) {
	spec.Covers(t, "CH-47", "CH-A14")
	w := newWorld(t, 5, 5)
	w.run(2 * time.Second)
	for _, s := range w.servers[1:4] {
		s.kill()
	}
	w.run(20 * time.Second)
	c := w.add()
	w.run(30 * time.Second)
	if st := c.m.Status(); st.State != "electing" {
		t.Errorf("%+v", st)
	}
	if n := c.m.Stats().Sent; n > 60 {
		t.Errorf("%d messages in 30 s: no back-off", n)
	}
	w.servers[1].start()
	w.run(40 * time.Second)
	w.settle()
}

// TestReboot: CH-22, CH-23, CH-38, CH-39, CH-41, CH-52, CH-53, CH-59: a client that is
// restarted within T_evict becomes connected, whichever servers are the masters of its two
// incarnations. The earlier incarnation disappears from all servers.
func TestReboot(t *testing.T) {
	spec.Covers(t, "CH-22", "CH-23", "CH-38", "CH-39", "CH-41", "CH-52", "CH-53", "CH-59")
	w := populated(t, 6, 30)
	for round := range 6 {
		for _, c := range w.clients {
			w.after(w.between(0, time.Second), func() {
				c.kill()
				w.after(w.between(0, 3*time.Second), c.start)
			})
		}
		w.run(15 * time.Second)
		w.settle()
		for _, c := range w.clients {
			if got := c.m.Status().Incarnation >> 20; got != uint64(round)+2 {
				w.fail("client %x has life %d", c.name[:4], got)
			}
		}
	}
	w.noEvictions()
}

// TestManyRestart: CH-66, CH-67, CH-68: more than half of the servers, or all, die at the same
// time and come back with their records. A surviving server may lose its quorum and drop its
// clients, but no client is evicted from all servers, and in the end all clients are connected.
func TestManyRestart(t *testing.T) {
	spec.Covers(t, "CH-66", "CH-67", "CH-68")
	for seed := range uint64(8) {
		for _, n := range []int{3, 4, 5} {
			w := newWorld(t, 1000+seed, 5)
			w.dup, w.reorder, w.stale, w.late = 0.05, 0.1, 0.1, 0.2
			w.run(2 * time.Second)
			for range 12 {
				w.add(0, 1, 2, 3, 4)
			}
			w.run(20 * time.Second)
			back := w.between(100*time.Millisecond, 15*time.Second)
			for _, s := range w.servers[:n] {
				s.kill()
				w.after(back+w.between(0, 2*time.Second), s.start)
			}
			w.run(2 * time.Minute)
			w.doubt()
			w.run(time.Minute)
			w.noEvictions()
			w.settle()
		}
	}
}
