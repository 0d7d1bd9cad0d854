package healthsim

import (
	"math"
	"slices"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// flat returns the topology of a network like that of a machine room: a latency of 0.5 to 1.5 ms, and
// no loss.
func flat() *sim.Flat {
	return &sim.Flat{Link: link.Quality{
		Latency: link.Dist{Base: time.Millisecond, Spread: 500 * time.Microsecond, Shape: link.Uniform},
	}}
}

// standard returns the configuration of a network with the defaults of scenarios. Its clients connect
// to all servers.
func standard(servers, clients int) config {
	return config{
		Network: scenario.Network{Nodes: servers + clients, Seed: 1, Topology: flat()},
		servers: servers, clients: clients, attach: servers, discovery: 3400 * time.Millisecond, store: 3 * time.Millisecond,
	}
}

// ran makes a network, runs it for a time, and returns it.
func ran(t *testing.T, cfg config, d time.Duration) *network {
	t.Helper()
	n, err := newNet(cfg)
	if err == nil {
		err = n.Run(d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// holds checks whether a condition of scenarios holds now.
func holds(t *testing.T, n *network, want bool, condition string, args ...string) {
	t.Helper()
	if ok, why := n.Check(condition, args); ok != want {
		t.Errorf("%s %v: %v, %s", condition, args, ok, why)
	}
}

// idle returns a network without disks in which all clients are connected. The first client begins
// after 2 s, the others within a ping interval after that, so that pings are spread.
func idle(t *testing.T, servers, clients, attach int) *network {
	t.Helper()
	cfg := standard(servers, clients)
	cfg.attach, cfg.store = attach, 0
	cfg.StartAt = func(id sim.NodeID) time.Duration {
		if int(id) < servers {
			return 0
		}
		return 2*time.Second + 5*time.Second*time.Duration(int(id)-servers)/time.Duration(clients)
	}
	n := ran(t, cfg, 17*time.Second)
	if holds(t, n, true, "settled"); t.Failed() {
		t.FailNow()
	}
	return n
}

// TestLoad: CH-1, CH-9, CH-56 and goal G-CH-1: idle clients send one ping per interval, whatever
// the number of servers, and get one pong for each; busy clients send none.
func TestLoad(t *testing.T) {
	spec.Covers(t, "CH-1", "CH-9", "CH-56", "G-CH-1")
	clients, servers := effort.Of(1000, 1000, 10_000), effort.Of(20, 20, 100)
	const intervals = 10
	n := idle(t, servers, clients, 2)
	pass := func(d time.Duration) (pings, sent uint64) { // returns how many pings clients send in that time, and how many messages other than Ask servers send
		s, c := n.stats()
		if err := n.Run(n.Now() + d); err != nil {
			t.Fatal(err)
		}
		s2, c2 := n.stats()
		return c2.Pings - c.Pings, s2.Sent - s.Sent - (s2.Asks - s.Asks)
	}
	pings, sent := pass(intervals * n.timing.Ping)
	for id := range n.each(sim.AllNodes) {
		n.Command(id, "busy on")
	}
	pass(2 * n.timing.Ping)
	busyPings, busySent := pass(intervals * n.timing.Ping)
	holds(t, n, true, "settled") // a client without a master sends no pings
	pongs := sent - busySent     // idle clients get pongs; all other messages of servers are the same for idle and busy clients
	if want := float64(intervals * clients); math.Abs(float64(pings)/want-1) > 0.01 || busyPings != 0 || math.Abs(float64(pongs)-float64(pings)) > want/1000 {
		t.Errorf("%d pings, %d pongs, of busy clients %d pings; want %v", pings, pongs, busyPings, want)
	}
	t.Logf("%d pings, %d pongs, %d other messages of servers", pings, pongs, busySent)
}

// TestSplit: CH-33, CH-64 and goal G-CH-6: clients reach both sides of a partition. The majority
// evicts none of them, and all finally have a master there.
func TestSplit(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-64", "G-CH-6")
	const clients = 1000
	n := idle(t, 5, clients, 5)
	majority, minority := sim.NodeRange(0, 2), sim.NodeRange(3, 4)
	status := func(id sim.NodeID) health.ClientStatus { return n.client(id).Status() }
	var inMajority []sim.NodeID
	for id := range n.each(sim.AllNodes) {
		if majority.Has(nodeOfNID(status(id).Master)) {
			inMajority = append(inMajority, id)
		}
	}
	n.Cut(majority, minority)
	n.Cut(minority, majority)
	if err := n.Run(n.Now() + n.cfg.discovery + n.timing.Quorum + n.timing.Orphan); err != nil {
		t.Fatal(err)
	}
	rehomed, rest := 0, clients-len(inMajority)
	for id := range n.each(sim.AllNodes) {
		st := status(id)
		home, stayed := st.State == "settled" && majority.Has(nodeOfNID(st.Master)), slices.Contains(inMajority, id)
		if home && !stayed {
			rehomed++
		}
		if stayed && n.ledger.of(id).evicted > 0 {
			t.Errorf("client %v of the majority was evicted", id)
		}
		if !home && n.knownTo(sim.AllNodes, id) != "" {
			t.Errorf("client %v is neither connected to the majority nor evicted everywhere", id)
		}
		if where := n.knownTo(minority, id); where != "" {
			t.Errorf("client %v is %s, in the minority", id, where)
		}
	}
	if len(inMajority) < 500 || rest < 300 || rehomed*100 < rest*99 {
		t.Errorf("%d masters in the majority, %d of %d others found", len(inMajority), rehomed, rest)
	}
}
